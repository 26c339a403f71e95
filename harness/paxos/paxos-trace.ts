/**
 * Holds a recorded run of a group, simulated or of processes, to specs/Paxos.tla, step by step (specs/TracePaxos.tla says what is asserted).
 *
 * Responsible for: turning the events of the replicas into steps of the spec. Replicas, ballots and entries get the spec's names; an Apply is one step for each
 * slot; how many records a flush covers counts purges, which the core does not write itself.
 */
import type { Ballot, ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { TracedSlot } from '../../server/src/paxos/types/trace.ts';
import type { RecordedModel } from '../conformance/judge/recorded-model.ts';
import { type JudgeName, judges } from '../conformance/judge/judges.ts';
import type { ReplicaEvent } from './simulated-replica.ts';

type Fields = ReplicaEvent['event'];

export interface TraceVerdict {
  readonly steps: number;
  /** The first step that the spec does not allow, as it was recorded; null: it allows all. */
  readonly refused: ReplicaEvent | null;
}

export async function judgePaxosTrace(
  events: readonly ReplicaEvent[],
  replicas: number,
  judge: JudgeName = 'typescript',
): Promise<TraceVerdict> {
  const steps = new StepMaker(replicas).steps(events);
  const printed = await judges[judge](modelOf(steps, replicas));
  const reached = Math.max(...[...printed.matchAll(/^\d+$/gm)].map(([line]) => Number(line)));
  return { steps: steps.length, refused: reached > steps.length ? null : steps[reached - 1]!.of };
}

interface Step {
  readonly literal: string;
  readonly of: ReplicaEvent;
  readonly lastSlot: Slot;
}

function modelOf(steps: readonly Step[], replicas: number): RecordedModel {
  const lastSlot = Math.max(1, ...steps.map((step) => step.lastSlot));
  return {
    module: 'TracePaxosRun',
    text: `---- MODULE TracePaxosRun ----
EXTENDS TracePaxosData, TracePaxos
RunNext == TraceNext(Events)
RunSpec == TraceInit /\\ [][RunNext]_traceVars
====
`,
    data: {
      module: 'TracePaxosData',
      name: 'Events',
      literal: `<<\n${steps.map(({ literal }) => literal).join(',\n')}\n>>`,
    },
    specs: ['Paxos', 'Consensus', 'TracePaxos'],
    config: `SPECIFICATION RunSpec
CONSTANTS
  Replicas = {${Array.from({ length: replicas }, (_, i) => i + 1).join(', ')}}
  Ballots = {}
  MaxSlot = ${lastSlot}
  MaxRequests = 1000000
  WindowSlots = 1000000
  MaxCrashes = 1000000
  MaxLosses = 1000000
  ToldDone <- EverDone
INVARIANT Progress
CHECK_DEADLOCK FALSE
`,
  };
}

/** What is known of one replica while its events are read. */
interface Reading {
  /** Of its database. */
  done: number;
  purgedTo: number;
  labels: ReadonlyMap<Slot, string | null>;
  /** What it has handed to the log and not flushed: records, and purges. */
  unflushed: ('record' | 'purge')[];
  isDown: boolean;
}

class StepMaker {
  private readonly readings: Reading[];
  /** Proposals are counted in the order in which they are placed first. */
  private readonly entries = new Map<string, string>();
  private readonly counts: number[];

  constructor(replicas: number) {
    this.readings = Array.from({ length: replicas }, () => ({
      done: 0,
      purgedTo: 0,
      labels: new Map(),
      unflushed: [],
      isDown: false,
    }));
    this.counts = this.readings.map(() => 0);
  }

  steps(events: readonly ReplicaEvent[]): Step[] {
    return events.flatMap((of) => this.stepsOf(of));
  }

  private stepsOf(of: ReplicaEvent): Step[] {
    const { event, replica } = of;
    const reading = this.readings[numberOf(replica) - 1]!;
    const made = this.fieldsOf(event, replica, reading);
    if (event.state !== undefined) {
      reading.purgedTo = event.state.purgedTo;
      reading.labels = new Map(event.state.slots.map(({ slot, label }) => [slot, label]));
    }
    return made.map((fields, i) => this.step(of, fields, i === made.length - 1));
  }

  /** The steps of one event: none where it changes nothing of what the spec has. */
  private fieldsOf(event: Fields, replica: ReplicaId, reading: Reading): Fields[] {
    const { name, upTo = 0 as Slot } = event;
    switch (name) {
      case 'Propose':
        this.nameEntry(event.label!, replica);
        return [event];
      case 'StartBallot':
      case 'StartAccept':
      case 'HandlePrepare':
      case 'HandleAccept':
        reading.unflushed.push('record');
        return [event];
      case 'HandleCatchUpReply':
        if (reading.labels.get(event.slot!) !== event.label) reading.unflushed.push('record');
        return [event];
      case 'Purge':
        reading.unflushed.push('purge');
        return [event];
      case 'Fsync':
        return [{ ...event, records: takeFlushed(reading, event) }];
      case 'Apply': {
        const count = Math.max(0, upTo - reading.done);
        reading.done = Math.max(reading.done, upTo);
        return Array.from({ length: count }, () => event);
      }
      case 'Restored': {
        const movesBase = event.state!.purgedTo > reading.purgedTo;
        const isNews = movesBase || upTo !== reading.done;
        if (movesBase) reading.unflushed.push('record');
        reading.done = upTo;
        return isNews ? [event] : [];
      }
      case 'LoseDatabase':
        reading.done = 0;
        return [event];
      case 'Crash':
        reading.unflushed = [];
        reading.isDown = true;
        return [event];
      case 'Restart': {
        // The first life begins with the group.
        const isAnother = reading.isDown;
        reading.isDown = false;
        return isAnother ? [event] : [];
      }
      case 'Decide':
      case 'HandleDone':
      case 'HandleLearn':
      case 'HandleReject':
        return [event];
      default:
        return name satisfies never;
    }
  }

  private nameEntry(label: string, replica: ReplicaId): void {
    if (this.entries.has(label)) return;
    const number = numberOf(replica);
    this.counts[number - 1]! += 1;
    this.entries.set(label, entryLiteral('command', number, this.counts[number - 1]!));
  }

  private entry(label: string | null | undefined): string {
    if (label == null) return entryLiteral('nothing', 0, 0);
    if (label === 'noop') return entryLiteral('noop', 0, 0);
    const known = this.entries.get(label);
    if (known === undefined) throw new Error(`nobody has proposed ${label}`);
    return known;
  }

  private step(of: ReplicaEvent, event: Fields, isLast: boolean): Step {
    const { state, name, slot = 0, promisers = [], from, upTo = 0, records = 0 } = event;
    const slots = (state?.slots ?? []).map((held) => this.slotLiteral(held));
    const literal = `[name |-> "${name}", replica |-> ${numberOf(of.replica)}, slot |-> ${slot}, ballot |-> ${ballotLiteral(event.ballot)}, entry |-> ${this.entry(event.label)}, promisers |-> {${promisers.map(numberOf).join(', ')}}, from |-> ${from === undefined ? 0 : numberOf(from)}, upTo |-> ${upTo}, records |-> ${records}, says |-> ${isLast && state !== undefined ? 'TRUE' : 'FALSE'}, commitPoint |-> ${state?.commitPoint ?? 0}, purged |-> ${state?.purgedTo ?? 0}, slots |-> <<${slots.join(', ')}>>]`;
    const lastSlot = Math.max(slot, upTo, ...(state?.slots ?? []).map((held) => held.slot)) as Slot;
    return { literal, of, lastSlot };
  }

  private slotLiteral({ slot, promised, ballot, label, decided, own, phase }: TracedSlot): string {
    return `[slot |-> ${slot}, promised |-> ${ballotLiteral(promised)}, ballot |-> ${ballotLiteral(ballot)}, entry |-> ${this.entry(label)}, decided |-> ${decided ? 'TRUE' : 'FALSE'}, own |-> ${this.entry(own)}, phase |-> "${phase}"]`;
  }
}

/** How much of what was appended the flush covers: what the core counts are its own records; of what it did not live to hear of, all is counted. */
function takeFlushed(reading: Reading, { records = 0, state }: Fields): number {
  let taken = 0;
  for (let left = records; left > 0; taken += 1) {
    // More than was appended: the spec refuses that.
    if (taken >= reading.unflushed.length) return taken + left;
    if (state === undefined || reading.unflushed[taken] === 'record') left -= 1;
  }
  reading.unflushed.splice(0, taken);
  return taken;
}

function numberOf(replica: ReplicaId): number {
  return Number(replica.slice(1));
}

function ballotLiteral(ballot: Ballot | null | undefined): string {
  return ballot == null ? '<<0, 0>>' : `<<${ballot.round}, ${numberOf(ballot.replica)}>>`;
}

function entryLiteral(kind: string, replica: number, id: number): string {
  return `[kind |-> "${kind}", replica |-> ${replica}, id |-> ${id}]`;
}
