/**
 * What a trace says of the lease in spite of what it says elsewhere: such a trace is rejected before a judge is asked.
 *
 * Responsible for: that each event is one that the replica of its run tells (lease-form.ts); that each promise, leadership, change of the members and resignation of the consensus layer is told once in the layer of the lease, and no other; that a process's clock never goes back; that a lease rests on
 * acknowledgements that were heard; and that answers are of generations that had begun, and wait for a barrier where the layer `apply` says that a commit's wait was ended. What a process did last may be lost with it. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent } from '../trace/apply-event.ts';
import type { ConsensusEvent } from '../trace/read-trace.ts';
import type { LeaseEvent } from './lease-event.ts';
import { malformedLease, namesOfRuns } from './lease-form.ts';

export interface LeaseContradiction {
  readonly event: TraceEvent;
  readonly reason: string;
}

/** The earliest of each run's is looked for, run by run. */
export function leaseContradiction(events: readonly TraceEvent[]): LeaseContradiction | null {
  const runs = new Map<string, TraceEvent[]>();
  for (const event of events) {
    const run = runs.get(event.run) ?? [];
    runs.set(event.run, run);
    run.push(event);
  }
  const names = namesOfRuns(events);
  for (const [name, run] of runs) {
    const reader = new RunReader(names.get(name) ?? null);
    for (const event of run.sort((a, b) => a.seq - b.seq)) {
      const reason = reader.read(event);
      if (reason !== null) return { event, reason };
    }
  }
  return null;
}

/** Told once for something that the consensus layer does in the same step. */
type Announced = Extract<LeaseEvent, { name: 'Restart' | 'GivePromise' | 'Lead' | 'Learn' | 'Resign' }>;

class RunReader {
  /** Waits for its event of the consensus layer. */
  private announced: Announced | null = null;
  private heard: Ballot | null = null;
  private before: ConsensusEvent['state'] | null = null;
  private begun = false;
  /** Of a configuration that this leader must tell next. */
  private toLearn: number | null = null;
  private clockMs = Number.NEGATIVE_INFINITY;
  private readonly generations = new Map<number, number>();
  /** When the last answer of a generation was told to leave, or to be refused. */
  private readonly told = new Map<string, number>();
  /** Of this leadership: what each peer was told to have acknowledged. */
  private readonly acked = new Map<string, number>();
  /** The wait of a commit was ended, and no barrier has been passed since: what is seen may not be chosen. */
  private waitsForBarrier = false;
  /** Null: nobody says. */
  private readonly replica: string | null;

  constructor(replica: string | null) {
    this.replica = replica;
  }

  read(event: TraceEvent): string | null {
    switch (event.layer) {
      case 'lease':
        return this.lease(event);
      case 'consensus':
        return this.consensus(event);
      case 'apply':
        this.apply(event);
        return null;
      case 'protocol':
      case 'operation':
        return null;
      default:
        return event satisfies never;
    }
  }

  private apply({ name }: ApplyEvent): void {
    if (name === 'EndWait') this.waitsForBarrier = true;
    if (name === 'Barrier') this.waitsForBarrier = false;
  }

  private lease(event: LeaseEvent & TraceEvent): string | null {
    const malformed = malformedLease(event);
    if (malformed !== null) return malformed;
    if (this.replica !== null && event.replica !== this.replica)
      return `it is told by ${event.replica} in a run of ${this.replica}`;
    const { clockMs, name } = event;
    if (clockMs < this.clockMs) return `its clock goes back to ${clockMs}`;
    this.clockMs = clockMs;
    if (this.begun === (name === 'Restart')) return this.begun ? 'it begins twice' : 'it has not begun';
    this.begun = true;
    if (this.announced !== null) return `${this.announced.name} came before it, and did not happen`;
    if (name !== 'Learn' && this.toLearn !== null) return this.notLearnt();
    switch (event.name) {
      case 'Learn':
        if (event.lease.configuration !== this.toLearn) return 'nothing was chosen that it could have learnt';
        this.toLearn = null;
        return null;
      case 'Lead':
        this.acked.clear();
        this.announced = event;
        return null;
      case 'Restart':
      case 'GivePromise':
      case 'Resign':
        this.announced = event;
        return null;
      case 'HandleHeartbeat':
        this.heard = event.ballot;
        return null;
      case 'HandleResigned':
        return null;
      case 'HandleHeartbeatAck': {
        const { from, sentAtMs, lease } = event;
        const isThere = lease.acked.some(([peer, at]) => peer === from && at === sentAtMs);
        if (!isThere) return `what ${from} has acknowledged is not in its lease`;
        const isNewer = sentAtMs > (this.acked.get(from) ?? Number.NEGATIVE_INFINITY);
        this.acked.set(from, sentAtMs);
        return isNewer ? null : `${from} had acknowledged that already`;
      }
      case 'RunRead':
        if (this.generations.has(event.generation)) return `generation ${event.generation} begins twice`;
        this.generations.set(event.generation, clockMs);
        this.waitsForBarrier = false;
        return null;
      case 'AnswerRead':
      case 'RefuseAnswer':
        return this.reply(event);
      default:
        return event satisfies never;
    }
  }

  private consensus(event: ConsensusEvent): string | null {
    if (this.toLearn !== null) return this.notLearnt();
    const { before } = this;
    this.before = event.state;
    const { name, state } = event;
    switch (name) {
      case 'Restart':
        return this.wasAnnounced('Restart', ({ promised }) => sameBallot(promised, state.durablePromised));
      case 'StartElection':
        return this.wasAnnounced('GivePromise', ({ ballot }) => sameBallot(ballot, state.promised));
      case 'HandlePrepare':
        if (before !== null && compareBallots(state.promised, before.promised) <= 0) return null;
        return this.wasAnnounced('GivePromise', ({ ballot }) => sameBallot(ballot, state.promised));
      case 'BecomeLeader':
        return this.wasAnnounced(
          'Lead',
          ({ lease }) =>
            sameBallot(lease.ballot, state.ballot) && lease.configuration === state.configuration,
        );
      case 'StepDown':
      case 'HandleReject':
        if (before?.role !== 'leader') return null;
        return this.wasAnnounced(
          'Resign',
          ({ ballot, reason }) => sameBallot(ballot, before.ballot) && reason === event.reason,
        );
      case 'HandleAccept':
      case 'HandleHeartbeat': {
        const { message } = event;
        const isGiven =
          message === undefined || (this.heard !== null && sameBallot(this.heard, message.ballot));
        return isGiven ? null : `it hears its leader, and does not tell that it gave it its word`;
      }
      case 'AdvanceCommitPoint':
        if (before !== null && state.role === 'leader' && state.configuration > before.configuration)
          this.toLearn = state.configuration;
        return null;
      case 'HandlePromise':
      case 'Propose':
      case 'HandleAccepted':
      case 'HandleCatchUpReply':
      case 'Serve':
      case 'Reconfigure':
      case 'LearnConfiguration':
      case 'Restored':
      case 'Fsync':
      case 'Crash':
        return null;
      default:
        return name satisfies never;
    }
  }

  /** Of those of one moment no more than one is told. */
  private reply(event: Extract<LeaseEvent, { name: 'AnswerRead' | 'RefuseAnswer' }>): string | null {
    const { name, generation, clockMs } = event;
    const begunMs = this.generations.get(generation);
    if (begunMs === undefined) return `generation ${generation} has not begun`;
    const key = `${name} ${generation}`;
    if (this.told.get(key) === clockMs) return 'it is told twice';
    this.told.set(key, clockMs);
    const unheard = event.lease?.acked.find(([peer]) => !this.acked.has(peer));
    if (unheard !== undefined) return `its lease rests on ${unheard[0]}, who has acknowledged nothing`;
    if (name === 'RefuseAnswer') return null;
    if (this.waitsForBarrier) return 'a wait was ended before it, and no barrier has been passed since';
    return event.ranMs >= begunMs && event.ranMs <= clockMs ? null : 'it ran outside of its generation';
  }

  private notLearnt(): string {
    return `a leader does not tell that it counts by configuration ${this.toLearn}`;
  }

  private wasAnnounced<Name extends Announced['name']>(
    name: Name,
    fits: (event: Extract<Announced, { name: Name }>) => boolean,
  ): string | null {
    const { announced } = this;
    this.announced = null;
    if (announced?.name === name && fits(announced as Extract<Announced, { name: Name }>)) return null;
    return `the layer of the lease does not tell it as ${name}`;
  }
}
