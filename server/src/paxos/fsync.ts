/**
 * Fsync: records have become durable, and what was held back for them may be told.
 *
 * Responsible for: fsync, and counting the replica's own promises and votes from then on: it is its own acceptor, and counts itself no sooner than a peer.
 */
import { countPromise, countVote } from './proposer.ts';
import type { PaxosRun } from './run.ts';
import { traceAction } from './trace.ts';

/** Everything up to `seq` is durable. */
export function fsync(run: PaxosRun, seq: number): void {
  const { state } = run;
  let count = 0;
  while (count < state.pending.length && state.pending[count]!.seq <= seq) count += 1;
  if (count === 0) return;
  const flushed = state.pending.splice(0, count);
  const last = flushed[count - 1]!;
  state.durableSeq = last.seq;
  state.durableCommitPoint = last.commitPoint;
  const heldBack = flushed.flatMap((item) => item.heldBack);
  for (const item of heldBack) {
    if (item.kind === 'send') run.effects.push(item);
  }
  traceAction(run, 'Fsync', { records: flushed.reduce((sum, { records }) => sum + records, 0) });
  for (const item of heldBack) {
    if (item.kind === 'ownPromise') countPromise(run, state.config.id, item);
    if (item.kind === 'ownVote') countVote(run, state.config.id, item.slot, item.ballot);
  }
}
