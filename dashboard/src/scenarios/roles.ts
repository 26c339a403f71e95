/** Who is who when a scenario begins, and what became of it: the parts that scenarios give to replicas, whoever they are. Pure. */
import type { Ballot, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { compareBallots } from '../model/cluster-view.ts';
import { idsIn, leaderIn, type Seen, statusIn } from './seen.ts';
import type { Told } from './scenario.ts';

export interface Roles {
  readonly leader: ReplicaId;
  readonly ballot: Ballot;
  readonly others: readonly ReplicaId[];
  /** The first of the others. */
  readonly one: ReplicaId;
}

/** `start`: somebody leads in it (may-play.ts). */
export function rolesIn(start: Seen): Roles {
  const { id, ballot } = leaderIn(start)!;
  const others = idsIn(start).filter((other) => other !== id);
  return { leader: id, ballot, others, one: others[0]! };
}

/** So many are lost at most without a majority being lost. */
export function minorityOf(count: number): number {
  return Math.ceil(count / 2) - 1;
}

/** Who leads in place of the one that led when it began; null: nobody does yet. */
export function successorIn({ start, now }: Pick<Told, 'start' | 'now'>): ReplicaId | null {
  const { leader, ballot } = rolesIn(start);
  const next = leaderIn(now);
  return next === null || next.id === leader || compareBallots(next.ballot, ballot) <= 0 ? null : next.id;
}

/** It serves, and has applied all that whoever led knew to be chosen at `since`. */
export function hasCaughtUp(seen: Seen, id: string, since: Seen): boolean {
  const applied = statusIn(seen, id)?.applicationPointer ?? 0;
  return isWell(seen, id) && leaderIn(seen) !== null && applied >= (leaderIn(since)?.commitPoint ?? 0);
}

/** It serves, follows or leads, and recovers from nothing. */
function isWell(seen: Seen, id: string): boolean {
  const status = statusIn(seen, id);
  return status !== null && status.state === 'serving' && status.recovery === null;
}
