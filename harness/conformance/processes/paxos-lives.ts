/**
 * Steps of real processes of single-decree Paxos as a run of specs/Paxos.tla: what a process does not tell of its end, and of its database, is put in where it must have been.
 *
 * Responsible for: the crash between two lives, with how much of what was not known to be durable was so all the same, by what the next life found; a database that comes up with more, or less, than was told. Purges are left out: the specification may purge or not, and real logs let go of whole segments only, later than the core.
 */
import { compareBallots } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, EntryLabel, ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { PaxosTraceEvent, TracedSlot } from '../../../server/src/paxos/types/trace.ts';
import type { ReplicaEvent } from '../../paxos/simulated-replica.ts';
import type { ToldStep } from './lives.ts';

export type PaxosStep = ToldStep<PaxosTraceEvent>;

/** What was handed to the log. */
type Written =
  | { readonly kind: 'promise' | 'vote'; readonly slot: Slot; readonly ballot: Ballot }
  | { readonly kind: 'learnt'; readonly slot: Slot; readonly label: EntryLabel };

interface Life {
  readonly run: string;
  done: Slot;
  labels: ReadonlyMap<Slot, EntryLabel | null>;
  unflushed: Written[];
}

/** In the order of the steps, with the index of the step that each is of. */
export interface PaxosRunEvent extends ReplicaEvent {
  readonly of: number;
}

export function paxosRunOf(steps: readonly PaxosStep[]): readonly PaxosRunEvent[] {
  const lives = new Map<ReplicaId, Life>();
  return steps.flatMap((told, of) => {
    const { replica, run, step } = told;
    const last = lives.get(replica);
    const isNext = last !== undefined && last.run !== run;
    const life: Life =
      last !== undefined && !isNext
        ? last
        : { run, done: last?.done ?? (0 as Slot), labels: new Map(), unflushed: [] };
    lives.set(replica, life);
    const end = isNext ? endOf(last, step, databaseOf(steps, of)) : [];
    if (isNext) life.done = last.done;
    const events = [...end, ...eventsOf(life, step)];
    life.labels = new Map(step.state.slots.map(({ slot, label }) => [slot, label]));
    return events.map((event) => ({ replica, event, of }));
  });
}

type Fields = ReplicaEvent['event'];

/** The database of a life comes up with everything up to there; null: the life ended before. */
function databaseOf(steps: readonly PaxosStep[], from: number): Slot | null {
  const { run } = steps[from]!;
  const restored = steps.slice(from).find((told) => told.run === run && told.step.name === 'Restored');
  return restored?.step.upTo ?? null;
}

/** What happened between the last word of a life and the first of the next one. */
function endOf(life: Life, { state }: PaxosTraceEvent, database: Slot | null): Fields[] {
  const survived = survivors(life.unflushed, state);
  return [
    ...(database === null ? [] : moveDatabase(life, database)),
    ...(survived === 0 ? [] : [{ name: 'Fsync', records: survived } as const]),
    { name: 'Crash', upTo: state.commitPoint },
  ];
}

/** The records of which the next life knows: all that are ahead of the first of which it does not. */
function survivors(unflushed: readonly Written[], { slots }: PaxosTraceEvent['state']): number {
  const bySlot = new Map(slots.map((held) => [held.slot, held]));
  const lost = unflushed.findIndex((written) => {
    const held = bySlot.get(written.slot);
    return held !== undefined && !isFoundIn(held, written);
  });
  const isUnknown = (written: Written): boolean => !bySlot.has(written.slot);
  if (lost !== -1) return lost;
  // A slot that is not spoken of is known to be chosen, or there is nothing there.
  const end = unflushed.findIndex((written) => isUnknown(written) && written.slot > lastOf(slots));
  return end === -1 ? unflushed.length : end;
}

function lastOf(slots: readonly TracedSlot[]): number {
  return Math.max(0, ...slots.map(({ slot }) => slot));
}

function isFoundIn(held: TracedSlot, written: Written): boolean {
  if (held.decided && held.ballot === null) return true;
  switch (written.kind) {
    case 'promise':
      return held.promised !== null && compareBallots(held.promised, written.ballot) >= 0;
    case 'vote':
      return held.ballot !== null && compareBallots(held.ballot, written.ballot) >= 0;
    case 'learnt':
      return held.label === written.label && held.ballot === null;
    default:
      return written satisfies never;
  }
}

/** It has executed more than was told, or is another one, which has executed so much. */
function moveDatabase(life: Life, to: Slot): Fields[] {
  if (to === life.done) return [];
  const isAnother = to < life.done;
  life.done = to;
  const lost: Fields[] = isAnother ? [{ name: 'LoseDatabase' }] : [];
  return to === 0 ? lost : [...lost, { name: 'Apply', upTo: to }];
}

function eventsOf(life: Life, step: PaxosTraceEvent): Fields[] {
  const { name, slot, ballot, label, upTo = 0 as Slot, records = 0 } = step;
  const told: Fields = { ...step, state: { ...step.state, purgedTo: 0 as Slot } };
  switch (name) {
    case 'Purge':
      return [];
    case 'StartBallot':
    case 'HandlePrepare':
      life.unflushed.push({ kind: 'promise', slot: slot!, ballot: ballot! });
      return [told];
    case 'StartAccept':
    case 'HandleAccept':
      life.unflushed.push({ kind: 'vote', slot: slot!, ballot: ballot! });
      return [told];
    case 'HandleCatchUpReply':
      if (life.labels.get(slot!) !== label)
        life.unflushed.push({ kind: 'learnt', slot: slot!, label: label! });
      return [told];
    case 'Fsync':
      life.unflushed.splice(0, records);
      return [told];
    case 'Apply':
      life.done = upTo;
      return [told];
    case 'Restored':
      return moveDatabase(life, upTo);
    case 'Crash':
    case 'Decide':
    case 'HandleDone':
    case 'HandleLearn':
    case 'HandleReject':
    case 'LoseDatabase':
    case 'Propose':
    case 'Restart':
      return [told];
    default:
      return name satisfies never;
  }
}
