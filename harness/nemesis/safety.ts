/**
 * The bounds that the nemesis must keep for its verdict to mean anything: no majority of the voters is ever without its disk at the same time, and the last whole database is not lost. Pure.
 *
 * A replica whose log or database was taken away or damaged counts as lost until it votes and serves again: a database, too, is needed, for the log below it may be purged. One that was deposed has no whole database
 * before it is rewound, though nobody has touched its disk.
 */
import type { ReplicaStatus } from '../../server/src/api/status.ts';

export interface DiskLoss {
  readonly replica: string;
  /** Of its log, when the disk was lost. */
  readonly incarnation: number;
  readonly logIsLost: boolean;
}

/** Whose databases others could be copied from, by what the replicas say of themselves: one that leads without knowing that a newer leader does is not believed. */
export function wholeDatabases(statuses: readonly ReplicaStatus[]): readonly string[] {
  const newest = Math.max(...statuses.map(({ ballot }) => ballot.round));
  return statuses
    .filter(
      ({ state, recovery, ballot }) => state === 'serving' && recovery == null && ballot.round === newest,
    )
    .map(({ id }) => nameOf(id));
}

/** Why the disk of one more replica may not be lost now, or null. `whole`: see wholeDatabases. */
export function lossForbidden(
  replica: string,
  members: number,
  losses: readonly DiskLoss[],
  whole: readonly string[],
): string | null {
  const lost = new Set([...losses.map((loss) => loss.replica), replica]);
  const most = Math.floor((members - 1) / 2);
  if (losses.some((loss) => loss.replica === replica)) return `${replica} is not healed yet`;
  if (lost.size > most)
    return `${[...lost].join(' and ')} would be without a disk, at most ${most} of ${members} may`;
  if (!whole.some((id) => !lost.has(id))) return `nobody but ${replica} is known to have a whole database`;
  return null;
}

/** True if the replica has a disk again, and a vote. */
export function isHealed(loss: DiskLoss, status: ReplicaStatus | null): boolean {
  if (status === null || status.state !== 'serving' || status.recovery != null) return false;
  if (loss.logIsLost && status.incarnation <= loss.incarnation) return false;
  const member = status.membership.members.find(({ replica }) => nameOf(replica) === loss.replica);
  return member?.role === 'voter';
}

/** `r2` of the incarnation `r2.3`. */
export function nameOf(incarnation: string): string {
  return incarnation.replace(/\.\d+$/, '');
}
