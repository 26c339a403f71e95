/**
 * What a comparison of digests comes to: who has what the majority has, where the others differ, who is told so, and what an operator can do. Pure.
 *
 * Each object is judged by itself: right is what a majority of the voters has. Learners have copies of voters' databases, and would count those twice; replicas that are fenced were found to differ before, and what they have
 * counts for nothing. Whoever has left an object out abstains there.
 * Invariants: a replica is told that it differs only if a majority of the voters has the right thing in every object, and it has not; nobody is repaired where replicas contradict each other without such a majority.
 */
import type { VerifyResult } from '../../api/status.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import {
  type DataDigest,
  type DigestObject,
  sequencesName,
  type SkippedObject,
} from '../../ports/control.ts';
import { adviceOn, countLeftOut } from './verify-advice.ts';

export interface Reported {
  readonly replica: ReplicaId;
  /** Null: `reason` says why. */
  readonly digest: DataDigest | null;
  readonly reason: string;
  /** It knows of itself that it differs. */
  readonly isFenced: boolean;
}

export interface JudgeOptions {
  readonly slot: Slot;
  readonly reports: readonly Reported[];
  readonly voters: readonly ReplicaId[];
  /** Whoever differs is to take a copy of another one's database. */
  readonly repair: boolean;
}

export interface Judgement {
  readonly result: VerifyResult;
  /** Who is told that it differs, and in what. */
  readonly told: readonly { readonly replica: ReplicaId; readonly differing: readonly string[] }[];
  /** Whom they may copy from. */
  readonly equal: readonly ReplicaId[];
}

/** What one replica has of an object, and what it is held against. */
interface Findings {
  /** Objects in which a majority has something else. */
  readonly wrong: string[];
  /** Objects in which others contradict it, and no majority decides. */
  readonly contested: string[];
}

const detailMax = 50;

export function judge(options: JudgeOptions): Judgement {
  const { slot, reports, voters, repair } = options;
  const present = reports.filter(({ digest }) => digest !== null);
  const findings = compareObjects(present, voters);
  const isClean = ({ replica }: Reported): boolean => {
    const { wrong, contested } = findings.get(replica)!;
    return wrong.length === 0 && contested.length === 0;
  };
  const clean = present.filter(isClean);
  const isProven = 2 * clean.filter(({ replica }) => voters.includes(replica)).length > voters.length;
  const isContradicted = clean.length < present.length;
  const replicas = reports.map((report) =>
    outcomeOf(report, findings.get(report.replica), isProven, isContradicted),
  );
  const isTold = (report: Reported): boolean => {
    // One that is fenced knows already, and has only a repair to be told of.
    if (report.isFenced) return repair && clean.length > 0 && (isProven || !isContradicted);
    return isProven && (findings.get(report.replica)?.wrong.length ?? 0) > 0;
  };
  const told = reports.filter(isTold).map((report) => ({
    replica: report.replica,
    differing: clip(findings.get(report.replica)?.wrong ?? [report.reason]),
  }));
  const equal = clean.map(({ replica }) => replica);
  const advice = adviceOn({
    reports,
    told: told.map(({ replica }) => replica),
    equal,
    isProven,
    isContradicted,
    repair,
  });
  return { result: { slot, replicas, leftOut: countLeftOut(reports), advice }, told, equal };
}

function outcomeOf(
  { replica, reason, isFenced }: Reported,
  findings: Findings | undefined,
  isProven: boolean,
  isContradicted: boolean,
): VerifyResult['replicas'][number] {
  if (findings === undefined)
    return { replica, outcome: isFenced && isProven ? 'differs' : 'noReport', detail: [reason] };
  const found = [...findings.wrong, ...findings.contested];
  if (isProven && found.length === 0) return { replica, outcome: 'equal', detail: [] };
  if (!isContradicted)
    return { replica, outcome: 'noReport', detail: ['no majority of the voters has reported'] };
  const isDecided = isProven && findings.contested.length === 0;
  return { replica, outcome: 'differs', detail: clip(isDecided ? found : ['no majority agrees', ...found]) };
}

function clip(lines: readonly string[]): readonly string[] {
  return lines.length > detailMax
    ? [...lines.slice(0, detailMax), `and ${lines.length - detailMax} more`]
    : lines;
}

function compareObjects(
  present: readonly Reported[],
  voters: readonly ReplicaId[],
): ReadonlyMap<ReplicaId, Findings> {
  const findings = new Map<ReplicaId, Findings>();
  for (const { replica } of present) findings.set(replica, { wrong: [], contested: [] });
  const ballots = present.map(({ replica, digest }) => new ObjectsOf(replica, digest!));
  const all = new Map<string, DigestObject>();
  for (const { digest } of present) for (const object of digest!.objects) all.set(keyOf(object), object);
  for (const [key, object] of [...all].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const votes = ballots.flatMap((ballot) => {
      const has = ballot.has(key, object);
      return has === 'abstains' ? [] : [{ replica: ballot.replica, has }];
    });
    const first = votes[0]?.has ?? null;
    if (votes.every(({ has }) => isSame(has, first))) continue;
    const right = votes.find(({ has }) => {
      const same = votes.filter((vote) => isSame(vote.has, has) && voters.includes(vote.replica));
      return 2 * same.length > voters.length;
    });
    for (const { replica, has } of votes) {
      const { wrong, contested } = findings.get(replica)!;
      if (right === undefined) {
        const other = votes.find((vote) => !isSame(vote.has, has))!;
        contested.push(describe(object, has, other.has));
      } else if (!isSame(has, right.has)) wrong.push(describe(object, has, right.has));
    }
  }
  return findings;
}

/** Null: there is no such object. */
type Has = DigestObject | null;

class ObjectsOf {
  readonly replica: ReplicaId;
  private readonly objects: ReadonlyMap<string, DigestObject>;
  private readonly skipped: ReadonlySet<string>;
  private readonly hasSequences: boolean;

  constructor(replica: ReplicaId, { objects, skipped, hasSequences }: DataDigest) {
    this.replica = replica;
    this.objects = byKey(objects);
    this.skipped = new Set(skipped.map(placeOf));
    this.hasSequences = hasSequences;
  }

  has(key: string, object: DigestObject): Has | 'abstains' {
    const found = this.objects.get(key);
    if (found !== undefined) return found;
    const isSequence = object.kind === 'sequence';
    const places = [object.name, '', ...(isSequence ? [sequencesName] : [])];
    const isLeftOut = places.some((name) => this.skipped.has(placeOf({ ...object, name })));
    return isLeftOut || (isSequence && !this.hasSequences) ? 'abstains' : null;
  }
}

/** Of an object that is there twice, as in a catalog that is damaged, both count: none is passed over. */
function byKey(objects: readonly DigestObject[]): ReadonlyMap<string, DigestObject> {
  const found = new Map<string, DigestObject>();
  for (const object of objects) {
    const key = keyOf(object);
    const other = found.get(key);
    const rows = object.rows + (other?.rows ?? 0);
    found.set(
      key,
      other === undefined ? object : { ...object, rows, digest: `${other.digest} ${object.digest}` },
    );
  }
  return found;
}

function keyOf({ kind, database, name }: DigestObject): string {
  return JSON.stringify([database, kind, name]);
}

function placeOf({ database, name }: Pick<SkippedObject, 'database' | 'name'>): string {
  return JSON.stringify([database, name]);
}

function isSame(a: Has, b: Has): boolean {
  return a === b || (a !== null && b !== null && a.rows === b.rows && a.digest === b.digest);
}

function describe({ kind, database, name }: DigestObject, has: Has, other: Has): string {
  const what = `${kind} ${name} of ${database === '' ? 'all databases' : database}`;
  if (has === null) return `${what} is missing`;
  if (other === null) return `${what} is not in the others`;
  if (has.rows !== other.rows) return `${what} (${has.rows} rows, not ${other.rows})`;
  return kind === 'sequence'
    ? `${what} (at ${has.digest || 'its start'}, not ${other.digest || 'its start'})`
    : what;
}
