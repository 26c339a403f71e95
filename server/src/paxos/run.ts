/**
 * One step in the making: the state that it changes and the effects that it has gathered so far.
 *
 * Responsible for: sending, persisting, and holding back what may be told only once something is durable.
 * Invariant: a message that reveals a promise or a vote waits for the `Persisted` of its record.
 */
import type { Slot, ReplicaId } from '../multipaxos/types/names.ts';
import type { LogRecord } from '../multipaxos/types/records.ts';
import type { HeldBack, PaxosState } from './state.ts';
import type { PaxosEffect } from './types/effects.ts';
import type { PaxosMessage } from './types/messages.ts';

export interface PaxosRun {
  readonly state: PaxosState;
  readonly effects: PaxosEffect[];
}

export type Body<Message = PaxosMessage> = Message extends PaxosMessage
  ? Omit<Message, 'group' | 'done'>
  : never;

/**
 * Whatever is said, it says what this replica has done, too; but nothing that a restart would find in its log and not know to be decided. Others forget what all have done,
 * and a database that goes on from an older copy needs it once more: a vote alone would not do then.
 */
export function messageOf({ config, done, durableCommitPoint }: PaxosState, body: Body): PaxosMessage {
  return { group: config.group, done: minSlot(done, durableCommitPoint), ...body };
}

export function send(run: PaxosRun, to: ReplicaId, body: Body): void {
  run.effects.push({ kind: 'send', to, message: messageOf(run.state, body) });
}

export function broadcast(run: PaxosRun, body: Body): void {
  for (const peer of run.state.peers) send(run, peer, body);
}

/** Appends to the log. The commit point goes along when it has moved: a hint, behind the entries that it speaks of. */
export function persist(run: PaxosRun, record: LogRecord, heldBack: readonly HeldBack[] = []): number {
  const { state } = run;
  const records = [record];
  if (state.commitPoint > state.recordedCommitPoint) {
    records.push({ kind: 'commitPoint', slot: state.commitPoint });
    state.recordedCommitPoint = state.commitPoint;
  }
  const seq = state.nextSeq;
  state.nextSeq += 1;
  state.pending.push({ seq, records: 1, commitPoint: state.recordedCommitPoint, heldBack: [...heldBack] });
  run.effects.push({ kind: 'persist', seq, records });
  return seq;
}

/** Sends once everything that has been handed to the log so far is durable: at once if it all is. */
export function sendWhenDurable(run: PaxosRun, to: ReplicaId, body: Body): void {
  const last = run.state.pending.at(-1);
  if (last === undefined) send(run, to, body);
  else last.heldBack.push({ kind: 'send', to, message: messageOf(run.state, body) });
}

/** A message that leaves when the record that comes next is durable. */
export function held(state: PaxosState, to: ReplicaId, body: Body): HeldBack {
  return { kind: 'send', to, message: messageOf(state, body) };
}

export function minSlot(a: Slot, b: Slot): Slot {
  return a < b ? a : b;
}
