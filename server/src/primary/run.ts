/**
 * One step in the making: the state that it changes, and the effects that it has gathered so far.
 *
 * Responsible for: sending, telling, and the log with its disk: what is appended, what is cut off, and how far it is durable.
 * Invariant: whoever cuts something off that the database has been given says so (`copyNeeded`) before the disk hears of it.
 */
import { sameBallot, ballotNone, compareBallots } from '../multipaxos/ballot.ts';
import { entryBytes, entryLabel } from '../multipaxos/entry.ts';
import type { Vote } from '../multipaxos/types/entries.ts';
import type { Ballot, ReplicaId, Slot } from '../multipaxos/types/names.ts';
import type { LogRecord } from '../multipaxos/types/records.ts';
import { type HeldBack, snapshot, type State } from './state.ts';
import type { Effect } from './types/effects.ts';
import type { Message } from './types/messages.ts';
import type { PrimaryTraceEvent } from './types/trace.ts';

export interface Run {
  readonly state: State;
  readonly effects: Effect[];
}

/** The replica must stop. Never caught inside the core. */
export class PrimaryInvariantViolation extends Error {
  override readonly name = 'PrimaryInvariantViolation';
}

export function must(condition: boolean, detail: string): void {
  if (!condition) throw new PrimaryInvariantViolation(detail);
}

export function send(run: Run, to: ReplicaId, message: Message): void {
  run.effects.push({ kind: 'send', to, message });
}

export function others({ config }: State): readonly ReplicaId[] {
  return config.replicas.filter((replica) => replica !== config.id);
}

export function traceAction(
  run: Run,
  name: PrimaryTraceEvent['name'],
  epoch: Ballot,
  more: Partial<Omit<PrimaryTraceEvent, 'name' | 'epoch' | 'state'>> = {},
): void {
  if (!run.state.isTold) return;
  run.effects.push({ kind: 'trace', event: { name, epoch, ...more, state: snapshot(run.state) } });
}

export function epochAt(state: State, slot: Slot): Ballot {
  return state.log.get(slot)?.ballot ?? ballotNone;
}

export interface Persist {
  readonly records: readonly LogRecord[];
  readonly isGroup: boolean;
  readonly heldBack?: readonly HeldBack[];
}

export function persist(run: Run, { records, isGroup, heldBack = [] }: Persist): number {
  const { state } = run;
  const seq = state.nextSeq;
  state.nextSeq += 1;
  state.pending.push({ seq, isGroup, epoch: state.promised, heldBack });
  run.effects.push({ kind: 'persist', seq, records });
  return seq;
}

/**
 * Puts entries behind `keep`, and cuts off what lay there. What the disk has behind the new end is overwritten with entries below every epoch, ahead of the new ones: a recovery ends
 * the log where epochs go back.
 */
export function writeBehind(run: Run, keep: Slot, votes: readonly Vote[]): void {
  const { state } = run;
  const end = keep + votes.length;
  const records: LogRecord[] = [];
  if (keep < state.lastSlot) {
    records.push({ kind: 'promise', ballot: state.promised });
    for (let slot: number = state.lastSlot; slot > end; slot -= 1) records.push(cutAt(state, slot as Slot));
    cutBehind(run, keep);
  }
  for (const vote of votes) records.push({ kind: 'vote', ...vote });
  const seq = persist(run, { records, isGroup: true });
  for (const vote of votes) putSlot(state, vote, seq);
  state.lastSlot = end as Slot;
}

/** What a recovery takes for the end of the log. */
export function cutAt({ config }: State, slot: Slot): LogRecord {
  return { kind: 'vote', slot, ballot: ballotNone, entry: { kind: 'noop', group: config.group } };
}

/** Forgets what lies behind `keep`; whatever the database has of it taints it. */
export function cutBehind(run: Run, keep: Slot): void {
  const { state } = run;
  for (let slot = state.lastSlot; slot > keep; slot = (slot - 1) as Slot) {
    state.logBytes -= state.log.get(slot)?.bytes ?? 0;
    state.log.delete(slot);
  }
  state.lastSlot = Math.min(state.lastSlot, keep) as Slot;
  state.durableTo = Math.min(state.durableTo, keep) as Slot;
  if (state.pushedTo > keep) taint(run);
}

export function taint(run: Run): void {
  if (!run.state.needsCopy) run.effects.push({ kind: 'copyNeeded' });
  run.state.needsCopy = true;
}

export function putSlot(state: State, { slot, ballot, entry }: Vote, seq: number): void {
  const bytes = entryBytes(entry);
  state.log.set(slot, { slot, ballot, entry, label: entryLabel(entry), bytes, seq });
  state.logBytes += bytes;
}

/** What is flushed up to `seq` moves the end of what is durable. */
export function advanceDurable(state: State, seq: number): void {
  for (;;) {
    const next = state.log.get((state.durableTo + 1) as Slot);
    if (next === undefined || next.seq > seq) return;
    state.durableTo = next.slot;
  }
}

/** Raises the promise, in memory: what was confirmed in an earlier epoch is not any more. */
export function promise(state: State, epoch: Ballot): void {
  must(compareBallots(epoch, state.promised) >= 0, 'a promise is never lowered');
  if (sameBallot(epoch, state.promised)) return;
  state.promised = epoch;
  state.highestRound = Math.max(state.highestRound, epoch.round);
  state.matched = 0 as Slot;
  state.beginsAt = 0 as Slot;
  state.primary = null;
}
