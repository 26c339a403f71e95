/**
 * Fsync: records have become durable, and what was held back for them may be told.
 *
 * Responsible for: fsync, and counting the replica's own promise and votes from then on.
 */
import { sameBallot } from './ballot.ts';
import { countOwnPromise, sendPrepares } from './election.ts';
import { countVotes } from './leader.ts';
import { send, type Run } from './run.ts';
import type { HeldBack, PendingPersist } from './state.ts';
import { traceAction } from './trace.ts';

/** Everything up to `seq` is durable. */
export function fsync(run: Run, seq: number): void {
  const { state } = run;
  let count = 0;
  while (count < state.pending.length && state.pending[count]!.seq <= seq) count += 1;
  if (count === 0) return;
  const done = state.pending.splice(0, count);
  const last = done[count - 1]!;
  state.durableSeq = last.seq;
  state.durablePromised = last.promised;
  state.durableCommitPoint = last.commitPoint;
  for (const item of done) for (const held of item.heldBack) release(run, held);
  const records = done.flatMap((item) => item.records);
  // The spec's acceptors flush promises, votes and what was learnt; a commit point that is written by itself is none of these.
  if (state.trace === 'all' && !isHint(done)) traceAction(run, 'Fsync', { records });
  countOwn(run, done);
}

function isHint(done: readonly PendingPersist[]): boolean {
  return done.every(
    ({ records, heldBack }) =>
      heldBack.length === 0 && records.length > 0 && records.every(({ kind }) => kind === 'commitPoint'),
  );
}

function release(run: Run, held: HeldBack): void {
  if (held.kind === 'send') send(run, held.to, held.message);
  if (held.kind === 'ownPromise') {
    const { candidacy, promised } = run.state;
    if (candidacy !== null && sameBallot(promised, held.ballot)) sendPrepares(run);
  }
}

/** A replica is its own acceptor: it counts itself like a peer, and no sooner. */
function countOwn(run: Run, done: readonly PendingPersist[]): void {
  for (const item of done) {
    for (const held of item.heldBack) {
      if (held.kind === 'ownPromise') countOwnPromise(run, held.ballot);
      if (held.kind === 'ownVotes') {
        const { leadership, roster } = run.state;
        if (leadership !== null && sameBallot(leadership.ballot, held.ballot)) {
          countVotes(run.state, { bit: roster.selfBit, firstSlot: held.firstSlot, lastSlot: held.lastSlot });
        }
      }
    }
  }
}
