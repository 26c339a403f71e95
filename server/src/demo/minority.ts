/**
 * Which faults leave no majority, and what they would do, in words.
 *
 * Pure. A replica that was wiped counts as away until it has recovered; how it got away is told. The supervisor refuses such a fault unless it is forced.
 */
import type { FaultRequest, ReplicaStatus } from '../api/status.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import type { ProcessState } from './replica-process.ts';
import type { Wiped } from './wipe.ts';

export interface Standing {
  readonly id: ReplicaId;
  /** `stopped` as soon as it is being ended. */
  readonly process: ProcessState;
  /** What it has lost and not recovered yet. */
  readonly wiped: Wiped | null;
  readonly status: ReplicaStatus | null;
}

type Harm = Extract<FaultRequest, { readonly action: 'crash' | 'pause' | 'wipe' }>;

/** What `harm` would do beyond a minority; null: a majority is left, or it changes nothing. */
export function beyondMinority(harm: Harm, standings: readonly Standing[]): string | null {
  const known = standings.flatMap(({ status }) => status ?? []);
  // A primary alone decides what is answered, and needs no majority of its copies.
  if (known.some(({ protocol }) => protocol.name === 'primary')) return null;
  const voters = votersOf(known) ?? standings.map(({ id }) => id);
  const { replica: id } = harm;
  if (!voters.includes(id) || changesNothing(harm, standings)) return null;
  const others = voters.flatMap((voter) => (voter === id ? [] : absenceOf(voter, standings)));
  const majority = Math.floor(voters.length / 2) + 1;
  const missing = majority - (voters.length - others.length - 1);
  if (missing <= 0) return null;
  const before =
    others.length > 0
      ? `${others.map(({ words }) => words).join(', ')}: with`
      : `${majority} of ${voters.length} voters are needed: with`;
  return `${before} ${afterWords(harm, others, { missing, majority, voters: voters.length })}`;
}

function votersOf(known: readonly ReplicaStatus[]): readonly ReplicaId[] | null {
  const newest = known
    .map(({ membership }) => membership)
    .reduce((best, one) => (one.version > best.version ? one : best), {
      version: -1,
      members: [],
    } as ReplicaStatus['membership']);
  const voters = newest.members.filter(({ role }) => role === 'voter').map(({ replica }) => replica);
  return voters.length === 0 ? null : voters;
}

function changesNothing(harm: Harm, standings: readonly Standing[]): boolean {
  const found = standings.find(({ id }) => id === harm.replica);
  if (found === undefined) return true;
  if (harm.action === 'wipe') return found.wiped === 'both' || found.wiped === harm.what;
  return found.wiped !== null || found.process !== 'running';
}

interface Absence {
  readonly id: ReplicaId;
  readonly words: string;
  /** Its votes are there, and count when it runs. */
  readonly hasLog: boolean;
}

/** Empty: it is there. */
function absenceOf(id: ReplicaId, standings: readonly Standing[]): readonly Absence[] {
  const found = standings.find((each) => each.id === id);
  if (found === undefined) return [{ id, words: `${id} is not part of this demo`, hasLog: false }];
  const { process, wiped } = found;
  if (wiped !== null)
    return [{ id, words: `${id} was wiped and has not recovered`, hasLog: wiped === 'database' }];
  if (process === 'running') return [];
  return [{ id, words: `${id} is ${process === 'paused' ? 'frozen' : 'down'} already`, hasLog: true }];
}

interface Counts {
  readonly missing: number;
  readonly majority: number;
  readonly voters: number;
}

function afterWords(harm: Harm, others: readonly Absence[], { missing, majority, voters }: Counts): string {
  const { replica: id } = harm;
  if (harm.action !== 'wipe') {
    const what = harm.action === 'pause' ? 'frozen' : 'down';
    const back = backWords([...others.map((each) => each.id), id], missing);
    return `${id} ${what}, no majority is left; nobody is served until ${back}.`;
  }
  if (harm.what === 'database')
    return `the PostgreSQL of ${id} wiped, no majority has both a log and a database; a further loss may lose data.`;
  const withLog = others.filter(({ hasLog }) => hasLog);
  // What is not away has its log.
  const logs = voters - 1 - others.length + withLog.length;
  const end =
    logs < majority
      ? 'it cannot come back by itself, and what was acknowledged may be lost'
      : `the group is gone until ${backWords(
          withLog.map((each) => each.id),
          missing,
        )}`;
  return `${id} wiped, no majority of logs is left; ${end}.`;
}

function backWords(ids: readonly ReplicaId[], count: number): string {
  if (ids.length <= count) return `${ids.join(' and ')} ${ids.length === 1 ? 'is' : 'are'} back`;
  return count === 1 ? `${ids.join(' or ')} is back` : `${count} of ${ids.join(', ')} are back`;
}
