/**
 * One replica's real core, led by the actions of a behaviour of Lease: each becomes the input that means it.
 *
 * Responsible for: the inputs, and what is compared. Only its own clock moves it: election timers are set where the behaviour has it stand, and never run out otherwise. What it writes is
 * durable at once, since Lease knows no disk.
 */
import { leaseForbids } from '../../../../server/src/multipaxos/lease.ts';
import { createState, step, type State } from '../../../../server/src/multipaxos/step.ts';
import type { CoreConfig, Input } from '../../../../server/src/multipaxos/types/effects.ts';
import type { Message } from '../../../../server/src/multipaxos/types/messages.ts';
import type { Ballot, ReplicaId, Slot } from '../../../../server/src/multipaxos/types/names.ts';
import { createDisk } from '../core-disk.ts';
import { founding, nameOfNumber } from '../replay-members.ts';
import { replayGroup } from '../spec-view.ts';
import type { LeaseAction, LeaseView } from './lease-view.ts';

/** `LeaseLength`, and 1 - `Slow` / `Fast`, of ReplayLease.cfg. */
const leaseMs = 8;
const clockDriftMax = 1 / 4;
/** The waits of a first life are over then. */
const beginMs = 100;
const never = 1e9;
const noSlot = 0 as Slot;
/** Whoever it is stands in a step of its own. */
const nobody = '' as ReplicaId;

/** What a clock of the behaviour shows, in the core's time. */
export function coreTimeMs(clock: number): number {
  return beginMs + clock;
}

type InputWithoutTime = Input extends infer Each ? (Each extends Input ? Omit<Each, 'nowMs'> : never) : never;

function configOf(id: ReplicaId): CoreConfig {
  return {
    group: replayGroup,
    id,
    // Whenever it looks.
    heartbeatMs: 0,
    electionTimeoutMinMs: never,
    electionTimeoutMaxMs: never,
    leaseMs,
    clockDriftMax,
    retransmitMs: never,
    windowSlotsMax: 1000,
    windowBytesMax: never,
    acceptBatchBytesMax: never,
    catchUpSlotsMax: 1000,
    trace: 'none',
  };
}

export class LeaseDriver {
  private readonly number: number;
  private readonly config: CoreConfig;
  private readonly disk = createDisk();
  private readonly owner: (ballot: number) => number;
  private state: State;
  private nowMs = beginMs;

  constructor(number: number, owner: (ballot: number) => number) {
    this.number = number;
    this.owner = owner;
    this.config = configOf(nameOfNumber(number));
    this.state = createState(this.config, this.disk.recovered(), beginMs - leaseMs, 0);
  }

  /** What its clock shows now. */
  pass(clock: number): void {
    this.nowMs = coreTimeMs(clock);
    this.give({ kind: 'Trace', level: 'none' });
  }

  /** `promisedBy`: who has promised the ballot of the action. @returns what it sent */
  take(action: LeaseAction, promisedBy: readonly number[]): readonly Message[] {
    const { name, ballot, from } = action;
    const common = { group: replayGroup, ballot: this.ballot(ballot), commitPoint: noSlot };
    const sentAtMs = coreTimeMs(action.sentAt);
    switch (name) {
      case 'Heartbeat':
        return this.give({ kind: 'Tick', random: 0 });
      case 'HandleHeartbeat': {
        const told = { globalApplicationPointer: noSlot, configuration: founding };
        return this.receive(from, { kind: 'Heartbeat', ...common, sentAtMs, ...told });
      }
      case 'HandleHeartbeatAck':
        return this.receive(from, {
          kind: 'HeartbeatAck',
          ...common,
          sentAtMs,
          durableApplicationPointer: noSlot,
        });
      case 'GivePromise':
        if (this.owner(ballot) === this.number) return this.stand(ballot);
        return this.receive(this.owner(ballot), { kind: 'Prepare', ...common });
      case 'Lead':
        return promisedBy.flatMap((voter) =>
          this.receive(voter, { kind: 'Promise', ...common, configuration: founding, votes: [] }),
        );
      case 'Resign':
        return this.give({ kind: 'StepDown', reason: 'requested' });
      case 'HandleResigned':
        return this.receive(from, {
          kind: 'Resigned',
          group: replayGroup,
          ballot: this.ballot(ballot),
          successor: nobody,
        });
      case 'Restart':
        this.state = createState(this.config, this.disk.recovered(), this.nowMs, 0);
        return this.give({ kind: 'Applied', slot: noSlot, durableSlot: noSlot });
      default:
        throw new Error(`Lease has an action ${name} that has no input`);
    }
  }

  /** Whoever leads gives up first; the others would grant its election. */
  private stand(ballot: number): readonly Message[] {
    if (this.state.leadership !== null) this.give({ kind: 'StepDown', reason: 'requested' });
    this.state.highestRound = ballot - 1;
    this.state.electionDeadlineMs = this.nowMs;
    this.state.quarantineUntilMs = this.nowMs;
    this.give({ kind: 'Tick', random: 0 });
    return this.state.roster.voters
      .filter((voter) => voter !== this.config.id && this.state.preVote !== null)
      .flatMap((voter) => {
        const asked = { group: replayGroup, ballot: this.ballot(ballot), configuration: founding };
        return this.give({
          kind: 'Receive',
          from: voter,
          message: { kind: 'PreVoteReply', ...asked, granted: true },
        });
      });
  }

  private ballot(round: number): Ballot {
    return { round, replica: nameOfNumber(this.owner(round)) };
  }

  private receive(from: number, message: Message): readonly Message[] {
    return this.give({ kind: 'Receive', from: nameOfNumber(from), message });
  }

  /** And whatever becomes durable by it. */
  private give(input: InputWithoutTime): readonly Message[] {
    const { state, effects } = step(this.state, { ...input, nowMs: this.nowMs });
    this.state = state;
    const sent = effects.flatMap((effect) => (effect.kind === 'send' ? [effect.message] : []));
    const last = effects.findLast(({ kind }) => kind === 'persist');
    for (const effect of effects)
      if (effect.kind === 'persist') for (const record of effect.records) this.disk.write(record);
    return last?.kind === 'persist' ? [...sent, ...this.give({ kind: 'Persisted', seq: last.seq })] : sent;
  }

  view(others: readonly number[]): LeaseView {
    const { state, nowMs } = this;
    const { leadership } = state;
    const isKept = state.leaseGrantedUntilMs > nowMs;
    return {
      promised: state.promised.round,
      leading: leadership?.ballot.round ?? 0,
      grant: isKept
        ? { until: state.leaseGrantedUntilMs - beginMs, to: state.leaseGrantedTo }
        : { until: 0, to: null },
      acked: (leadership?.peers ?? [])
        .filter(({ ackedSentAtMs }) => ackedSentAtMs > Number.NEGATIVE_INFINITY)
        .map(({ id, ackedSentAtMs }) => `${id} ${ackedSentAtMs - beginMs}`)
        .sort(),
      forbids: others.map(nameOfNumber).filter((candidate) => leaseForbids(state, candidate)),
      holds: leadership !== null && nowMs < leadership.leaseUntilMs,
    };
  }
}
