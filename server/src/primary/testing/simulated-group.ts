/**
 * A group in a world that loses, doubles, delays and reorders messages, parts the replicas, and crashes them; all from one seed.
 *
 * Responsible for: time, the network, faults, clients, and what is written down for the checkers (checkers.ts). What a seed does it does again.
 */
import { ballotNone, sameBallot } from '../../multipaxos/ballot.ts';
import { entryLabel } from '../../multipaxos/entry.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { isServing } from '../step.ts';
import type { Effect, Level, PrimaryConfig } from '../types/effects.ts';
import type { Message } from '../types/messages.ts';
import type { PrimaryTraceEvent } from '../types/trace.ts';
import { type SentCopy, SimulatedReplica } from './simulated-replica.ts';

export interface Acknowledged {
  readonly label: string;
  readonly slot: Slot;
  readonly level: Level;
  readonly epoch: Ballot;
  readonly by: ReplicaId;
}

export type RecordedEvent = PrimaryTraceEvent & { readonly replica: ReplicaId };

export interface SimulationOptions {
  readonly seed: number;
  readonly replicas: number;
  readonly levels: readonly Level[];
  readonly config?: Partial<PrimaryConfig>;
  /** Of messages, from 0 to 1. */
  readonly loss?: number;
  /** How many clients' operations there are at most. */
  readonly operations?: number;
  /** A database that needs a copy is thrown away, where the log reaches back to the beginning: with this chance in each millisecond. */
  readonly beginsAnew?: number;
  /** Alters messages and effects on their way: a planted bug. */
  readonly plant?: (group: SimulatedGroup, replica: SimulatedReplica, effect: Effect) => Effect | null;
}

const TICK_MS = 5;

export class SimulatedGroup {
  readonly replicas: readonly SimulatedReplica[];
  readonly acknowledged: Acknowledged[] = [];
  /** Operations that were proposed and have no answer, and since when. */
  readonly unanswered = new Map<string, { readonly by: ReplicaId; readonly sinceMs: number }>();
  readonly timedOut: string[] = [];
  readonly events: RecordedEvent[] = [];
  /** What a primary's log held when it took over: epoch, and labels from `from` on. */
  readonly beginnings: { readonly epoch: Ballot; readonly from: Slot; readonly labels: readonly string[] }[] =
    [];
  transfers = 0;
  nowMs = 0;
  isHealed = false;
  /** Clients ask for nothing. */
  isQuiet = false;
  private readonly random: () => number;
  private readonly options: SimulationOptions;
  private readonly messages: { atMs: number; from: ReplicaId; to: ReplicaId; message: Message }[] = [];
  private readonly copies: { atMs: number; to: ReplicaId; copy: SentCopy }[] = [];
  private wanted: ReplicaId | null = null;
  private parted = new Set<ReplicaId>();
  private readonly downUntilMs = new Map<ReplicaId, number>();
  private count = 0;
  /** What a host gives the core when the step is done. */
  private readonly later: (() => void)[] = [];

  constructor(options: SimulationOptions) {
    this.options = options;
    this.random = randomOf(options.seed);
    const ids = Array.from({ length: options.replicas }, (_, i) => `r${i + 1}` as ReplicaId);
    this.replicas = ids.map(
      (id) => new SimulatedReplica(this.configOf(id, ids), (replica, effect) => this.hear(replica, effect)),
    );
    for (const replica of this.replicas) replica.start(0, this.random());
  }

  private configOf(id: ReplicaId, replicas: readonly ReplicaId[]): PrimaryConfig {
    return {
      group: 'g' as GroupId,
      id,
      replicas,
      replication: 'semi',
      heartbeatMs: 20,
      failureTimeoutMs: 100,
      retransmitMs: 40,
      acknowledgeMsMax: 400,
      pauseMsMax: 300,
      dropSilentCopies: true,
      promoteAloneRiskingSplitBrain: false,
      windowSlotsMax: 16,
      windowBytesMax: 100_000,
      batchBytesMax: 300,
      keepSlots: 8,
      keepBytesMax: 100_000,
      isTold: true,
      ...this.options.config,
    };
  }

  /** Runs until `untilMs`, with faults unless it is healed. */
  run(untilMs: number): void {
    while (this.nowMs < untilMs) {
      this.nowMs += 1;
      if (!this.isHealed) this.strike();
      this.deliver();
      for (const replica of this.replicas) {
        if (this.nowMs % TICK_MS === 0) replica.input({ kind: 'Tick', random: this.random() }, this.nowMs);
        if (this.random() < 0.3) replica.flush(1 + Math.floor(this.random() * 3), this.nowMs);
        if (this.random() < 0.3) replica.executeNext(this.nowMs);
        const { beginsAnew = 0 } = this.options;
        if (beginsAnew > 0 && replica.isMarked && this.random() < beginsAnew) replica.beginAnew(this.nowMs);
      }
      if (!this.isQuiet && this.random() < 0.1) this.propose();
      for (const act of this.later.splice(0)) act();
    }
  }

  heal(): void {
    this.isHealed = true;
    this.parted = new Set();
    for (const replica of this.replicas) if (replica.state === null) replica.start(this.nowMs, this.random());
  }

  primary(): SimulatedReplica | undefined {
    return this.replicas.find(({ state }) => state !== null && isServing(state));
  }

  private strike(): void {
    const pick = this.replicas[Math.floor(this.random() * this.replicas.length)]!;
    const draw = this.random();
    if (draw < 0.0015 && pick.state !== null) this.crash(pick);
    else if (draw < 0.003)
      this.parted = new Set(this.replicas.filter(() => this.random() < 0.4).map(({ id }) => id));
    else if (draw < 0.006) this.parted = new Set();
    for (const replica of this.replicas)
      if (replica.state === null && this.nowMs >= (this.downUntilMs.get(replica.id) ?? 0))
        replica.start(this.nowMs, this.random());
  }

  private crash(replica: SimulatedReplica): void {
    const state = { ...replica.state!.told, promised: replica.state!.promised };
    this.wanted = null;
    for (const [label, { by }] of this.unanswered) if (by === replica.id) this.unanswered.delete(label);
    const { groups, promised } = replica.crash(Math.floor(this.random() * (replica.unflushed.length + 1)));
    this.events.push({
      name: 'Crash',
      replica: replica.id,
      epoch: promised,
      groups,
      slot: replica.database.length as Slot,
      state: {
        role: 'recovering',
        promised: state.promised,
        lastSlot: 0 as Slot,
        lastEpoch: ballotNone,
        matched: 0 as Slot,
        needsCopy: replica.isMarked,
        pushedTo: 0 as Slot,
      },
    });
    this.downUntilMs.set(replica.id, this.nowMs + 20 + Math.floor(this.random() * 400));
  }

  private propose(): void {
    if (this.count >= (this.options.operations ?? Number.POSITIVE_INFINITY)) return;
    const serving = this.replicas.filter(({ state }) => state?.leadership != null);
    const replica = serving[Math.floor(this.random() * serving.length)];
    if (replica === undefined) return;
    this.count += 1;
    const level = this.options.levels[Math.floor(this.random() * this.options.levels.length)]!;
    const proposal = { client: 'c', request: this.count };
    replica.input(
      { kind: 'Propose', proposals: [{ proposal, payload: new Uint8Array(20), level }] },
      this.nowMs,
    );
  }

  private deliver(): void {
    const due = this.messages.filter(({ atMs }) => atMs <= this.nowMs);
    for (const each of due) {
      this.messages.splice(this.messages.indexOf(each), 1);
      const { from, to, message } = each;
      if (this.parted.has(from) !== this.parted.has(to)) continue;
      this.byId(to).input({ kind: 'Receive', from, message }, this.nowMs);
    }
    for (const each of this.copies.filter(({ atMs }) => atMs <= this.nowMs)) {
      this.copies.splice(this.copies.indexOf(each), 1);
      this.byId(each.to).copyArrives(each.copy, this.nowMs);
    }
  }

  byId(id: ReplicaId): SimulatedReplica {
    return this.replicas.find((replica) => replica.id === id)!;
  }

  private hear(replica: SimulatedReplica, told: Effect): void {
    const { plant } = this.options;
    const effect = plant === undefined ? told : plant(this, replica, told);
    if (effect === null) return;
    switch (effect.kind) {
      case 'send':
        return this.send(replica.id, effect.to, effect.message);
      case 'trace':
        this.events.push({ ...effect.event, replica: replica.id });
        if (effect.event.name === 'TakeOver') this.noteBeginning(replica);
        return;
      case 'proposed':
        this.unanswered.set(`${effect.proposal.client}/${effect.proposal.request}`, {
          by: replica.id,
          sinceMs: this.nowMs,
        });
        return;
      case 'acknowledged':
      case 'unacknowledged':
        return this.noteAnswer(replica, effect);
      case 'transferNeeded':
        if (this.wanted !== null) return;
        this.wanted = effect.to;
        this.later.push(() => replica.input({ kind: 'Pause' }, this.nowMs));
        return;
      case 'paused':
        this.sendCopy(replica, effect);
        this.later.push(() => replica.input({ kind: 'Resume' }, this.nowMs));
        return;
      case 'resumed':
        this.wanted = null;
        return;
      case 'chosen':
      case 'copyNeeded':
      case 'leadership':
      case 'persist':
      case 'purge':
      case 'refused':
      case 'waitsFor':
        // The replica's own business.
        return;
      default:
        effect satisfies never;
    }
  }

  private sendCopy(replica: SimulatedReplica, { epoch, entries }: Extract<Effect, { kind: 'paused' }>): void {
    if (this.wanted === null) return;
    this.transfers += 1;
    const copy = { epoch, entries, executed: [...replica.database] };
    this.copies.push({ atMs: this.nowMs + 1 + Math.floor(this.random() * 30), to: this.wanted, copy });
  }

  private noteAnswer(
    replica: SimulatedReplica,
    effect: Extract<Effect, { kind: 'acknowledged' | 'unacknowledged' }>,
  ): void {
    const label = `${effect.proposal.client}/${effect.proposal.request}`;
    this.unanswered.delete(label);
    if (effect.kind === 'unacknowledged') {
      this.timedOut.push(label);
      return;
    }
    const { slot, level } = effect;
    this.acknowledged.push({ label, slot, level, epoch: replica.state!.promised, by: replica.id });
  }

  private noteBeginning(replica: SimulatedReplica): void {
    const { promised, base, lastSlot, log } = replica.state!;
    const labels: string[] = [];
    for (let slot: number = Math.max(base, 1); slot <= lastSlot; slot += 1)
      labels.push(entryLabel(log.get(slot as Slot)!.entry));
    if (this.beginnings.some(({ epoch }) => sameBallot(epoch, promised)))
      throw new Error('two begin one epoch');
    this.beginnings.push({ epoch: promised, from: Math.max(base, 1) as Slot, labels });
  }

  private send(from: ReplicaId, to: ReplicaId, message: Message): void {
    if (this.parted.has(from) !== this.parted.has(to)) return;
    const copies = this.isHealed
      ? 1
      : this.random() < (this.options.loss ?? 0.1)
        ? 0
        : this.random() < 0.1
          ? 2
          : 1;
    for (let i = 0; i < copies; i += 1) {
      const late = !this.isHealed && this.random() < 0.02 ? 300 : 8;
      this.messages.push({ atMs: this.nowMs + 1 + Math.floor(this.random() * late), from, to, message });
    }
  }
}

function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
