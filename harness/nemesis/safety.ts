/**
 * The one bound that the nemesis must keep for its verdict to mean anything: no majority of the voters is ever without its disk at the same time. Pure.
 *
 * A replica whose log or database was taken away or damaged counts as lost until it votes and serves again: a database, too, is needed, for the log below it may be purged.
 */
import type { ReplicaStatus } from '../../server/src/api/status.ts';

export interface DiskLoss {
  readonly replica: string;
  /** Of its log, when the disk was lost. */
  readonly incarnation: number;
  readonly logIsLost: boolean;
}

/** Why the disk of one more replica may not be lost now, or null. */
export function lossForbidden(replica: string, members: number, losses: readonly DiskLoss[]): string | null {
  const lost = new Set([...losses.map((loss) => loss.replica), replica]);
  const most = Math.floor((members - 1) / 2);
  if (losses.some((loss) => loss.replica === replica)) return `${replica} is not healed yet`;
  if (lost.size > most)
    return `${[...lost].join(' and ')} would be without a disk, at most ${most} of ${members} may`;
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
