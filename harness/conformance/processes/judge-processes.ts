/**
 * Holds what real processes recorded of their cores of Paxos, or of a primary and its copies, to specs/Paxos.tla and specs/PrimaryCopies.tla; and what is altered in one place, which must be refused.
 *
 * Responsible for: the verdict, with the event that the specification does not allow. How steps are put together is lives.ts and its neighbours.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { PaxosTraceEvent } from '../../../server/src/paxos/types/trace.ts';
import type { PrimaryTraceEvent } from '../../../server/src/primary/types/trace.ts';
import { judgePaxosTrace } from '../../paxos/paxos-trace.ts';
import type { JudgeName } from '../judge/judges.ts';
import { refusedEvent } from '../primary/primary-trace.ts';
import { NothingToAlterError } from '../trace/nothing-to-alter.ts';
import { type ProtocolEvent, stepsOf, type ToldStep } from './lives.ts';
import { paxosRunOf } from './paxos-lives.ts';
import { primaryRunOf } from './primary-lives.ts';

export interface ProcessVerdict {
  readonly protocol: 'Paxos' | 'PrimaryCopies';
  readonly steps: number;
  /** How often each action was taken. */
  readonly actions: ReadonlyMap<string, number>;
  /** What the specification does not allow, as it was recorded or put in; null: it allows all. */
  readonly refused: unknown;
  /** Where that is; null: all is allowed. */
  readonly refusedAt: RefusedAt | null;
}

export interface RefusedAt {
  readonly action: string;
  readonly replica: string;
  /** Counts from 1 among the steps that were told. */
  readonly number: number;
  /** What was told; an end of a life, which nobody tells, was put in ahead of it. */
  readonly told: ProtocolEvent;
}

/** What a host keeps of the log for copies that lag (primary-host.ts). */
const keepSlots = 32_768;

/** @throws Error if the trace has gaps, or is too long */
export async function judgeProcesses(
  events: readonly TraceEvent[],
  judge: JudgeName = 'typescript',
): Promise<ProcessVerdict> {
  return protocolOf(events) === 'Paxos' ? judgePaxos(events, judge) : judgePrimary(events, judge);
}

/** Of processes that have another core than Multi-Paxos. */
export function protocolOf(events: readonly TraceEvent[]): ProcessVerdict['protocol'] {
  return events.some(({ name }) => name === 'PaxosStep') ? 'Paxos' : 'PrimaryCopies';
}

async function judgePaxos(events: readonly TraceEvent[], judge: JudgeName): Promise<ProcessVerdict> {
  const { members, steps } = stepsOf<PaxosTraceEvent>(events, 'PaxosStep');
  const run = paxosRunOf(steps);
  const { refused, steps: count } = await judgePaxosTrace(run, members.length, judge);
  // The same one that was given.
  const one = run.find((each) => each === refused);
  return {
    protocol: 'Paxos',
    steps: count,
    actions: counted(run.map(({ event }) => event.name)),
    refused,
    refusedAt: one === undefined ? null : refusedAt(steps, one.of, one.event.name),
  };
}

async function judgePrimary(events: readonly TraceEvent[], judge: JudgeName): Promise<ProcessVerdict> {
  const { members, steps } = stepsOf<PrimaryTraceEvent>(events, 'PrimaryStep');
  const run = primaryRunOf(steps);
  const refused = await refusedEvent(run, members.length, { judge, keepSlots });
  const one = run.find((each) => each === refused?.event);
  return {
    protocol: 'PrimaryCopies',
    steps: run.length,
    actions: counted(run.map(({ name }) => name)),
    refused: refused?.event ?? null,
    refusedAt: one === undefined ? null : refusedAt(steps, one.of, one.name),
  };
}

function refusedAt(steps: readonly ToldStep<unknown>[], of: number, action: string): RefusedAt {
  const { replica, told } = steps[of]!;
  return { action, replica, number: of + 1, told };
}

function counted(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** @param place which of the steps that could be altered: 0 is the middle one, and from there on outwards. @throws NothingToAlterError if there are not so many */
type Alter = (events: readonly TraceEvent[], place?: number) => readonly TraceEvent[];

/** A step of a name is another, or is left out (null). The numbers of events stay without a gap, so that it is the specification that refuses. */
function alterStep<Step extends { readonly name: string }>(
  name: Step['name'],
  alter: (step: Step) => Step | null,
): Alter {
  return (events, place = 0) => {
    const places = events.flatMap((event, index) =>
      event.layer === 'protocol' && event.step.name === name ? [index] : [],
    );
    const away = Math.ceil(place / 2);
    const at = places[Math.floor(places.length / 2) + (place % 2 === 0 ? away : -away)];
    if (at === undefined) throw new NothingToAlterError(`there is no ${name} at place ${place}`);
    const event = events[at] as ProtocolEvent;
    const step = alter(event.step as Step);
    const altered: TraceEvent =
      step === null
        ? ({
            ...event,
            layer: 'operation',
            name: 'FaultChanged',
            description: 'left out',
          } as unknown as TraceEvent)
        : { ...event, step };
    return events.with(at, altered);
  };
}

const plus = <N extends number>(value: N | undefined, more: number): N => ((value ?? 0) + more) as N;

/** What each shows, and how. */
export const processAlterations: Readonly<
  Record<'Paxos' | 'PrimaryCopies', Readonly<Record<string, Alter>>>
> = {
  Paxos: {
    'a vote that nobody told': alterStep<PaxosTraceEvent>('HandleAccept', () => null),
    'a promise that nobody told': alterStep<PaxosTraceEvent>('HandlePrepare', () => null),
    'a flush that nobody told': alterStep<PaxosTraceEvent>('Fsync', () => null),
    'a flush of more than was written': alterStep<PaxosTraceEvent>('Fsync', (step) => ({
      ...step,
      records: plus(step.records, 50),
    })),
    'a decision by too few promises': alterStep<PaxosTraceEvent>('StartAccept', (step) => ({
      ...step,
      promisers: step.promisers!.slice(0, 1),
    })),
    'a commit point that is ahead': alterStep<PaxosTraceEvent>('HandleLearn', (step) => ({
      ...step,
      state: { ...step.state, commitPoint: plus(step.state.commitPoint, 1) },
    })),
    'a ballot that nobody began': alterStep<PaxosTraceEvent>('HandlePrepare', (step) => ({
      ...step,
      ballot: { ...step.ballot!, round: step.ballot!.round + 77 },
    })),
  },
  PrimaryCopies: {
    'an operation that nobody ordered': alterStep<PrimaryTraceEvent>('LogOperation', () => null),
    'a flush that nobody told': alterStep<PrimaryTraceEvent>('Fsync', () => null),
    'a copy that tells of more than it has': alterStep<PrimaryTraceEvent>('TellReceived', (step) => ({
      ...step,
      slot: plus(step.slot, 1),
    })),
    'an answer to what was not ordered': alterStep<PrimaryTraceEvent>('Acknowledge', (step) => ({
      ...step,
      slot: plus(step.slot, 50),
    })),
    'a log that ends elsewhere': alterStep<PrimaryTraceEvent>('ReceiveOperations', (step) => ({
      ...step,
      state: { ...step.state, lastSlot: plus(step.state.lastSlot, 1) },
    })),
    'a database that was given more': alterStep<PrimaryTraceEvent>('PushToDatabase', (step) => ({
      ...step,
      state: { ...step.state, pushedTo: plus(step.state.pushedTo, 1) },
    })),
  },
};

/** Some steps are nobody's loss: a vote beyond the majority, a flush that nobody waited for. */
const placesMax = 8;

/** Of each alteration that there is something for: whether it is refused in one of several places. */
export async function refusedAlterations(
  events: readonly TraceEvent[],
  protocol: ProcessVerdict['protocol'],
): Promise<ReadonlyMap<string, boolean>> {
  const found = new Map<string, boolean>();
  for (const [shows, alter] of Object.entries(processAlterations[protocol])) {
    for (let place = 0; place < placesMax && found.get(shows) !== true; place += 1) {
      const altered = alteredAt(alter, events, place);
      if (altered === null) break;
      found.set(shows, (await judgeProcesses(altered)).refused !== null);
    }
  }
  return found;
}

function alteredAt(alter: Alter, events: readonly TraceEvent[], place: number): readonly TraceEvent[] | null {
  try {
    return alter(events, place);
  } catch (error) {
    if (error instanceof NothingToAlterError) return null;
    throw error;
  }
}
