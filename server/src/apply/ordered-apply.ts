/**
 * Ordered apply: keeps the replica's database at the log's chosen prefix (barista.txt 2.2, 2.3; specs/OrderedApply.tla).
 *
 * Two modes. `following`: chosen entries are applied from the log in slot order, many to a PostgreSQL transaction. `leading`: the
 * client sessions commit what they proposed, in any order; this only keeps the pointer. Either way a check (verify-point.ts) is met when the
 * database stands at exactly its slot. It does no consensus and runs no SQL itself.
 *
 * Invariants: entries are applied in slot order, each once; nothing is applied above the commit point; a change of mode happens
 * between batches, never inside one; the database is asked for its pointer whenever it may differ from what is remembered, and
 * nothing that was begun before is done after; sessions commit only what takes effect on all replicas; no slot is reported as durable that a crash of PostgreSQL could make it read again.
 */
import { ballotLabel, compareBallots, sameBallot } from '../multipaxos/ballot.ts';
import type { Ballot, Slot, SlotEntry } from '../multipaxos/types.ts';
import type { ApplyTraceEvent } from '../api/events.ts';
import { DatabaseError, type Database, type KeptWithPointer } from '../ports/database.ts';
import type { LogStore } from '../ports/log-store.ts';
import { createAppliedSet, isApplied, markApplied, type AppliedSet } from './applied-set.ts';
import { gatherBatch, type Batch } from './batch.ts';
import { ChosenQueue } from '../payload/chosen-queue.ts';
import { LeadingChecks } from './leading-checks.ts';
import { missingFromLog, readAgain, readEntries, readMissing } from './log-reader.ts';
import { createPassage, forget, keptAt, meaningAt, pass, takesEffect, type Passage } from './passage.ts';
import { RecentOutcomes } from './recent-outcomes.ts';
import type { Meaning } from './succession.ts';
import { takeSnapshot, type VerifyHooks } from './verify-point.ts';

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
  /**
   * The log does not hold what must be applied next (its slot, or parts of a large transaction): only a copy of another replica's database helps.
   * It applies no more until `follow`. Left out: as onDiverged.
   */
  readonly onCopyNeeded?: (reason: string) => void;
  /** Left out: checks are passed over. */
  readonly verify?: VerifyHooks;
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
  /**
   * From here on the sessions commit, under this leadership. Only legal when everything chosen is applied, and its beginning is the newest in it: under an older one they
   * would commit what takes no effect anywhere else. @throws Error if it is not: a broken invariant
   */
  lead(leadership: Ballot): void;
  /** A session has committed the transaction of `slot`. */
  committed(slot: Slot): void;
  /**
   * For a session whose transaction was chosen: resolves when it may commit. It waits, for a bounded time, only while a check in a lower slot
   * is being met; null means at once. @throws Error if the log has passed it as without effect: a broken invariant
   */
  clearToCommit(slot: Slot): Promise<void> | null;
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
  /** What became of the transactions of the last stretch of the log. */
  readonly outcomes: RecentOutcomes;
}

export function createOrderedApply(options: OrderedApplyOptions): OrderedApply {
  return new OrderedApplyLoop(options);
}

class OrderedApplyLoop implements OrderedApply {
  appliedEntries = 0;
  readonly outcomes = new RecentOutcomes();
  private readonly options: OrderedApplyOptions;
  private mode: Mode = 'stopped';
  private database: Database | null = null;
  private applied: AppliedSet = createAppliedSet(0 as Slot);
  private appliedTransactions = new Set<string>();
  private passage: Passage = createPassage();
  /** The newest leadership when the database came up with transactions that sessions had committed out of order. */
  private ledUnder: Ballot | null = null;
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
  private readonly checks: LeadingChecks | null;
  /** Aborted by `stop`. */
  private halt = new AbortController();

  constructor(options: OrderedApplyOptions) {
    this.options = options;
    this.commitPoint = options.commitPoint;
    const { queueEntriesMax: entriesMax, batchBytesMax } = options;
    this.queue = new ChosenQueue({ entriesMax, bytesMax: batchesQueuedMax * batchBytesMax });
    const { verify } = options;
    const onMet = (slot: Slot): void => this.mark(slot);
    this.checks = verify === undefined ? null : new LeadingChecks({ hooks: verify, onMet });
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
    // A database that came from elsewhere may be ahead of the log, which then catches up with what the database has long since.
    this.commitPoint = Math.max(this.commitPoint, last.slot) as Slot;
    if (this.mode === 'leading') {
      for (const item of entries) this.chosenWhileLeading(item);
      this.checks?.reached(this.applied.pointer);
      return;
    }
    this.queue.push(entries);
    this.wake();
  }

  /** Entries that no session commits are in as soon as they are chosen. */
  private chosenWhileLeading(item: SlotEntry): void {
    const { slot } = item;
    const meaning = meaningAt(this.passage, item.entry);
    pass(this.passage, item, meaning);
    this.noteOutcome(slot, meaning);
    if (meaning.kind === 'verify' && this.checks !== null) this.checks.chosen(meaning.check, slot);
    else if (!takesEffect(meaning)) this.mark(slot);
  }

  private noteOutcome(slot: Slot, meaning: Meaning): void {
    const ended =
      (meaning.kind === 'transaction' || meaning.kind === 'superseded') && meaning.head.last
        ? { transaction: meaning.head.transaction, effect: takesEffect(meaning) }
        : null;
    this.outcomes.pass(slot, this.passage.succession.newest, ended);
  }

  async follow(database: Database): Promise<void> {
    const turn = this.turn + 1;
    await this.stop();
    if (this.turn !== turn) return;
    const { pointer, above, aboveTransactions, keep } = await database.applicationPointer();
    const passage = await readAgain(this.options.log, keep, pointer, this.options.batchBytesMax);
    // Told to stop meanwhile: what was read may be of a PostgreSQL that is no more.
    if (this.turn !== turn) return;
    this.database = database;
    this.applied = createAppliedSet(pointer, above);
    this.appliedTransactions = new Set(aboveTransactions);
    this.storedPointer = pointer;
    // What a crash of PostgreSQL took back was never reported as durable, so what is left of it is at least that.
    this.durable = Math.min(this.durable, pointer) as Slot;
    // A copy may be behind the database that was here before, and needs again what that one did not need any more.
    this.done = Math.min(this.done, keep.keepFrom - 1) as Slot;
    // Nothing is applied that was not chosen: a database copied from another replica may know more than this replica's log.
    this.commitPoint = Math.max(this.commitPoint, pointer) as Slot;
    this.ledUnder = above.length + aboveTransactions.length > 0 ? keep.leadership : null;
    this.queue.clear();
    this.passage = passage;
    this.outcomes.startAt(pointer, keep.leadership);
    this.keptAt.clear();
    this.keptAt.set(pointer, keep.keepFrom);
    this.halt = new AbortController();
    this.options.onEvent({ name: 'DatabaseUp', applicationPointer: pointer, above });
    this.mode = 'following';
    this.report();
    this.wake();
  }

  lead(leadership: Ballot): void {
    if (this.mode !== 'following' || this.applied.pointer !== this.commitPoint) {
      throw new Error(
        `cannot lead: mode ${this.mode}, applied ${this.applied.pointer}, commit point ${this.commitPoint}`,
      );
    }
    const { newest } = this.passage.succession;
    if (!sameBallot(newest, leadership)) {
      throw new Error(
        `cannot lead in ballot ${ballotLabel(leadership)}: the newest leader in the data is that of ${ballotLabel(newest)}, so what is committed here would take effect nowhere else`,
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

  clearToCommit(slot: Slot): Promise<void> | null {
    // Only its session brings it in, and that has not: what counts as in already was passed over (takesEffect), here and everywhere.
    if (this.mode === 'leading' && isApplied(this.applied, slot)) {
      throw new Error(
        `the transaction of slot ${slot} takes no effect on the other replicas: it must not be committed here`,
      );
    }
    return this.checks?.clear(slot) ?? null;
  }

  private mark(slot: Slot): void {
    if (!markApplied(this.applied, slot)) return;
    this.report();
    if (this.mode === 'leading') this.checks?.reached(this.applied.pointer);
  }

  async stop(): Promise<void> {
    this.turn++;
    this.mode = 'stopped';
    this.halt.abort();
    await this.checks?.stop();
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
      forget(this.passage, upTo);
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
    const kept = keptAt(this.passage, pointer);
    this.keptAt.set(pointer, kept.keepFrom);
    return kept;
  }

  /** `durable` is what a crash leaves at least; what was stored with it says how far back it would read. */
  private letGo(durable: Slot): void {
    const keep = this.keptAt.get(durable);
    if (keep !== undefined && keep - 1 > this.done) this.done = (keep - 1) as Slot;
    for (const pointer of this.keptAt.keys()) if (pointer < durable) this.keptAt.delete(pointer);
  }

  /** Nothing of a database that has been taken away meanwhile, and perhaps lost. */
  private report(): void {
    if (this.mode === 'stopped') return;
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
    await readMissing(this.options.log, this.passage, this.options.batchBytesMax);
    const from = (this.applied.pointer + 1) as Slot;
    const entries = await this.nextEntries(from);
    // Told to stop while the log was read: `from` may not be the next slot of the database any more.
    if (this.mode !== 'following') return;
    const first = entries[0]!;
    const meaning = meaningAt(this.passage, first.entry);
    if (meaning.kind === 'verify' && !(await this.check(meaning.check, first.slot))) return;
    const batch = this.gather(entries);
    const toSlot = batch.slots.at(-1)!.slot;
    await this.database!.apply(batch.slots, this.keepAt(toSlot));
    this.storedPointer = toSlot;
    forget(this.passage, toSlot);
    this.appliedEntries += batch.applied.length;
    for (const [slot, entryMeaning] of batch.passed) {
      this.noteOutcome(slot, entryMeaning);
      markApplied(this.applied, slot);
    }
    const { applied, sql } = batch;
    this.options.onEvent({ name: 'ApplyBatch', fromSlot: from, toSlot, applied, sql: sql.slice(0, 20) });
    this.report();
  }

  private gather(entries: readonly SlotEntry[]): Batch {
    const { passage, applied, appliedTransactions } = this;
    const { log, verify } = this.options;
    return gatherBatch(entries, { log, passage, applied, appliedTransactions, checks: verify !== undefined });
  }

  /** The database stands just below the check's slot, which changes nothing. False if told to stop. */
  private async check(check: string, slot: Slot): Promise<boolean> {
    const { verify } = this.options;
    if (verify === undefined) return true;
    const { ledUnder } = this;
    // What this replica's sessions committed while it led stands below the next leader's beginning; until that has come it may be above.
    if (ledUnder !== null && compareBallots(this.passage.succession.newest, ledUnder) <= 0) {
      verify.onVerifyGivenUp(check, slot, 'this replica had committed transactions of higher slots before');
      return true;
    }
    return (await takeSnapshot(verify, { check, slot }, this.halt.signal)) !== 'stopped';
  }

  /** From memory if the queue reaches back far enough, else from the log. */
  private async nextEntries(from: Slot): Promise<SlotEntry[]> {
    const { batchEntriesMax, batchBytesMax } = this.options;
    const queued = this.queue.take(from, batchEntriesMax, batchBytesMax);
    if (queued.length > 0) return queued;
    const to = Math.min(this.commitPoint, from + batchEntriesMax - 1) as Slot;
    return readEntries(this.options.log, from, to, batchBytesMax);
  }

  /** Database failures are expected outcomes here; anything else is a defect and must surface. */
  private async guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.mode = 'stopped';
      const missing = missingFromLog(error);
      if (missing !== null) (this.options.onCopyNeeded ?? this.options.onDiverged)(missing.message);
      else if (!(error instanceof DatabaseError)) {
        this.options.onDiverged(error instanceof Error ? error.message : String(error));
      } else if (error.code === 'applyFailed') this.options.onDiverged(error.message);
      else this.options.onDatabaseDown(error);
    }
  }
}
