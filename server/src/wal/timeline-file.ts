/** The history files by which PostgreSQL knows where a timeline comes from. Pure. */
import { formatLsn, type Timeline } from './lsn.ts';
import type { WalPosition } from './position.ts';

/**
 * The contents of the history file of `timeline`: all forks that lead to it. A timeline that was begun by a leadership and never written to is among them, too: it is left where it begins, and only keeps its
 * number from being used again.
 */
export function timelineFile({ forks }: Pick<WalPosition, 'forks'>, timeline: Timeline): string {
  return forks
    .filter((fork) => fork.timeline <= timeline)
    .map((fork) => `${fork.timeline - 1}\t${formatLsn(fork.at)}\tanother leader\n`)
    .join('');
}
