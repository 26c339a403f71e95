/**
 * The data of a modelled PostgreSQL that runs: pages in memory, outcomes of transactions, which ids are given out. A primary changes it by the records that it writes, a standby by those that it replays.
 *
 * Invariants: a page goes to disk only if the WAL that changed it is synced; a record changes no page that is newer than it.
 */
import type { Random } from '../../../ports/testing/random.ts';
import type { Lsn } from '../../../wal/lsn.ts';
import type { ModelDisk, Outcome, Page, Settled } from './model-disk.ts';
import type { CheckpointFacts, ModelChange } from './model-records.ts';
import { type Vacuum, vacuumed } from './model-vacuum.ts';

/** A page of the list of all commits covers so many bytes of WAL. */
const commitsPageBytes = 64 * 1024;
const commitsPrefix = '\u0000commits ';

export class ModelBuffers {
  nextXid: bigint;
  /** Transactions that have begun and not ended, as far as is known; on a standby, ids that were passed over, too. */
  readonly running: Set<bigint>;
  readonly prepared: Map<string, bigint>;
  private readonly disk: ModelDisk;
  private readonly pages: Map<string, Page>;
  private readonly outcomes: Map<bigint, Outcome>;
  private settled: Settled;
  /** Of which the disk knows nothing yet: where the records end that say them. */
  private readonly unwritten = new Map<bigint, Lsn>();
  private readonly dirty = new Set<string>();
  /** Of the list of all commits: numbers of its pages. */
  private commitsPages: number[];

  /** As read from disk. @throws Error if there is no database */
  constructor(disk: ModelDisk) {
    const { control } = disk;
    if (control === null) throw new Error('there is no control file');
    this.disk = disk;
    this.nextXid = control.redo.nextXid;
    this.running = new Set(control.redo.running);
    this.pages = new Map(disk.pages);
    this.commitsPages = [...this.pages.keys()]
      .filter((key) => key.startsWith(commitsPrefix))
      .map((key) => Number(key.slice(commitsPrefix.length)))
      .toSorted((one, other) => one - other);
    this.prepared = new Map(disk.prepared);
    this.outcomes = new Map(disk.outcomes);
    this.settled = control.settled;
  }

  /** `end`: of the record that says so. */
  apply(change: ModelChange, end: Lsn): void {
    switch (change.kind) {
      case 'row':
        this.observe(change.xid);
        this.addRow(change.key, change.xid, change.value, end);
        return;
      case 'drop':
        this.observe(change.xid);
        this.addRow(change.key, change.xid, null, end);
        return;
      case 'vacuum':
        this.vacuum(change, end);
        return;
      case 'commit':
      case 'abort':
        this.observe(change.xid);
        this.end(change.xid, change.kind === 'commit' ? 'committed' : 'aborted', end);
        return;
      case 'prepare':
        this.observe(change.xid);
        this.prepared.set(change.name, change.xid);
        return;
      case 'commitPrepared':
      case 'abortPrepared':
        this.prepared.delete(change.name);
        this.end(change.xid, change.kind === 'commitPrepared' ? 'committed' : 'aborted', end);
        return;
      case 'checkpoint':
        this.prune(change.facts);
        return;
      case 'filler':
      case 'endOfRecovery':
      case 'givenUp':
        return;
      default:
        change satisfies never;
    }
  }

  /** Ids are given out in order: those below have been, too. */
  private observe(xid: bigint): void {
    for (; this.nextXid <= xid; this.nextXid += 1n) this.running.add(this.nextXid);
  }

  private end(xid: bigint, outcome: Outcome, lsn: Lsn): void {
    this.running.delete(xid);
    // A recovery may have found it counted.
    if (xid >= this.settled.below) {
      this.outcomes.set(xid, outcome);
      this.unwritten.set(xid, lsn);
    }
    if (outcome !== 'committed') return;
    const number = Math.floor(lsn / commitsPageBytes);
    const page = `${commitsPrefix}${number}`;
    // A recovery may have found a later one on the disk.
    if (!this.pages.has(page))
      this.commitsPages.splice(this.commitsPages.findLastIndex((one) => one < number) + 1, 0, number);
    this.addRow(page, xid, String(lsn), lsn);
  }

  private addRow(key: string, xid: bigint, value: string | null, end: Lsn): void {
    const page = this.pages.get(key) ?? { lsn: 0 as Lsn, rows: [] };
    if (page.lsn >= end) return;
    this.pages.set(key, { lsn: end, rows: [...page.rows, { xid, value }] });
    this.dirty.add(key);
  }

  /** A page without rows is one that is gone, once the disk knows. */
  private vacuum({ horizon, outcomesFrom, commitsFrom }: Vacuum, end: Lsn): void {
    const isCommitted = (xid: bigint): boolean => this.isCommitted(xid);
    const oldest = Math.floor(commitsFrom / commitsPageBytes);
    const isOld = (key: string): boolean =>
      key.startsWith(commitsPrefix) && Number(key.slice(commitsPrefix.length)) < oldest;
    for (const [key, page] of this.pages) {
      if (page.lsn >= end) continue;
      const rows = isOld(key) ? [] : vacuumed(page.rows, horizon, isCommitted);
      if (rows === page.rows) continue;
      this.pages.set(key, { lsn: end, rows });
      this.dirty.add(key);
    }
    this.commitsPages = this.commitsPages.filter((number) => number >= oldest);
    this.settle(outcomesFrom);
  }

  private settle(below: bigint): void {
    if (below <= this.settled.below) return;
    let { ended } = this.settled;
    for (const xid of this.outcomes.keys()) {
      if (xid >= below) continue;
      this.outcomes.delete(xid);
      this.unwritten.delete(xid);
      ended += 1;
    }
    this.settled = { below, ended };
  }

  /** What was running then, and is not any more, has ended without a word: its PostgreSQL died. */
  private prune({ running, nextXid }: CheckpointFacts): void {
    const known = new Set([...running, ...this.prepared.values()]);
    for (const xid of this.running) if (xid < nextXid && !known.has(xid)) this.running.delete(xid);
  }

  /** A value of the page changes by itself, as broken memory does it, and is written. */
  alter(key: string, value: string): void {
    const page = this.pages.get(key)!;
    const last = page.rows.length - 1;
    this.pages.set(key, { ...page, rows: page.rows.with(last, { ...page.rows[last]!, value }) });
    this.dirty.add(key);
  }

  /** A recovery is over: what has not ended never will, but for what is prepared. */
  forgetRunning(): void {
    this.running.clear();
    for (const xid of this.prepared.values()) this.running.add(xid);
  }

  /** Of a transaction that has ended by a record that was replayed or written, unless that was long ago. */
  outcomeOf(xid: bigint): Outcome | null {
    return this.outcomes.get(xid) ?? null;
  }

  /** Outcomes of transactions below are not known any more. */
  get oldestKnown(): bigint {
    return this.settled.below;
  }

  get endedTransactions(): number {
    return this.settled.ended + this.outcomes.size;
  }

  /** Of a transaction that has rows. */
  isCommitted(xid: bigint): boolean {
    return xid < this.settled.below || this.outcomes.get(xid) === 'committed';
  }

  /** The list of a key, as far as its transactions are committed. */
  list(key: string, isVisible: (xid: bigint) => boolean): readonly string[] {
    const rows = this.pages.get(key)?.rows ?? [];
    const shown = rows.filter(({ xid }) => this.isCommitted(xid) && isVisible(xid));
    const dropped = shown.findLastIndex(({ value }) => value === null);
    return shown.slice(dropped + 1).map(({ value }) => value!);
  }

  keys(): readonly string[] {
    return [...this.pages]
      .flatMap(([key, { rows }]) => (rows.length === 0 || key.startsWith(commitsPrefix) ? [] : [key]))
      .toSorted();
  }

  /** All commits, in the order of the WAL: the id, and where its record ends. Where it vacuums, those of the last while. */
  commits(): readonly string[] {
    return this.commitsPages.flatMap((number) => this.commitsOf(number));
  }

  private commitsOf(page: number): readonly string[] {
    return this.pages.get(`${commitsPrefix}${page}`)!.rows.map(({ xid, value }) => `${xid}@${value}`);
  }

  /** How many there are, and the last. */
  newestCommit(): { readonly count: number; readonly last: string } | null {
    const last = this.commitsPages.at(-1);
    if (last === undefined) return null;
    let count = 0;
    for (const number of this.commitsPages) count += this.pages.get(`${commitsPrefix}${number}`)!.rows.length;
    const { xid, value } = this.pages.get(`${commitsPrefix}${last}`)!.rows.at(-1)!;
    return { count, last: `${xid}@${value}` };
  }

  /** Some of what is dirty goes to disk, as far as its WAL is synced. */
  writeSome(random: Random, syncedTo: Lsn): void {
    for (const key of this.dirty) {
      const page = this.pages.get(key)!;
      if (page.lsn <= syncedTo && random.chance(0.5)) this.putPage(key, page);
    }
    for (const [xid, lsn] of this.unwritten) if (lsn <= syncedTo && random.chance(0.5)) this.putOutcome(xid);
  }

  /**
   * What is dirty now. The function that is returned brings it to disk as it is now, whatever is written meanwhile, and tells what its checkpoint has to note: to be called when all WAL up to now is synced. No vacuum may come between.
   */
  capture(): () => Settled {
    const pages = [...this.dirty].map((key) => [key, this.pages.get(key)!] as const);
    const outcomes = [...this.unwritten.keys()];
    const prepared = new Map(this.prepared);
    const { settled } = this;
    return () => {
      for (const [key, page] of pages) this.putPage(key, page);
      for (const xid of outcomes) this.putOutcome(xid);
      this.disk.prepared = prepared;
      return settled;
    };
  }

  private putPage(key: string, page: Page): void {
    const isGone = page.rows.length === 0;
    if ((this.disk.pages.get(key)?.lsn ?? 0) < page.lsn) {
      if (isGone) this.disk.pages.delete(key);
      else this.disk.pages.set(key, page);
    }
    if (this.pages.get(key) === page) {
      this.dirty.delete(key);
      if (isGone) this.pages.delete(key);
    }
    const { control } = this.disk;
    if (control !== null && page.lsn > control.mustReach)
      this.disk.control = { ...control, mustReach: page.lsn };
  }

  private putOutcome(xid: bigint): void {
    this.disk.outcomes.set(xid, this.outcomes.get(xid)!);
    this.unwritten.delete(xid);
  }
}
