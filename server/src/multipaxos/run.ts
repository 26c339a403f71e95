/**
 * One step in the making: the state that it changes and the effects that it has gathered so far.
 *
 * Responsible for: sending, persisting, and holding back what may be told only once something is durable.
 * Invariant: a message that reveals a promise or a vote waits for the `Persisted` of its record.
 */
import { checkRevealed } from './invariants.ts';
import type { HeldBack, State } from './state.ts';
import type { Effect } from './types/effects.ts';
import type { Message } from './types/messages.ts';
import type { ReplicaId } from './types/names.ts';
import type { LogRecord } from './types/records.ts';

export interface Run {
  readonly state: State;
  readonly effects: Effect[];
  /** Effects from here on belong to the action that is being taken: its trace event tells them. */
  mark: number;
}

export function send(run: Run, to: ReplicaId, message: Message): void {
  checkRevealed(run.state, message);
  run.effects.push({ kind: 'send', to, message });
}

export function broadcast(run: Run, message: Message): void {
  for (const peer of run.state.roster.peers) send(run, peer, message);
}

/** The commit point, when it has moved: a hint that costs no flush of its own. Never without the configuration that is in force at it. */
export function recordCommitPoint(state: State, records: LogRecord[]): void {
  const { configuration, commitPoint } = state;
  if (configuration.version > state.recordedConfiguration) {
    records.push({ kind: 'configuration', configuration });
    state.recordedConfiguration = configuration.version;
  }
  if (commitPoint > state.recordedCommitPoint) {
    records.push({ kind: 'commitPoint', slot: commitPoint });
    state.recordedCommitPoint = commitPoint;
  }
}

/** Appends to the log; the commit point goes along. */
export function persist(run: Run, records: LogRecord[], heldBack?: HeldBack): number {
  const { state } = run;
  recordCommitPoint(state, records);
  const seq = state.nextSeq;
  state.nextSeq += 1;
  state.pending.push({
    seq,
    records,
    promised: state.promised,
    commitPoint: state.recordedCommitPoint,
    heldBack: heldBack === undefined ? [] : [heldBack],
  });
  run.effects.push({ kind: 'persist', seq, records });
  return seq;
}

/** Sends once everything that has been handed to the log so far is durable: at once if it all is. */
export function sendWhenDurable(run: Run, to: ReplicaId, message: Message): void {
  const last = run.state.pending.at(-1);
  if (last === undefined) send(run, to, message);
  else last.heldBack.push({ kind: 'send', to, message });
}
