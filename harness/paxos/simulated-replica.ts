/**
 * One replica of a simulated group: a core of single-decree Paxos with its disk, its database and its host, and what happens to them.
 *
 * What it does for the core is what a host must do: records are written in order and `Persisted` told, messages are sent, chosen entries are executed in slot
 * order, and the database's durable pointer is told.
 */
import { entryLabel } from '../../server/src/multipaxos/entry.ts';
import type { ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { PaxosState } from '../../server/src/paxos/state.ts';
import { createPaxosState, learnReply, paxosStep } from '../../server/src/paxos/step.ts';
import type { PaxosConfig, PaxosEffect, PaxosInput } from '../../server/src/paxos/types/effects.ts';
import type { PaxosMessage } from '../../server/src/paxos/types/messages.ts';
import type { PaxosTraceEvent } from '../../server/src/paxos/types/trace.ts';
import type { Random } from '../../server/src/ports/testing/random.ts';
import { PaxosDisk } from './paxos-disk.ts';
import type { PaxosJudge } from './paxos-judge.ts';
import type { PaxosMutant } from './paxos-mutants.ts';

export interface World {
  readonly nowMs: number;
  readonly random: Random;
  readonly judge: PaxosJudge;
  readonly events: ReplicaEvent[];
  readonly tally: { moved: number; rejected: number; copies: number; purged: number; crashes: number };
  after(ms: number, act: () => void): void;
  send(from: ReplicaId, to: ReplicaId, message: PaxosMessage): void;
  sourceFor(id: ReplicaId, least: number): SimulatedReplica | undefined;
  mostDone(): readonly { readonly id: ReplicaId; readonly most: Slot }[];
}

/** What the core told, or what befell it: a crash, with the commit point that its disk has; a flush that it did not live to hear of; its database is lost. */
export interface ReplicaEvent {
  readonly replica: ReplicaId;
  readonly event: Omit<PaxosTraceEvent, 'state'> & { readonly state?: PaxosTraceEvent['state'] };
}

interface Options {
  readonly id: ReplicaId;
  readonly members: readonly ReplicaId[];
  readonly mutant: PaxosMutant | null;
  readonly traces: boolean;
}

type WithoutTime<Input = PaxosInput> = Input extends PaxosInput ? Omit<Input, 'nowMs'> : never;

export class SimulatedReplica {
  readonly id: ReplicaId;
  /** What its database has on disk, the labels of slots 1, 2, ...; and what it had at most. */
  private onDisk: string[] = [];
  private executed: string[] = [];
  most = 0 as Slot;
  private disk = new PaxosDisk();
  private state: PaxosState | null = null;
  private life = 0;
  private reported = 0 as Slot;
  private awaitsCopy = false;
  /** Labels that this life has taken on and is not told of as refused; and the slot of each. */
  private readonly taken = new Map<string, Slot>();
  private readonly world: World;
  private readonly options: Options;

  constructor(world: World, options: Options) {
    this.world = world;
    this.options = options;
    this.id = options.id;
  }

  get isUp(): boolean {
    return this.state !== null;
  }

  get durable(): Slot {
    return this.onDisk.length as Slot;
  }

  get mostEver(): Slot {
    return this.most;
  }

  owed(): readonly string[] {
    return [...this.taken.keys()];
  }

  start(): void {
    if (this.state !== null) return;
    const { mutant } = this.options;
    const recovered = this.disk.recovered();
    const given = mutant?.recovers?.(recovered) ?? recovered;
    this.life += 1;
    this.taken.clear();
    this.reported = Math.max(given.commitPoint, given.purgedTo) as Slot;
    this.state = createPaxosState(this.config(), given, this.world.nowMs, this.world.random.next());
    mutant?.begins?.(this.state);
    this.executed = [...this.onDisk];
    this.awaitsCopy = false;
    this.input({ kind: 'Restored', slot: this.durable });
    this.execute();
  }

  private config(): PaxosConfig {
    const { id, members, mutant, traces } = this.options;
    return {
      group: 'g' as PaxosConfig['group'],
      id,
      members,
      retransmitMs: 40,
      statusMs: 30,
      backoffMs: 15,
      backoffMaxMs: 200,
      holeMs: 80,
      windowSlotsMax: 4,
      windowBytesMax: 100_000,
      catchUpSlotsMax: 6,
      catchUpBytesMax: 100_000,
      trace: traces,
      ...mutant?.config,
    };
  }

  tick(): void {
    this.input({ kind: 'Tick', random: this.world.random.next() });
  }

  receive(from: ReplicaId, message: PaxosMessage): void {
    this.input({ kind: 'Receive', from, message });
  }

  propose(client: string): void {
    const proposal = { client: `${this.id}.${this.life}.${client}`, request: 1 };
    this.taken.set(`${proposal.client}/1`, 0 as Slot);
    this.input({ kind: 'Propose', proposals: [{ proposal, payload: new Uint8Array(8) }] });
  }

  /** The machine dies, and comes back after a while. What was appended survives up to some record. */
  crash(backAfterMs: number): void {
    if (this.state === null) return;
    this.world.tally.crashes += 1;
    const survivors = this.world.random.between(0, this.disk.unflushed.length);
    this.flush(survivors);
    this.disk.unflushed.length = 0;
    this.state = null;
    this.record('Crash', { upTo: this.disk.recovered().commitPoint });
    this.world.after(backAfterMs, () => this.start());
  }

  loseDatabase(): void {
    if (this.state === null || this.durable === 0) return;
    this.onDisk = [];
    this.record('LoseDatabase', {});
    this.crash(20);
  }

  private input(input: WithoutTime): void {
    const { state, options } = this;
    if (state === null) return;
    const timed = { ...input, nowMs: this.world.nowMs } as PaxosInput;
    const heard = options.mutant?.hears?.(state, timed) ?? timed;
    const { effects } = paxosStep(state, heard);
    const under = options.mutant?.does?.(state, effects) ?? effects;
    for (const effect of under) this.carryOut(state, effect);
    if (state.under.size > 4 || state.slots.size > 16 * 4 + 64)
      this.world.judge.fault(
        'Bounded',
        `${this.id} holds ${state.under.size} proposals, ${state.slots.size} slots`,
      );
  }

  private carryOut(state: PaxosState, effect: PaxosEffect): void {
    const { world } = this;
    switch (effect.kind) {
      case 'persist': {
        const isNew = this.disk.unflushed.length === 0;
        this.disk.unflushed.push(effect);
        if (isNew) this.flushLater();
        if (this.options.mutant?.persistsAtOnce === true)
          world.after(0, () => this.persisted(effect.seq, this.life));
        return;
      }
      case 'send':
        world.judge.said(this.id, effect.message, this.disk);
        world.send(this.id, effect.to, effect.message);
        return;
      case 'chosen':
        world.judge.told(this.id, effect.entries, Math.max(this.reported, state.purgedTo) as Slot);
        this.reported = effect.entries.at(-1)!.slot;
        this.execute();
        return;
      case 'proposed': {
        const label = `${effect.proposal.client}/${effect.proposal.request}`;
        if ((this.taken.get(label) ?? 0) > 0) world.tally.moved += 1;
        this.taken.set(label, effect.slot);
        return;
      }
      case 'refused':
        this.taken.delete(`${effect.proposal.client}/${effect.proposal.request}`);
        return;
      case 'serveCatchUp': {
        const entries = this.disk.read(effect.fromSlot, effect.toSlot);
        for (const [i, entry] of entries.entries())
          world.judge.tells(this.id, (effect.fromSlot + i) as Slot, entry);
        world.send(this.id, effect.to, learnReply(state, effect.fromSlot, entries));
        return;
      }
      case 'forgotten':
        this.copyLater();
        return;
      case 'purge':
        world.tally.purged = Math.max(world.tally.purged, effect.upTo);
        world.judge.purges(this.id, effect.upTo, world.mostDone());
        this.disk.unflushed.push({ purge: effect.upTo });
        if (this.disk.unflushed.length === 1) this.flushLater();
        return;
      case 'trace':
        if (effect.event.name === 'HandleReject') world.tally.rejected += 1;
        world.events.push({ replica: this.id, event: effect.event });
        return;
      default:
        effect satisfies never;
    }
  }

  private flushLater(): void {
    const { life, world } = this;
    world.after(world.random.between(1, 6), () => {
      if (this.life !== life || this.state === null) return;
      const flushed = this.disk.flush();
      world.judge.flushed(this.id, flushed);
      const last = flushed.findLast((item) => 'seq' in item);
      const purges = flushed.length - 1 - flushed.findLastIndex((item) => 'seq' in item);
      if (last !== undefined && 'seq' in last) this.persisted(last.seq, life);
      // The core is not told of these.
      if (purges > 0) this.record('Fsync', { records: purges });
    });
  }

  private persisted(seq: number, life: number): void {
    if (this.life === life) this.input({ kind: 'Persisted', seq });
  }

  private flush(count: number): void {
    const flushed = this.disk.flush(count);
    this.world.judge.flushed(this.id, flushed);
    const records = flushed.length;
    if (records > 0) this.record('Fsync', { records });
  }

  /** Chosen entries in slot order, from memory or the log; durable a little later. */
  private execute(): void {
    const { life, world, state } = this;
    if (state === null || this.awaitsCopy) return;
    const from = this.executed.length;
    for (let slot = (from + 1) as Slot; slot <= state.commitPoint; slot = (slot + 1) as Slot) {
      const entry = state.slots.get(slot)?.entry ?? this.disk.read(slot, slot)[0];
      if (entry === undefined) break;
      world.judge.tells(this.id, slot, entry);
      this.executed.push(entryLabel(entry));
    }
    const slot = this.executed.length as Slot;
    if (slot === from) return;
    world.after(world.random.between(1, 40), () => {
      if (this.life !== life || this.state === null || slot <= this.durable) return;
      this.onDisk = this.executed.slice(0, slot);
      this.most = Math.max(this.most, slot) as Slot;
      this.input({ kind: 'Applied', slot: this.executed.length as Slot, durableSlot: slot });
      this.execute();
    });
  }

  private copyLater(): void {
    const { life, world } = this;
    if (this.awaitsCopy) return;
    this.awaitsCopy = true;
    world.after(world.random.between(10, 50), () => {
      if (this.life !== life || this.state === null) return;
      this.awaitsCopy = false;
      const source = world.sourceFor(this.id, this.durable + 1);
      if (source === undefined) return this.copyLater();
      world.tally.copies += 1;
      this.onDisk = [...source.onDisk];
      this.executed = [...this.onDisk];
      this.most = Math.max(this.most, this.durable) as Slot;
      this.input({ kind: 'Restored', slot: this.durable });
      this.execute();
    });
  }

  private record(name: PaxosTraceEvent['name'], fields: Partial<PaxosTraceEvent>): void {
    if (this.options.traces) this.world.events.push({ replica: this.id, event: { name, ...fields } });
  }
}
