/**
 * Handing over: a leader resigns at a moment at which nothing of its is under way, and has another lead at once.
 *
 * Responsible for: whether it may, the resignation (the spec's Resign), and handleResigned on the others' side: their word to that leader ends (lease.ts), and the successor stands without asking first and
 * without waiting for a time-out. It is an ordinary candidate from there on: if it fails, whoever's time-out ends first stands, the old leader too. The message may be lost, late or come twice: then an election
 * takes as long as it does without it. That nothing more is written meanwhile is up to the shell. A leader that fails says the same (leader.ts), with whatever is under way: an election finds it.
 */
import { sameBallot } from './ballot.ts';
import { startElection } from './election.ts';
import { heartbeatOf } from './heartbeat.ts';
import { endWord } from './lease.ts';
import { traceResigned, traceResignation } from './lease-trace.ts';
import { resign } from './resign.ts';
import { broadcast, type Run } from './run.ts';
import type { State } from './state.ts';
import { traceAction } from './trace.ts';
import type { HandOverCode } from './types/effects.ts';
import type { Resigned } from './types/messages.ts';
import type { ReplicaId } from './types/names.ts';

/** Of a time-out: a candidate that was named has long asked everybody by then. */
const awaitedShare = 0.25;

export function handOver(run: Run, successor: ReplicaId): void {
  const { state } = run;
  const code = whyNot(state, successor) ?? 'handedOver';
  if (code === 'handedOver') {
    const { ballot } = state.leadership!;
    // So that the successor knows all to be chosen, and need not have it chosen again.
    broadcast(run, heartbeatOf(state, state.leadership!));
    traceResignation(run, 'handedOver');
    resign(run, 'handedOver');
    traceAction(run, 'StepDown', { reason: 'handedOver' });
    broadcast(run, { kind: 'Resigned', group: state.config.group, ballot, successor });
    run.mark = run.effects.length;
  }
  run.effects.push({ kind: 'handOver', code });
}

function whyNot(state: State, successor: ReplicaId): HandOverCode | null {
  const { leadership, commitPoint, nowMs, config } = state;
  if (leadership === null || !leadership.serving) return 'notLeader';
  const peer = leadership.voters.find(({ id }) => id === successor);
  if (peer === undefined) return 'noVoter';
  const { nextSlot, pending, wanted } = leadership;
  if (nextSlot - 1 > commitPoint || pending !== null || wanted !== null) return 'busy';
  const wasHeard = nowMs - peer.ackedSentAtMs <= config.electionTimeoutMinMs;
  return wasHeard && peer.commitPoint === commitPoint ? null : 'behind';
}

/** Of an earlier or later ballot than the one that this replica has promised last it says nothing of the word that was given since. */
export function handleResigned(run: Run, from: ReplicaId, message: Resigned): void {
  const { state } = run;
  const { ballot, successor } = message;
  if (ballot.replica !== from || !sameBallot(ballot, state.promised)) return;
  endWord(state);
  traceResigned(run, ballot);
  state.leader = null;
  const mayStand = !state.awaitsCopy && state.nowMs >= state.quarantineUntilMs;
  if (successor === state.config.id && mayStand) startElection(run);
  else awaitSuccessor(state);
}

/** Who is named may be unable to stand, as where databases fail one after the other: the others ask soon, and not together. */
function awaitSuccessor(state: State): void {
  const { electionTimeoutMinMs, electionTimeoutMaxMs } = state.config;
  const spreadMs = state.random * (electionTimeoutMaxMs - electionTimeoutMinMs);
  state.electionDeadlineMs = state.nowMs + (electionTimeoutMinMs + spreadMs) * awaitedShare;
}
