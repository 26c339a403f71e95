/**
 * One simulated replica: the core with a simulated disk, database and clock; the least shell that does what the real one does.
 *
 * Responsible for: carrying out effects, applying from the log in order, answering clients, and dying and coming back.
 * Everything that happens in its process goes through `whenAwake`, so that a pause or a crash takes it all.
 */
import { entryLabel, proposalLabel } from '../../server/src/multipaxos/entry.ts';
import { isServing, snapshot, type State } from '../../server/src/multipaxos/step.ts';
import type {
  CoreTraceEvent,
  Effect,
  EntryLabel,
  Input,
  Message,
  ProposalId,
  ReplicaId,
  Slot,
} from '../../server/src/multipaxos/types.ts';
import { SimulatedClock } from './clock.ts';
import { SimulatedDatabase } from './database.ts';
import { SimulatedDisk } from './disk.ts';
import { RuleBroken } from './judge.ts';
import { coreConfig } from './options.ts';
import type { World } from './world.ts';

type InputWithoutTime = Input extends infer I ? (I extends Input ? Omit<I, 'nowMs'> : never) : never;
export type WriteAnswer = 'acknowledged' | 'refused';

/** How long the proposals of one group commit are gathered. */
const gatherMs = 0.3;

export class SimulatedReplica {
  readonly id: ReplicaId;
  readonly clock: SimulatedClock;
  readonly disk: SimulatedDisk;
  readonly database: SimulatedDatabase;
  /** Null while the process is down. */
  state: State | null = null;
  /** Counts the process's lives; what was scheduled in an earlier one does not happen. */
  life = 0;
  private readonly world: World;
  private pausedUntilMs = 0;
  private chosenTo = 0 as Slot;
  private applying = false;
  private gathered: { readonly proposal: ProposalId; readonly payload: Uint8Array }[] = [];
  private readonly waiting = new Map<EntryLabel, (answer: WriteAnswer) => void>();

  constructor(world: World, id: ReplicaId) {
    this.world = world;
    this.id = id;
    const { queue, random, options, judge } = world;
    this.clock = new SimulatedClock(() => queue.nowMs, random.unit() * options.clocks.skewMsMax);
    this.disk = new SimulatedDisk({ queue, random, options: options.disk }, (record) =>
      judge.recordIsDurable(id, record),
    );
    this.database = new SimulatedDatabase(options.workload.keys);
    this.flushDatabase();
  }

  // ----------------------------------------------------------------------------------------- life and death

  start(): void {
    const { options, judge, random, trace } = this.world;
    const recovered = this.disk.recover();
    const config = coreConfig(options, this.id, trace !== null);
    this.state = options.core.createState(config, recovered, this.clock.nowMs(), random.unit());
    this.life += 1;
    this.chosenTo = Math.max(recovered.commitPoint, recovered.purgedTo) as Slot;
    judge.processBegins(this.id, this.chosenTo);
    this.tick();
    this.tellApplied();
    this.applySoon();
  }

  crash(): void {
    if (this.state === null) return;
    const { random, options, trace } = this.world;
    const torn = random.chance(options.faults.tornWrites);
    const survivors = this.disk.crash((count) => (torn ? random.below(count + 1) : 0));
    const before = snapshot(this.state);
    trace?.crash(this.world.queue.nowMs, this.id, { before, survivors, recovered: this.disk.recover() });
    this.life += 1;
    this.state = null;
    this.applying = false;
    this.pausedUntilMs = 0;
    this.gathered = [];
    this.waiting.clear();
    if (random.chance(options.faults.crashTakesDatabase)) this.crashDatabase();
  }

  pause(durationMs: number): void {
    this.pausedUntilMs = this.world.queue.nowMs + durationMs;
  }

  wake(): void {
    this.pausedUntilMs = 0;
  }

  killDatabase(): void {
    if (!this.database.up) return;
    this.database.up = false;
    this.crashDatabase();
    if (this.state !== null) this.input({ kind: 'StepDown', reason: 'databaseFailed' });
  }

  reviveDatabase(): void {
    if (this.database.up) return;
    this.database.up = true;
    if (this.state === null) return;
    this.tellApplied();
    this.applySoon();
  }

  private crashDatabase(): void {
    const { pointer, durablePointer } = this.database;
    this.database.crashTo(durablePointer + this.world.random.below(pointer - durablePointer + 1));
  }

  /** Runs `action` in this life of the process, once it is not paused. */
  whenAwake(action: () => void): void {
    const { life } = this;
    const { queue } = this.world;
    if (this.state === null) return;
    if (queue.nowMs < this.pausedUntilMs) {
      queue.after(this.pausedUntilMs - queue.nowMs, () => {
        if (life === this.life) this.whenAwake(action);
      });
      return;
    }
    action();
  }

  private later(delayMs: number, action: () => void): void {
    const { life } = this;
    this.world.queue.after(delayMs, () => {
      if (life === this.life) this.whenAwake(action);
    });
  }

  // ------------------------------------------------------------------------------------------------ the core

  receive(from: ReplicaId, message: Message): void {
    this.whenAwake(() => this.input({ kind: 'Receive', from, message }));
  }

  stepDown(): void {
    this.whenAwake(() => this.input({ kind: 'StepDown', reason: 'requested' }));
  }

  private tick(): void {
    this.input({ kind: 'Tick', random: this.world.random.unit() });
    this.world.checkLeases();
    this.later(this.world.options.tickMs, () => this.tick());
  }

  private input(input: InputWithoutTime): void {
    if (this.state === null) return;
    this.world.countStep();
    const result = this.world.options.core.step(this.state, { ...input, nowMs: this.clock.nowMs() });
    this.state = result.state;
    for (const effect of result.effects) this.carryOut(effect);
  }

  private carryOut(effect: Effect): void {
    switch (effect.kind) {
      case 'persist':
        this.disk.append(effect, (seq) => this.whenAwake(() => this.input({ kind: 'Persisted', seq })));
        return;
      case 'send':
        this.world.judge.messageLeaves(this.id, effect.message);
        this.world.network.send(this.id, effect.to, effect.message);
        return;
      case 'chosen':
        for (const { slot, entry } of effect.entries) {
          this.world.judge.reports(this.id, slot, entryLabel(entry), this.isOnDisk(slot, entryLabel(entry)));
          this.chosenTo = slot;
        }
        this.applySoon();
        return;
      case 'refused':
        this.answer(proposalLabel(effect.proposal), 'refused');
        return;
      case 'serveCatchUp':
        this.later(this.world.random.unit(), () =>
          this.serveCatchUp(effect.to, effect.fromSlot, effect.toSlot),
        );
        return;
      case 'leadership':
        this.leadershipChanged(effect.role === 'leader');
        return;
      case 'purge':
        this.disk.purge(effect.upTo);
        return;
      case 'proposed':
        return;
      case 'trace':
        this.trace(effect.event);
        return;
      default:
        effect satisfies never;
    }
  }

  private trace(event: CoreTraceEvent): void {
    this.world.trace?.record(this.world.queue.nowMs, this.id, event);
  }

  private isOnDisk(slot: Slot, label: EntryLabel): boolean {
    const entry = this.disk.read(slot);
    return slot <= this.disk.purged() || (entry !== undefined && entryLabel(entry) === label);
  }

  /** A leader whose database is away hands over. */
  private leadershipChanged(leads: boolean): void {
    if (leads && !this.database.up)
      this.later(0, () => this.input({ kind: 'StepDown', reason: 'databaseFailed' }));
  }

  private serveCatchUp(to: ReplicaId, fromSlot: Slot, toSlot: Slot): void {
    const { promised, commitPoint } = snapshot(this.state!);
    this.world.network.send(this.id, to, {
      kind: 'CatchUpReply',
      group: this.state!.config.group,
      ballot: promised,
      firstSlot: fromSlot,
      entries: this.disk.readRun(fromSlot, toSlot, 1 + this.world.random.below(16)),
      commitPoint,
      purgedTo: this.disk.purged(),
    });
  }

  // --------------------------------------------------------------------------------------------- the database

  private applySoon(): void {
    if (this.applying || !this.database.up || this.database.pointer >= this.chosenTo) return;
    this.applying = true;
    this.later(this.world.random.exponential(this.world.options.database.applyMsMean), () =>
      this.applyBatch(),
    );
  }

  private applyBatch(): void {
    this.applying = false;
    const { database, disk } = this;
    if (!database.up) return;
    for (let count = 0; count < this.world.options.database.applyBatchMax; count += 1) {
      const slot = (database.pointer + 1) as Slot;
      if (slot > this.chosenTo) break;
      const entry = disk.read(slot);
      if (entry === undefined)
        throw new RuleBroken('ChosenIsDurable', `${this.id} cannot read slot ${slot} back`);
      const label = entryLabel(entry);
      this.world.judge.applies(this.id, slot, label, database.apply(slot, entry));
      this.answer(label, 'acknowledged');
    }
    this.tellApplied();
    this.applySoon();
  }

  private tellApplied(): void {
    if (!this.database.up) return;
    const { pointer, durablePointer } = this.database;
    this.input({ kind: 'Applied', slot: pointer, durableSlot: durablePointer });
  }

  private flushDatabase(): void {
    const { queue, options } = this.world;
    queue.after(options.database.flushIntervalMs, () => {
      if (this.database.up && this.database.durablePointer < this.database.pointer) {
        this.database.flush();
        this.whenAwake(() => this.tellApplied());
      }
      this.flushDatabase();
    });
  }

  // ------------------------------------------------------------------------------------------------- clients

  /** Proposes; `onAnswer` is called at most once, and never if the outcome stays unknown. */
  write(proposal: ProposalId, payload: Uint8Array, onAnswer: (answer: WriteAnswer) => void): void {
    this.whenAwake(() => {
      if (!isServing(this.state!)) {
        onAnswer('refused');
        return;
      }
      this.waiting.set(proposalLabel(proposal), onAnswer);
      this.gathered.push({ proposal, payload });
      if (this.gathered.length === 1) this.later(gatherMs, () => this.proposeGathered());
    });
  }

  private proposeGathered(): void {
    const proposals = this.gathered;
    this.gathered = [];
    this.input({ kind: 'Propose', proposals });
  }

  private answer(label: EntryLabel, answer: WriteAnswer): void {
    const onAnswer = this.waiting.get(label);
    if (onAnswer === undefined) return;
    this.waiting.delete(label);
    onAnswer(answer);
  }

  /** Reads the database, and answers only if the lease still holds after that. */
  read(key: number, onAnswer: (value: EntryLabel | null) => void, onRefused: () => void): void {
    this.whenAwake(() => {
      if (!isServing(this.state!) || !this.database.up) {
        onRefused();
        return;
      }
      const value = this.database.registers[key]!;
      const { ballot } = snapshot(this.state!);
      this.later(this.world.random.exponential(1), () => {
        const now = snapshot(this.state!);
        const sameLeadership = now.serving && now.ballot === ballot;
        if (sameLeadership && this.holdsLease()) onAnswer(value);
        else onRefused();
      });
    });
  }

  holdsLease(): boolean {
    return this.state !== null && this.world.options.core.leaseHeld(this.state, this.clock.nowMs());
  }
}
