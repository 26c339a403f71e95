/**
 * What the cluster's status means for a reader: who leads, which links are broken, how a replica is doing.
 *
 * Pure reading of one `ClusterStatus`; keeps nothing.
 */
import type {
  ClusterReplica,
  ClusterStatus,
  LinkFault,
  ProtocolStatus,
  ReplicaCondition,
  ReplicaStatus,
} from '../../../server/src/api/status.ts';
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';
import { protocolRole } from './protocol-view.ts';
import type { ProtocolRole } from './protocol-view.ts';
import { linkKey } from './trace-model.ts';

/** A status older than this says nothing about now. */
export const staleMs = 2000;

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'off';

export interface Health {
  readonly tone: Tone;
  readonly text: string;
}

export function compareBallots(a: Ballot, b: Ballot): number {
  if (a.round !== b.round) return a.round - b.round;
  if (a.replica === b.replica) return 0;
  return a.replica < b.replica ? -1 : 1;
}

export function formatBallot(ballot: Ballot): string {
  return ballot.round === 0 ? '–' : `${ballot.round}·${ballot.replica}`;
}

/** The status, if the replica runs and it is fresh enough to act on. */
export function freshStatus(replica: ClusterReplica): ReplicaStatus | null {
  if (replica.process !== 'running' || replica.status === null) return null;
  return replica.ageMs !== null && replica.ageMs <= staleMs ? replica.status : null;
}

/**
 * The replica that leads with the highest ballot. A deposed leader that has not heard of its successor also says `leader`; a leader that
 * is not serving yet, or no longer, does not count.
 */
export function findLeader(cluster: ClusterStatus | null): ReplicaStatus | null {
  const leaders = (cluster?.replicas ?? [])
    .map(freshStatus)
    .filter((status) => status !== null)
    .filter((status) => status.role === 'leader' && status.state === 'serving');
  return leaders.reduce<ReplicaStatus | null>(
    (best, status) => (best === null || compareBallots(status.ballot, best.ballot) > 0 ? status : best),
    null,
  );
}

export type ShownRole =
  | 'leader'
  | 'deposed'
  | 'follower'
  | 'candidate'
  | ProtocolRole
  | 'down'
  | 'paused'
  | 'unknown';

/** It orders what clients want, as far as it knows. */
export function leads(role: ShownRole): boolean {
  return role === 'leader' || role === 'primary';
}

/** What a replica is to the group now. Its last word does not count once it is frozen or silent, nor once another one leads with a higher ballot. */
export function roleOf(replica: ClusterReplica, leader: string | null): ShownRole {
  if (replica.process === 'stopped') return 'down';
  if (replica.process === 'paused') return 'paused';
  const status = freshStatus(replica);
  if (status === null) return 'unknown';
  if (status.role === 'leader' && leader !== null && leader !== replica.id) return 'deposed';
  return protocolRole(status) ?? status.role;
}

/** What the replica says of itself, as far as it is of use to who sees the others, too: none of them founds the group again. */
export function messageOf(replica: ClusterReplica, cluster: ClusterStatus): string | null {
  const status = freshStatus(replica);
  if (status === null || status.message === null) return null;
  // While a copy is made, the steps say it better.
  if (status.recovery !== null && status.recovery.phase !== 'joining') return null;
  const isFounded = cluster.replicas.some((each) => (each.status?.membership.members.length ?? 0) > 0);
  const sentences = status.message.split(/(?<=\.)\s+(?=[A-Z])/);
  const useful = sentences.filter((each) => !(isFounded && each.includes('barista init')));
  return useful.length === 0 ? null : useful.join(' ');
}

export function isBroken(fault: LinkFault): boolean {
  return fault.cut || fault.delayMs > 0 || fault.drop > 0 || fault.duplicate > 0;
}

/** Faults by `linkKey`, only of links that have one. A stopped replica's last report does not count. */
export function faultsByLink(cluster: ClusterStatus | null): ReadonlyMap<string, LinkFault> {
  const faults = (cluster?.replicas ?? [])
    .filter((replica) => replica.process !== 'stopped')
    .flatMap((replica) => replica.status?.faults ?? [])
    .filter(isBroken);
  return new Map(faults.map((fault) => [linkKey(fault.from, fault.to), fault]));
}

/** A few characters for a drawing: `cut`, or the parts of what is wrong. */
export function describeFault(fault: LinkFault): string {
  if (fault.cut) return 'cut';
  const parts = [
    fault.delayMs > 0 ? `+${formatDelay(fault.delayMs)}` : null,
    fault.drop > 0 ? `−${Math.round(fault.drop * 100)}%` : null,
    fault.duplicate > 0 ? `×2 ${Math.round(fault.duplicate * 100)}%` : null,
  ];
  return parts.filter((part) => part !== null).join(' ');
}

/** The same, in words. */
export function spellFault(fault: LinkFault): string {
  const parts = [
    fault.cut ? 'cut' : null,
    fault.delayMs > 0 ? `delayed by ${formatDelay(fault.delayMs)}` : null,
    fault.drop > 0 ? `${Math.round(fault.drop * 100)}% dropped` : null,
    fault.duplicate > 0 ? `${Math.round(fault.duplicate * 100)}% duplicated` : null,
  ];
  return parts.filter((part) => part !== null).join(', ');
}

function formatDelay(delayMs: number): string {
  return delayMs >= 1000 ? `${Number((delayMs / 1000).toFixed(1))} s` : `${delayMs} ms`;
}

/** True if every link from and to `id` is cut. */
export function isIsolated(cluster: ClusterStatus, id: string): boolean {
  const faults = faultsByLink(cluster);
  const others = cluster.replicas.filter((replica) => replica.id !== id);
  return (
    others.length > 0 &&
    others.every(
      (other) =>
        faults.get(linkKey(id, other.id))?.cut === true &&
        (other.process === 'stopped' || faults.get(linkKey(other.id, id))?.cut === true),
    )
  );
}

const conditions: Readonly<Record<ReplicaCondition, Health>> = {
  starting: { tone: 'busy', text: 'Starting' },
  recovering: { tone: 'busy', text: 'Recovering: applying what was chosen' },
  serving: { tone: 'good', text: 'Serving clients' },
  noLeader: { tone: 'warn', text: 'Up, but knows no leader' },
  databaseDown: { tone: 'bad', text: 'PostgreSQL is down' },
  logFull: { tone: 'bad', text: 'The log is full: not voting' },
  logCorrupt: { tone: 'bad', text: 'The log is damaged: not voting' },
  diverged: { tone: 'bad', text: 'Fenced: its data differs' },
  joining: { tone: 'busy', text: 'No log: asking to be let in' },
  restoring: { tone: 'busy', text: 'Restoring its PostgreSQL' },
  removed: { tone: 'off', text: 'No member any more' },
  down: { tone: 'bad', text: 'No answer' },
};

/** Up, but what clients want is ordered by nobody whom it reaches. */
const nobody: Readonly<Record<ProtocolStatus['name'], string>> = {
  'multi-paxos': conditions.noLeader.text,
  paxos: 'Up, but reaches no majority',
  primary: 'Up, but hears no primary',
};

/** `leader`: who leads now; a replica goes on holding to one that is gone until it hears of another, or has waited long enough. */
export function healthOf(replica: ClusterReplica, leader: string | null): Health {
  if (replica.process === 'stopped') return { tone: 'off', text: 'Crashed: its process is gone' };
  if (replica.process === 'paused') return { tone: 'warn', text: 'Paused: its process is frozen' };
  const status = freshStatus(replica);
  if (status === null) {
    return replica.status === null ? conditions.starting : conditions.down;
  }
  const { name } = status.protocol;
  const isPrimary = name === 'primary';
  if (status.state === 'serving') {
    const via = status.leader;
    if (status.role === 'leader') {
      return leader === null || leader === replica.id
        ? conditions.serving
        : { tone: 'warn', text: `Has not heard that ${leader} ${isPrimary ? 'is primary' : 'leads'}` };
    }
    if (via === null) return conditions.serving;
    return via === leader
      ? { tone: 'good', text: `Serving clients through ${via}` }
      : {
          tone: 'warn',
          text: `Waits for ${via}, which ${isPrimary ? 'is not primary' : 'does not lead'} now`,
        };
  }
  return status.state === 'noLeader' ? { tone: 'warn', text: nobody[name] } : conditions[status.state];
}
