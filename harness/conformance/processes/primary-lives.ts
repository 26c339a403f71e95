/**
 * Steps of real processes of a primary and its copies as a run of specs/PrimaryCopies.tla: what a process does not tell of its end, and of its database, is put in where it must have been.
 *
 * Responsible for: the crash between two lives, with the groups that were durable though nobody knew, by the log that the next life found, and with what its database had kept, by what that life gave it first. Until a database is up, its core says that it has executed nothing.
 */
import { sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { RecordedEvent } from '../../../server/src/primary/testing/simulated-group.ts';
import type { PrimaryTraceEvent } from '../../../server/src/primary/types/trace.ts';
import type { ToldStep } from './lives.ts';

export type PrimaryStep = ToldStep<PrimaryTraceEvent>;

/** Where a log ends. */
interface End {
  readonly lastSlot: Slot;
  readonly lastEpoch: Ballot;
}

interface Life {
  readonly run: string;
  /** What the log ended with behind each group that is not known to be durable. */
  pending: End[];
  end: End;
  isUp: boolean;
  executed: Slot;
  epoch: Ballot;
  needsCopy: boolean;
}

/** In the order of the steps, with the index of the step that each is of. */
export type PrimaryRunEvent = RecordedEvent & { readonly of: number };

export function primaryRunOf(steps: readonly PrimaryStep[]): readonly PrimaryRunEvent[] {
  const lives = new Map<ReplicaId, Life>();
  return steps.flatMap(({ replica, run, step }, of) => {
    const last = lives.get(replica);
    const isNext = last === undefined || last.run !== run;
    const life = isNext ? beginLife(steps, of, last) : last;
    lives.set(replica, life);
    const end = isNext && last !== undefined ? [crashOf(last, step, life.executed)] : [];
    return [...end, eventOf(life, step)].map((event) => Object.assign({ replica, of }, event));
  });
}

function beginLife(steps: readonly PrimaryStep[], from: number, last: Life | undefined): Life {
  const { run, step } = steps[from]!;
  return {
    run,
    pending: [],
    end: { lastSlot: step.state.lastSlot, lastEpoch: step.state.lastEpoch },
    isUp: false,
    executed: keptAt(steps, from) ?? last?.executed ?? (0 as Slot),
    epoch: step.state.promised,
    needsCopy: step.state.needsCopy,
  };
}

/** What the database had when the life began: before the first entry that it was given, or as it is told of first. */
function keptAt(steps: readonly PrimaryStep[], from: number): Slot | null {
  const { run } = steps[from]!;
  const first = steps.slice(from).find((told) => told.run === run && told.step.state.pushedTo > 0);
  if (first === undefined) return null;
  const { name, state } = first.step;
  return (name === 'PushToDatabase' ? state.pushedTo - 1 : state.pushedTo) as Slot;
}

/** Between the last word of a life and the first of the next one. */
function crashOf(life: Life, { state }: PrimaryTraceEvent, executed: Slot): PrimaryTraceEvent {
  const groups = life.pending.findLastIndex(
    ({ lastSlot, lastEpoch }) => lastSlot === state.lastSlot && sameBallot(lastEpoch, state.lastEpoch),
  );
  return {
    name: 'Crash',
    epoch: state.promised,
    groups: groups + 1,
    slot: executed,
    state: { ...state, needsCopy: life.needsCopy, pushedTo: 0 as Slot },
  };
}

const writing: ReadonlySet<PrimaryTraceEvent['name']> = new Set(['TakeOver', 'LogOperation']);

function eventOf(life: Life, step: PrimaryTraceEvent): PrimaryTraceEvent {
  const { name, state, groups = 0 } = step;
  const { lastSlot, lastEpoch, pushedTo } = state;
  // A copy writes what it has not, or an epoch that is new to it.
  const isOther =
    lastSlot !== life.end.lastSlot ||
    !sameBallot(lastEpoch, life.end.lastEpoch) ||
    !sameBallot(state.promised, life.epoch);
  if (writing.has(name) || (name === 'ReceiveOperations' && isOther))
    life.pending.push({ lastSlot, lastEpoch });
  if (name === 'Fsync') life.pending.splice(0, groups);
  if (name === 'BeginAnew') life.executed = 0 as Slot;
  if (pushedTo > 0 || name === 'BeginAnew') life.isUp = true;
  if (life.isUp) life.executed = pushedTo;
  life.epoch = state.promised;
  life.end = { lastSlot, lastEpoch };
  life.needsCopy = state.needsCopy;
  return life.isUp ? step : { ...step, state: { ...state, pushedTo: life.executed } };
}
