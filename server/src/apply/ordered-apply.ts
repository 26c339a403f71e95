/**
 * Ordered apply: keeps the replica's database at the log's chosen prefix (barista.txt 2.2, 2.3; specs/OrderedApply.tla).
 *
 * Two modes. `following`: chosen entries are applied from the log in slot order, many to a PostgreSQL transaction. `leading`: the
 * client sessions commit what they proposed, in any order; this only keeps the pointer. It does no consensus and runs no SQL itself.
 *
 * Invariants: entries are applied in slot order, each once; nothing is applied above the commit point; a change of mode happens
 * between batches, never inside one; the database is asked for its pointer whenever it may differ from what is remembered, and
 * nothing that was begun before is done after; no slot is reported as durable that a crash of PostgreSQL could make it read again.
 */
import { entryLabel } from '../multipaxos/entry.ts';
import type { Entry, Slot, SlotEntry } from '../multipaxos/types.ts';
import type { ApplyTraceEvent } from '../api/events.ts';
import { DatabaseError, type Database, type KeptWithPointer, type SlotToApply } from '../ports/database.ts';
import type { LogStore } from '../ports/log-store.ts';
import { createAppliedSet, isApplied, markApplied, type AppliedSet } from './applied-set.ts';
import { ChosenQueue } from './chosen-queue.ts';
import type { TransactionPayload } from './effects.ts';
import {
  createPartTracker,
  forgetParts,
  isGivenUp,
  keepFrom,
  trackEntry,
  type PartTracker,
} from './part-tracker.ts';
import { decodePayload } from './payload.ts';
import { createSuccession, effectOf, type Succession } from './succession.ts';

export interface OrderedApplyOptions {
  readonly log: Pick<LogStore, 'read'>;
  /** What the log store knew as chosen when it opened. */
  readonly commitPoint: Slot;
  /** The pointer moved, or the log at or below `durable` is needed no more, whatever PostgreSQL forgets in a crash. */
  readonly onApplied: (pointer: Slot, durable: Slot) => void;
  readonly onEvent: (event: ApplyTraceEvent) => void;
  /** PostgreSQL refused an entry: this replica differs from the others. It applies no more. */
  readonly onDiverged: (reason: string) => void;
  readonly onDatabaseDown: (error: DatabaseError) => void;
  /** Bounds of one PostgreSQL transaction. */
  readonly batchEntriesMax: number;
  readonly batchBytesMax: number;
  /** How many chosen entries are kept in memory before they are read back from the log instead. */
  readonly queueEntriesMax: number;
}

/** How many full batches may wait in memory. */
const batchesQueuedMax = 4;

type Mode = 'stopped' | 'following' | 'leading';

export interface OrderedApply {
  /** The core says that these are chosen; consecutive, in slot order. */
  chosen(entries: readonly SlotEntry[]): void;
  /** Applies from the database's own pointer onwards. */
  follow(database: Database): Promise<void>;
  /** From here on the sessions commit. Only legal when everything chosen is applied. */
  lead(): void;
  /** A session has committed the transaction of `slot`. */
  committed(slot: Slot): void;
  /** True if only a session can bring `slot` into the database now, and none has. */
  awaitsSession(slot: Slot): boolean;
  /** No more database calls after this resolves. */
  stop(): Promise<void>;
  /** Makes what is applied durable and reports it. */
  flush(): Promise<void>;
  /** Leader: stores how far the pointer has come. */
  foldPointer(): Promise<void>;
  readonly pointer: Slot;
  readonly durablePointer: Slot;
  readonly appliedEntries: number;
}

export function createOrderedApply(options: OrderedApplyOptions): OrderedApply {
  return new OrderedApplyLoop(options);
}

class OrderedApplyLoop implements OrderedApply {
  appliedEntries = 0;
  private readonly options: OrderedApplyOptions;
  private mode: Mode = 'stopped';
  private database: Database | null = null;
  private applied: AppliedSet = createAppliedSet(0 as Slot);
  private appliedTransactions = new Set<string>();
  private parts: PartTracker = createPartTracker();
  private succession: Succession = createSuccession();
  private storedPointer = 0 as Slot;
  private durable = 0 as Slot;
  /** The log at or below is needed no more. */
  private done = 0 as Slot;
  /** What was stored with each pointer that may be the durable one: the lowest slot that it needs. */
  private readonly keptAt = new Map<Slot, Slot>();
  private commitPoint: Slot;
  private readonly queue: ChosenQueue;
  /** Changes with each stop: whoever waited meanwhile must not go on. */
  private turn = 0;
  private running: Promise<void> | null = null;
  private folding: Promise<void> | null = null;
  private flushing: Promise<void> | null = null;

  constructor(options: OrderedApplyOptions) {
    this.options = options;
    this.commitPoint = options.commitPoint;
    const { queueEntriesMax: entriesMax, batchBytesMax } = options;
    this.queue = new ChosenQueue({ entriesMax, bytesMax: batchesQueuedMax * batchBytesMax });
  }

  get pointer(): Slot {
    return this.applied.pointer;
  }

  get durablePointer(): Slot {
    return this.durable;
  }

  chosen(entries: readonly SlotEntry[]): void {
    const last = entries.at(-1);
    if (last === undefined) return;
    this.commitPoint = last.slot;
    if (this.mode === 'leading') {
      for (const { slot, entry } of entries) this.chosenWhileLeading(slot, entry);
      return;
    }
    this.queue.push(entries);
    this.wake();
  }

  /** Entries that no session commits are in as soon as they are chosen. */
  private chosenWhileLeading(slot: Slot, entry: Entry): void {
    const payload = effectOf(this.succession, entry);
    trackEntry(this.parts, slot, entry, payload);
    if (payload === null || !payload.last || isGivenUp(payload)) this.mark(slot);
  }

  async follow(database: Database): Promise<void> {
    const turn = this.turn + 1;
    await this.stop();
    if (this.turn !== turn) return;
    const { pointer, above, aboveTransactions, keep } = await database.applicationPointer();
    const parts = await this.rebuildParts(keep, pointer);
    // Told to stop meanwhile: what was read may be of a PostgreSQL that is no more.
    if (this.turn !== turn) return;
    this.database = database;
    this.applied = createAppliedSet(pointer, above);
    this.appliedTransactions = new Set(aboveTransactions);
    this.storedPointer = pointer;
    // What a crash of PostgreSQL took back was never reported as durable, so what is left of it is at least that.
    this.durable = Math.min(this.durable, pointer) as Slot;
    this.queue.clear();
    this.parts = parts;
    this.succession = createSuccession(keep.leadership);
    this.keptAt.clear();
    this.keptAt.set(pointer, keep.keepFrom);
    this.options.onEvent({ name: 'DatabaseUp', applicationPointer: pointer, above });
    this.report();
    this.mode = 'following';
    this.wake();
  }

  /** Only parts of the newest leadership can still be waited for. */
  private async rebuildParts(
    { keepFrom: from, leadership }: KeptWithPointer,
    to: Slot,
  ): Promise<PartTracker> {
    const tracker = createPartTracker();
    const succession = createSuccession(leadership);
    for (let slot = from; slot <= to; ) {
      const entries = await this.options.log.read(slot, to, this.options.batchBytesMax);
      if (entries.length === 0) break;
      for (const entry of entries) {
        trackEntry(tracker, slot, entry, effectOf(succession, entry));
        slot = (slot + 1) as Slot;
      }
    }
    return tracker;
  }

  lead(): void {
    if (this.mode !== 'following' || this.applied.pointer !== this.commitPoint) {
      throw new Error(
        `cannot lead: mode ${this.mode}, applied ${this.applied.pointer}, commit point ${this.commitPoint}`,
      );
    }
    this.mode = 'leading';
  }

  committed(slot: Slot): void {
    if (this.mode === 'leading') this.mark(slot);
  }

  awaitsSession(slot: Slot): boolean {
    return this.mode === 'leading' && !isApplied(this.applied, slot);
  }

  private mark(slot: Slot): void {
    if (markApplied(this.applied, slot)) this.report();
  }

  async stop(): Promise<void> {
    this.turn++;
    this.mode = 'stopped';
    await this.running;
    await this.folding;
    await this.flushing;
  }

  async foldPointer(): Promise<void> {
    if (this.mode !== 'leading' || this.database === null || this.folding !== null) return;
    const upTo = this.applied.pointer;
    if (upTo <= this.storedPointer) return;
    const database = this.database;
    this.folding = this.guard(async () => {
      await database.movePointer(upTo, this.keepAt(upTo));
      this.storedPointer = upTo;
      forgetParts(this.parts, upTo);
      this.options.onEvent({ name: 'MovePointer', applicationPointer: upTo });
    });
    await this.folding;
    this.folding = null;
  }

  async flush(): Promise<void> {
    const { database } = this;
    if (this.mode === 'stopped' || database === null || this.flushing !== null) return;
    if (this.storedPointer === this.durable) return;
    this.flushing = this.guard(async () => {
      this.durable = await database.flush();
      this.letGo(this.durable);
      this.options.onEvent({ name: 'FlushDatabase', durableApplicationPointer: this.durable });
      this.report();
    });
    await this.flushing;
    this.flushing = null;
  }

  private keepAt(pointer: Slot): KeptWithPointer {
    const lowest = keepFrom(this.parts, pointer);
    this.keptAt.set(pointer, lowest);
    return { keepFrom: lowest, leadership: this.succession.newest };
  }

  /** `durable` is what a crash leaves at least; what was stored with it says how far back it would read. */
  private letGo(durable: Slot): void {
    const keep = this.keptAt.get(durable);
    if (keep !== undefined && keep - 1 > this.done) this.done = (keep - 1) as Slot;
    for (const pointer of this.keptAt.keys()) if (pointer < durable) this.keptAt.delete(pointer);
  }

  private report(): void {
    this.options.onApplied(this.applied.pointer, this.done);
  }

  private wake(): void {
    if (this.mode !== 'following' || this.running !== null) return;
    this.running = this.applyAll().finally(() => {
      this.running = null;
      if (this.mode === 'following' && this.applied.pointer < this.commitPoint) this.wake();
    });
  }

  private async applyAll(): Promise<void> {
    await this.guard(async () => {
      while (this.mode === 'following' && this.applied.pointer < this.commitPoint) await this.applyBatch();
    });
  }

  private async applyBatch(): Promise<void> {
    const from = (this.applied.pointer + 1) as Slot;
    const entries = upToNextLeader(await this.nextEntries(from));
    if (entries.length === 0) throw new Error(`slot ${from} is chosen but missing from the log`);
    // Told to stop while the log was read: `from` may not be the next slot of the database any more.
    if (this.mode !== 'following') return;
    const batch: SlotToApply[] = [];
    const applied: [Slot, string][] = [];
    const sql: string[] = [];
    for (const { slot, entry } of entries) {
      const payload = effectOf(this.succession, entry);
      // The database may apply a batch bit by bit, and stop in between: it must not say then that it needs no parts any more.
      if (batch.length > 0 && payload !== null && payload.partSlots.length > 0) break;
      trackEntry(this.parts, slot, entry, payload);
      const skip =
        payload === null ||
        !payload.last ||
        isGivenUp(payload) ||
        isApplied(this.applied, slot) ||
        this.appliedTransactions.has(payload.transaction);
      batch.push({ slot, transaction: skip ? null : this.withParts(payload) });
      if (!skip) {
        applied.push([slot, entryLabel(entry)]);
        sql.push(...payload.sql.slice(0, 3));
      }
    }
    const toSlot = batch.at(-1)!.slot;
    await this.database!.apply(batch, this.keepAt(toSlot));
    this.storedPointer = toSlot;
    forgetParts(this.parts, toSlot);
    this.appliedEntries += applied.length;
    for (const { slot } of batch) markApplied(this.applied, slot);
    this.options.onEvent({ name: 'ApplyBatch', fromSlot: from, toSlot, applied, sql: sql.slice(0, 20) });
    this.report();
  }

  /** From memory if the queue reaches back far enough, else from the log. */
  private async nextEntries(from: Slot): Promise<SlotEntry[]> {
    const { batchEntriesMax, batchBytesMax } = this.options;
    const queued = this.queue.take(from, batchEntriesMax, batchBytesMax);
    if (queued.length > 0) return queued;
    const to = Math.min(this.commitPoint, from + batchEntriesMax - 1) as Slot;
    const entries = await this.options.log.read(from, to, batchBytesMax);
    return entries.map((entry, index) => ({ slot: (from + index) as Slot, entry }));
  }

  /** The parts of a transaction in order, read back one at a time: memory is bounded by one part. May be read again. */
  private withParts(
    last: TransactionPayload,
  ): AsyncIterable<TransactionPayload> | readonly TransactionPayload[] {
    if (last.partSlots.length === 0) return [last];
    const { log } = this.options;
    return {
      async *[Symbol.asyncIterator]() {
        for (const slot of last.partSlots) {
          const [entry] = await log.read(slot, slot, 1);
          if (entry?.kind !== 'command')
            throw new Error(`part of ${last.transaction} is missing from slot ${slot}`);
          yield decodePayload(entry.payload);
        }
        yield last;
      },
    };
  }

  /** Database failures are expected outcomes here; anything else is a defect and must surface. */
  private async guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.mode = 'stopped';
      if (!(error instanceof DatabaseError)) {
        this.options.onDiverged(error instanceof Error ? error.message : String(error));
      } else if (error.code === 'applyFailed') this.options.onDiverged(error.message);
      else this.options.onDatabaseDown(error);
    }
  }
}

/** A batch ends before a leader's beginning, so that one leadership is right for every slot that the pointer may stop at. */
function upToNextLeader(entries: SlotEntry[]): SlotEntry[] {
  const next = entries.findIndex(({ entry }, index) => index > 0 && entry.kind === 'leaderStart');
  return next === -1 ? entries : entries.slice(0, next);
}
