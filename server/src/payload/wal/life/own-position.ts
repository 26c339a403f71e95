/** How far a primary's own directory is for certain, while the log may have gone on without it. */
import { sameBallot } from '../../../multipaxos/ballot.ts';
import type { WalPosition } from '../../../wal/position.ts';
import type { LifeContext } from './context.ts';
import type { RunningPrimary } from './primary-phase.ts';

/** Where another leadership has begun since, what is chosen is not what is here: then the last position that was written to the directory. */
export function ownPosition({ durableState }: LifeContext, { ballot, wal }: RunningPrimary): WalPosition {
  const isOwn = durableState === null || sameBallot(wal.position.leadership, ballot);
  return isOwn ? wal.position : durableState.position;
}
