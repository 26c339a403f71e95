/**
 * Promoting learners: the leader makes a voter of each learner that keeps up.
 *
 * Responsible for: promoteLearner. A learner keeps up if it was heard just now, holds what was chosen a short while ago, and has
 * applied, durably, what was chosen a longer while ago. That is measured in time, not in slots: under load the distance in slots never
 * becomes small, however well a learner keeps up.
 */
import { memberName } from './configuration.ts';
import { requestChange } from './reconfigure.ts';
import type { Run } from './run.ts';
import type { Leadership, PeerProgress, State } from './state.ts';
import type { Slot } from './types/names.ts';

/** Marks of the commit point that are kept, one for each longest election timeout. */
const marksKept = 10;

export function promoteLearner(run: Run, leadership: Leadership): void {
  const { state } = run;
  if (!leadership.serving) return;
  mark(state, leadership);
  if (leadership.pending !== null || leadership.wanted !== null) return;
  for (const { role, replica, incarnation } of state.configuration.members) {
    if (role === 'voter' || incarnation === 0) continue;
    const name = memberName(replica, incarnation);
    const peer = leadership.peers.find(({ id }) => id === name);
    if (peer === undefined || !keepsUp(state, leadership, peer)) continue;
    if (requestChange(state, { kind: 'promote', replica, incarnation }) === 'proposed') return;
  }
}

function mark(state: State, leadership: Leadership): void {
  const { marks } = leadership;
  const newest = marks.at(-1);
  if (newest !== undefined && state.nowMs < newest.atMs + state.config.electionTimeoutMaxMs) return;
  marks.push({ atMs: state.nowMs, commitPoint: state.commitPoint });
  if (marks.length > marksKept) marks.shift();
}

/** The newest mark is at most one interval old, the oldest at most `marksKept`. */
function keepsUp(state: State, { marks }: Leadership, peer: PeerProgress): boolean {
  const { commitPoint, durableApplicationPointer, ackedSentAtMs } = peer;
  if (state.nowMs - ackedSentAtMs > state.config.electionTimeoutMinMs) return false;
  const shortAgo = marks.at(-1)!.commitPoint;
  const longAgo = marks[0]!.commitPoint;
  return commitPoint >= shortAgo && (durableApplicationPointer ?? (0 as Slot)) >= longAgo;
}
