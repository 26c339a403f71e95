/**
 * The end of the WAL of a modelled primary: where records are put, and how far it is synced.
 *
 * Invariants: what is synced grows only; it ends at the end of a record or of a page, as PostgreSQL's does.
 */
import type { Timers } from '../../../ports/clock.ts';
import { walPageBytes, type Lsn } from '../../../wal/lsn.ts';
import { encodeRecord, type WalPlace } from '../../../wal/record/testing/encode-record.ts';
import type { ModelBuffers } from './model-buffers.ts';
import { recordOf, type ModelChange } from './model-records.ts';
import type { WalFiles } from './wal-files.ts';

export class ModelWriter {
  private readonly wal: WalFiles;
  private readonly buffers: ModelBuffers;
  private place: WalPlace;
  private synced: Lsn;
  private waiters: { readonly to: Lsn; readonly done: () => void }[] = [];
  private syncing = false;
  private readonly timers: Timers;
  private readonly syncMs: () => number;
  /** More of the WAL is synced. */
  onSynced: () => void = () => undefined;

  constructor(
    {
      wal,
      buffers,
      place,
    }: { readonly wal: WalFiles; readonly buffers: ModelBuffers; readonly place: WalPlace },
    { timers, syncMs }: { readonly timers: Timers; readonly syncMs: () => number },
  ) {
    this.wal = wal;
    this.buffers = buffers;
    this.place = place;
    this.synced = place.at;
    this.timers = timers;
    this.syncMs = syncMs;
  }

  get timeline(): WalPlace['timeline'] {
    return this.place.timeline;
  }

  /** The end of what was written. */
  get end(): Lsn {
    return this.place.at;
  }

  get syncedTo(): Lsn {
    return this.synced;
  }

  /** Returns the end of the record. What it says is done in memory at once. */
  insert(change: ModelChange): Lsn {
    const { bytes, start, end } = encodeRecord(this.place, recordOf(change));
    this.wal.write(this.place.timeline, this.place.at, bytes);
    this.place = { ...this.place, at: end, previous: start };
    this.buffers.apply(change, end);
    return end;
  }

  /** Resolves when everything up to `to` is durable. Those who wait at the same time share one write. */
  sync(to: Lsn): Promise<void> {
    if (to <= this.synced) return Promise.resolve();
    return new Promise((done) => {
      this.waiters.push({ to, done });
      this.begin();
    });
  }

  private begin(): void {
    if (this.syncing || this.waiters.length === 0) return;
    this.syncing = true;
    const to = this.place.at;
    this.timers.after(this.syncMs(), () => {
      this.syncing = false;
      this.advance(to);
      this.begin();
    });
  }

  /** As PostgreSQL's writer does it by itself: whole pages. */
  syncPages(): void {
    this.advance((this.place.at - (this.place.at % walPageBytes)) as Lsn);
  }

  private advance(to: Lsn): void {
    if (to <= this.synced) return;
    this.synced = to;
    this.wal.sync(this.place.timeline, to);
    const due = this.waiters.filter((waiter) => waiter.to <= to);
    this.waiters = this.waiters.filter((waiter) => waiter.to > to);
    for (const { done } of due) done();
    this.onSynced();
  }
}
