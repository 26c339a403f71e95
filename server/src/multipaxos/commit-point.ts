/**
 * The commit point of a leader that writes and tells it by itself, instead of along with what comes next.
 *
 * Responsible for: tellCommitPoint, which low-overhead-paxos-replication.txt compares with piggybacking (its SYNC and ASYNC). Nothing rests on it: what is written is the same hint, which a
 * crash may take away, and what is told is what the next Accept or Heartbeat would tell.
 */
import { heartbeatOf } from './heartbeat.ts';
import { broadcast, persist, type Run } from './run.ts';
import type { State } from './state.ts';
import type { CommitPointMode } from './types/effects.ts';

export function commitPointMode({ config }: State): CommitPointMode {
  return config.commitPoint ?? { kind: 'piggyback' };
}

/** In the step in which it has moved, or at the first Tick at which it is time to. */
export function tellCommitPoint(run: Run): void {
  const { state } = run;
  const { leadership, commitPoint, configuration } = state;
  const mode = commitPointMode(state);
  if (leadership === null || mode.kind === 'piggyback') return;
  if (commitPoint <= state.recordedCommitPoint && commitPoint === leadership.announcedCommitPoint) return;
  if (mode.kind === 'asynchronous' && state.nowMs < leadership.commitPointToldAtMs + mode.everyMs) return;
  leadership.commitPointToldAtMs = state.nowMs;
  if (commitPoint > state.recordedCommitPoint && configuration.version === state.recordedConfiguration)
    persist(run, []);
  if (commitPoint === leadership.announcedCommitPoint) return;
  leadership.announcedCommitPoint = commitPoint;
  leadership.heartbeatAtMs = state.nowMs;
  broadcast(run, heartbeatOf(state, leadership));
}
