/**
 * A replica's simulated log store: group commit, slow flushes, and what a crash leaves.
 *
 * Invariant: what survives a crash is a prefix of what was appended that contains everything whose flush had ended.
 */
import { ballotNone, compareBallots } from '../../server/src/multipaxos/ballot.ts';
import type { Entry, Vote } from '../../server/src/multipaxos/types/entries.ts';
import type { Configuration } from '../../server/src/multipaxos/types/members.ts';
import type { Ballot, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../server/src/multipaxos/types/records.ts';
import type { EventQueue } from './event-queue.ts';
import type { DiskOptions } from './options.ts';
import type { Random } from '../workload/seeded-random.ts';

interface Append {
  readonly seq: number;
  readonly records: readonly LogRecord[];
}

export class SimulatedDisk {
  private readonly options: DiskOptions;
  private readonly queue: EventQueue;
  private readonly random: Random;
  /** Called for each record at the moment when it can no longer be lost. */
  private readonly onDurable: (record: LogRecord) => void;
  private waiting: Append[] = [];
  private writing: Append[] = [];
  private life = 0;
  private promised: Ballot = ballotNone;
  private commitPoint = 0 as Slot;
  private purgedTo = 0 as Slot;
  private lastSlot = 0 as Slot;
  /** Null: there is no log. */
  private configuration: Configuration | null = null;
  private readonly slots = new Map<Slot, { readonly ballot: Ballot | null; readonly entry: Entry }>();

  constructor(
    parts: { readonly queue: EventQueue; readonly random: Random; readonly options: DiskOptions },
    onDurable: (record: LogRecord) => void,
  ) {
    this.queue = parts.queue;
    this.random = parts.random;
    this.options = parts.options;
    this.onDurable = onDurable;
  }

  get isMissing(): boolean {
    return this.configuration === null;
  }

  /** Version of the newest configuration that it holds; 0 without a log. */
  get knownVersion(): number {
    return this.configuration === null ? 0 : this.configuration.version;
  }

  /** A new log: everything up to `base` is in the database. */
  create(configuration: Configuration, base: Slot): void {
    this.configuration = configuration;
    this.purgedTo = base;
    this.commitPoint = base;
    this.lastSlot = base;
  }

  /** Everything is gone, what was on its way to the disk, too. */
  wipe(): void {
    this.life += 1;
    this.writing = [];
    this.waiting = [];
    this.promised = ballotNone;
    this.configuration = null;
    this.slots.clear();
    this.commitPoint = 0 as Slot;
    this.purgedTo = 0 as Slot;
    this.lastSlot = 0 as Slot;
  }

  append(append: Append, onFlushed: (seq: number) => void): void {
    this.waiting.push(append);
    if (this.writing.length === 0) this.flush(onFlushed);
  }

  private flush(onFlushed: (seq: number) => void): void {
    const { life } = this;
    const { flushMsMean, stall, stallMsMax } = this.options;
    this.writing = this.waiting;
    this.waiting = [];
    const stallMs = this.random.chance(stall) ? this.random.unit() * stallMsMax : 0;
    this.queue.after(this.random.exponential(flushMsMean) + stallMs, () => {
      if (life !== this.life) return;
      const done = this.writing;
      this.writing = [];
      for (const { records } of done) for (const record of records) this.keep(record);
      if (this.waiting.length > 0) this.flush(onFlushed);
      onFlushed(done.at(-1)!.seq);
    });
  }

  /** Loses what was not flushed, but for `survives` of it, counted in records. Returns how many records are lost. */
  crash(survives: (recordCount: number) => number): number {
    this.life += 1;
    const unsure = [...this.writing, ...this.waiting].flatMap((append) => append.records);
    const survivors = unsure.slice(0, survives(unsure.length));
    this.writing = [];
    this.waiting = [];
    for (const record of survivors) this.keep(record);
    return unsure.length - survivors.length;
  }

  private keep(record: LogRecord): void {
    switch (record.kind) {
      case 'promise':
        this.raisePromise(record.ballot);
        break;
      case 'vote':
        this.raisePromise(record.ballot);
        this.write(record.slot, record.ballot, record.entry);
        break;
      case 'chosen':
        this.write(record.slot, null, record.entry);
        break;
      case 'commitPoint':
        if (record.slot > this.commitPoint) this.commitPoint = record.slot;
        break;
      case 'configuration':
        this.learn(record.configuration);
        break;
      case 'base':
        this.learn(record.configuration);
        this.purge(record.slot);
        if (record.slot > this.commitPoint) this.commitPoint = record.slot;
        if (record.slot > this.lastSlot) this.lastSlot = record.slot;
        break;
      default:
        record satisfies never;
    }
    this.onDurable(record);
  }

  private learn(configuration: Configuration): void {
    if (configuration.version > this.configuration!.version) this.configuration = configuration;
  }

  private raisePromise(ballot: Ballot): void {
    if (compareBallots(ballot, this.promised) > 0) this.promised = ballot;
  }

  private write(slot: Slot, ballot: Ballot | null, entry: Entry): void {
    this.slots.set(slot, { ballot, entry });
    if (slot > this.lastSlot) this.lastSlot = slot;
  }

  read(slot: Slot): Entry | undefined {
    return this.slots.get(slot)?.entry;
  }

  /** Consecutive entries from `fromSlot`, at most `countMax`, stopping at the first that is missing. */
  readRun(fromSlot: Slot, toSlot: Slot, countMax: number): Entry[] {
    const entries: Entry[] = [];
    for (let slot = fromSlot; slot <= toSlot && entries.length < countMax; slot = (slot + 1) as Slot) {
      const entry = this.read(slot);
      if (entry === undefined) break;
      entries.push(entry);
    }
    return entries;
  }

  purge(upTo: Slot): void {
    for (let slot = this.purgedTo + 1; slot <= upTo; slot += 1) this.slots.delete(slot as Slot);
    if (upTo > this.purgedTo) this.purgedTo = upTo;
  }

  purged(): Slot {
    return this.purgedTo;
  }

  recover(): RecoveredLog {
    const tail: RecoveredLog['tail'][number][] = [];
    for (let slot = this.commitPoint + 1; slot <= this.lastSlot; slot += 1) {
      const held = this.slots.get(slot as Slot);
      if (held === undefined) continue;
      if (held.ballot === null) tail.push({ slot: slot as Slot, ballot: null, entry: held.entry });
      else tail.push({ slot: slot as Slot, ballot: held.ballot, entry: held.entry } satisfies Vote);
    }
    const { promised, commitPoint, purgedTo } = this;
    return { promised, commitPoint, purgedTo, configuration: this.configuration!, tail };
  }
}
