/**
 * One simulated replica: the core with a simulated disk, database and clock; the least shell that does what the real one does.
 *
 * Responsible for: carrying out effects, applying from the log in order, and dying and coming back. Lost logs and databases: recovery.ts; clients:
 * sessions.ts. Everything that happens in its process goes through `whenAwake`, so that a pause or a crash takes it all.
 */
import { entryLabel, proposalLabel } from '../../server/src/multipaxos/entry.ts';
import { snapshot, type State } from '../../server/src/multipaxos/step.ts';
import type { Effect, Input } from '../../server/src/multipaxos/types/effects.ts';
import type { Configuration } from '../../server/src/multipaxos/types/members.ts';
import type { Message } from '../../server/src/multipaxos/types/messages.ts';
import type { EntryLabel, ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { CoreTraceEvent } from '../../server/src/multipaxos/types/trace.ts';
import { SimulatedClock } from './clock.ts';
import { SimulatedDatabase } from './database.ts';
import { SimulatedDisk } from './disk.ts';
import { coreConfig, foundingConfiguration } from './options.ts';
import { Recovery } from './recovery.ts';
import { RuleBroken } from './rules.ts';
import { Sessions } from './sessions.ts';
import type { World } from './world.ts';

export type InputWithoutTime = Input extends infer I ? (I extends Input ? Omit<I, 'nowMs'> : never) : never;

export class SimulatedReplica {
  /** The replica's name, whatever its incarnation. */
  readonly id: ReplicaId;
  readonly isFounder: boolean;
  /** The incarnation that its log belongs to; null: it has no log. */
  member: ReplicaId | null = null;
  readonly clock: SimulatedClock;
  readonly disk: SimulatedDisk;
  readonly database: SimulatedDatabase;
  readonly recovery: Recovery;
  readonly sessions: Sessions;
  /** Its process runs. */
  alive = false;
  /** Null while the process is down, or joins. */
  state: State | null = null;
  /** Counts the process's lives; what was scheduled in an earlier one does not happen. */
  life = 0;
  readonly world: World;
  private pausedUntilMs = 0;
  private chosenTo = 0 as Slot;
  private applying = false;
  /** Each other time its log has no room for two windows. */
  private isPressureUrgent = true;

  constructor(world: World, id: ReplicaId, isFounder: boolean) {
    this.world = world;
    this.id = id;
    this.isFounder = isFounder;
    const { queue, random, options, judge } = world;
    this.clock = new SimulatedClock(() => queue.nowMs, random.unit() * options.clocks.skewMsMax);
    this.disk = new SimulatedDisk({ queue, random, options: options.disk }, (record) =>
      judge.recordIsDurable(this.member!, record),
    );
    this.database = new SimulatedDatabase(options.workload.keys, foundingConfiguration(options.replicas));
    this.recovery = new Recovery(this);
    this.sessions = new Sessions(this);
    this.flushDatabase();
  }

  // ----------------------------------------------------------------------------------------- life and death

  /** Its first log, made at the founding or because it was admitted. */
  createLog(member: ReplicaId, configuration: Configuration, base: Slot): void {
    this.disk.create(configuration, base);
    this.member = member;
    this.world.enrol(this);
    this.world.judge.members.logBegins(member, configuration);
  }

  start(): void {
    if (this.alive) return;
    this.alive = true;
    this.life += 1;
    if (this.disk.isMissing) this.recovery.logIsMissing();
    else this.run();
  }

  /** With the log that is there. */
  run(): void {
    const { options, judge, random, trace } = this.world;
    const recovered = this.disk.recover();
    const config = coreConfig(options, this.member!, trace === null ? 'none' : 'all');
    this.state = options.core.createState(config, recovered, this.clock.nowMs(), random.unit());
    this.chosenTo = Math.max(recovered.commitPoint, recovered.purgedTo) as Slot;
    judge.processBegins(this.id, this.chosenTo);
    this.tick();
    if (this.database.lost) this.recovery.replaceDatabase();
    else this.databaseIsUp();
  }

  crash(): void {
    if (!this.alive) return;
    const { random, options } = this.world;
    if (this.state !== null) this.loseMemory(this.state);
    this.life += 1;
    this.alive = false;
    this.state = null;
    this.applying = false;
    this.pausedUntilMs = 0;
    this.sessions.end();
    if (random.chance(options.faults.crashTakesDatabase)) this.crashDatabase();
  }

  private loseMemory(state: State): void {
    const { random, options, trace } = this.world;
    const torn = random.chance(options.faults.tornWrites);
    const lost = this.disk.crash((count) => (torn ? random.below(count + 1) : 0));
    const before = snapshot(state);
    // With those that had been flushed before the core was told so.
    const pending = state.pending.flatMap(({ records }) => records);
    const survivors = pending.slice(0, pending.length - lost);
    const crash = { before, survivors, recovered: this.disk.recover() };
    trace?.crash(this.world.queue.nowMs, this.member!, crash);
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
    if (this.database.up || this.database.lost) return;
    this.database.up = true;
    this.databaseIsUp();
  }

  /** What the log does not have any more: the core knows before the disk. */
  get forgottenTo(): Slot {
    return Math.max(this.disk.purged(), this.state?.purgedTo ?? 0) as Slot;
  }

  /** What a database has when it comes up is durable. One that is behind what the log has forgotten is of no use. */
  databaseIsUp(): void {
    const { database } = this;
    if (this.state === null || !database.up) return;
    database.flush();
    if (database.pointer < this.forgottenTo) {
      this.recovery.fetchCopy(this.forgottenTo);
      return;
    }
    const { pointer: slot, configuration } = database;
    this.input({ kind: 'Restored', slot, configuration });
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
    if (!this.alive) return;
    if (queue.nowMs < this.pausedUntilMs) {
      queue.after(this.pausedUntilMs - queue.nowMs, () => {
        if (life === this.life) this.whenAwake(action);
      });
      return;
    }
    action();
  }

  later(delayMs: number, action: () => void): void {
    const { life } = this;
    this.world.queue.after(delayMs, () => {
      if (life === this.life) this.whenAwake(action);
    });
  }

  // ------------------------------------------------------------------------------------------------ the core

  receive(from: ReplicaId, message: Message): void {
    this.whenAwake(() => {
      if (this.state === null || this.recovery.ignores(message)) return;
      this.input({ kind: 'Receive', from, message });
      this.recovery.received(message);
    });
  }

  feelLogPressure(): void {
    const isUrgent = this.isPressureUrgent;
    this.isPressureUrgent = !isUrgent;
    this.whenAwake(() => this.input({ kind: 'LogPressure', isUrgent }));
  }

  stepDown(): void {
    this.whenAwake(() => this.input({ kind: 'StepDown', reason: 'requested' }));
  }

  private tick(): void {
    this.input({ kind: 'Tick', random: this.world.random.unit() });
    this.world.checkLeases();
    this.later(this.world.options.tickMs, () => this.tick());
  }

  input(input: InputWithoutTime): readonly Effect[] {
    if (this.state === null) return [];
    this.world.countStep();
    const result = this.world.options.core.step(this.state, { ...input, nowMs: this.clock.nowMs() });
    this.state = result.state;
    for (const effect of result.effects) this.carryOut(effect);
    return result.effects;
  }

  private carryOut(effect: Effect): void {
    switch (effect.kind) {
      case 'persist':
        for (const record of effect.records) if (record.kind === 'base') this.baseMoved(record.slot);
        this.disk.append(effect, (seq) => this.whenAwake(() => this.input({ kind: 'Persisted', seq })));
        return;
      case 'send':
        this.world.judge.messageLeaves(this.member!, effect.message);
        this.world.network.send(this.member!, effect.to, effect.message);
        return;
      case 'chosen':
        for (const { slot, entry } of effect.entries) {
          this.world.judge.reports(this.id, slot, entryLabel(entry), this.isOnDisk(slot, entryLabel(entry)));
          this.chosenTo = slot;
        }
        this.applySoon();
        return;
      case 'refused':
        this.sessions.answer(proposalLabel(effect.proposal), 'refused');
        return;
      case 'serveCatchUp':
        this.later(this.world.random.unit(), () =>
          this.serveCatchUp(effect.to, effect.fromSlot, effect.toSlot),
        );
        return;
      case 'leadership':
        this.leadershipChanged(effect);
        return;
      case 'disbelieved':
        throw new RuleBroken(
          'LeaderKnowsWhatIsChosen',
          `${effect.member} says to the leader ${this.member} that slot ${effect.claimed} is chosen, above its last, ${effect.lastSlot}`,
        );
      case 'purge':
        this.purge(effect.upTo);
        return;
      case 'configuration':
        this.recovery.membersAre(effect.configuration);
        if (effect.pending !== null)
          this.world.noteProposed(effect.pending, effect.configuration.version + 1);
        return;
      case 'proposed':
      case 'reconfigured':
        return;
      case 'trace':
        this.trace(effect.event);
        return;
      case 'traceLease':
        return;
      default:
        effect satisfies never;
    }
  }

  private trace(event: CoreTraceEvent): void {
    this.world.trace?.record(this.world.queue.nowMs, this.member!, event);
  }

  private isOnDisk(slot: Slot, label: EntryLabel): boolean {
    const entry = this.disk.read(slot);
    return slot <= this.disk.purged() || (entry !== undefined && entryLabel(entry) === label);
  }

  private baseMoved(slot: Slot): void {
    if (slot > this.chosenTo) this.chosenTo = slot;
    this.world.judge.processBegins(this.id, slot);
  }

  private purge(upTo: Slot): void {
    if (upTo > this.database.durablePointer) {
      throw new RuleBroken(
        'PurgedIsDurable',
        `${this.member} forgets up to ${upTo}, and its database has ${this.database.durablePointer}`,
      );
    }
    this.disk.purge(upTo);
  }

  /** A leader whose database is away hands over. */
  private leadershipChanged({ role, ballot }: Extract<Effect, { kind: 'leadership' }>): void {
    if (role !== 'leader') return;
    this.world.judge.members.leads(ballot);
    if (!this.database.up) this.later(0, () => this.input({ kind: 'StepDown', reason: 'databaseFailed' }));
  }

  private serveCatchUp(to: ReplicaId, fromSlot: Slot, toSlot: Slot): void {
    if (this.state === null) return;
    const { promised, commitPoint } = snapshot(this.state);
    this.world.network.send(this.member!, to, {
      kind: 'CatchUpReply',
      group: this.state.config.group,
      ballot: promised,
      firstSlot: fromSlot,
      entries: this.disk.readRun(fromSlot, toSlot, 1 + this.world.random.below(16)),
      commitPoint,
      purgedTo: this.disk.purged(),
      configuration: this.state.configuration,
    });
  }

  // --------------------------------------------------------------------------------------------- the database

  private applySoon(): void {
    if (this.applying || !this.database.up || this.database.pointer >= this.chosenTo) return;
    if (this.database.pointer < this.forgottenTo) return;
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
      if (slot > this.chosenTo || database.pointer < this.forgottenTo) break;
      const entry = disk.read(slot);
      if (entry === undefined)
        throw new RuleBroken('ChosenIsDurable', `${this.id} cannot read slot ${slot} back`);
      const label = entryLabel(entry);
      this.world.judge.applies(this.id, slot, label, database.apply(slot, entry));
      this.sessions.answer(label, 'acknowledged');
    }
    this.tellApplied();
    this.applySoon();
  }

  private tellApplied(): void {
    if (!this.database.up || this.database.pointer < this.forgottenTo) return;
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

  holdsLease(): boolean {
    return this.state !== null && this.world.options.core.leaseHeld(this.state, this.clock.nowMs());
  }
}
