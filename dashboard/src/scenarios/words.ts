/** How scenarios put what they have seen into words. Pure. */
import type { ReplicaStatus } from '../../../server/src/api/status.ts';
import { formatBallot, freshStatus, healthOf } from '../model/cluster-view.ts';
import { lastStatusIn, leaderIn, type Seen } from './seen.ts';

/** `r1`, `r1 and r2`, `r1, r2 and r3`. */
export function listed(names: readonly string[], or = 'and'): string {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} ${or} ${names.at(-1)!}`;
}

export function ballotOf(status: Pick<ReplicaStatus, 'ballot'> | null): string {
  return status === null ? 'no ballot' : formatBallot(status.ballot);
}

export function seconds(ms: number): string {
  return ms < 950 ? `${Math.max(0.1, Math.round(ms / 100) / 10)} s` : `${(ms / 1000).toFixed(1)} s`;
}

/** What each replica is now, for whoever waited for something else in vain. */
export function spellGroup(seen: Seen): string {
  const leader = leaderIn(seen)?.id ?? null;
  return seen.cluster.replicas
    .map((replica) => {
      const { id, process } = replica;
      if (process === 'stopped') return `${id} is down`;
      if (process === 'paused') return `${id} is frozen`;
      const status = freshStatus(replica);
      if (status === null) return `${id} says nothing (last: ballot ${ballotOf(lastStatusIn(seen, id))})`;
      const recovery = status.recovery === null ? '' : `, ${status.recovery.phase}`;
      return `${id} is ${status.role} in ballot ${ballotOf(status)} at slot ${status.commitPoint} (${lowered(healthOf(replica, leader).text)}${recovery})`;
    })
    .join('; ');
}

function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
