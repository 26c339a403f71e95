/**
 * How far a standby is, in slots: from what PostgreSQL reports in positions of the WAL. Pure.
 *
 * Invariant: what is said to be flushed or replayed is of the chosen chain; where that has left a timeline, what the standby had beyond counts for nothing.
 */
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { StandbyReport } from '../../../ports/database-server.ts';
import type { ChosenWal } from '../chosen-wal.ts';
import type { Lsn } from '../../../wal/lsn.ts';
import type { WalPosition } from '../../../wal/position.ts';

/** A standby that is asked answers within moments. */
const puzzledAfterMs = 50;

export class StandbyProgress {
  private readonly wal: Pick<ChosenWal, 'position' | 'positionAt' | 'base'>;
  /** How far it had come when it was started: its pages may be of anywhere up to here. */
  private readonly startedAt: Lsn;
  private receivedTo: Lsn;
  private flushedTo: Lsn;
  private replayedTo: Lsn;
  /** When it reported something new; null: it has reported nothing yet. */
  private movedAtMs: number | null = null;
  /** The same of what it has replayed. */
  private replayMovedAtMs: number | null = null;
  /** The end of the last whole record, of the chosen WAL that ends at `at`. */
  private whole: { readonly at: Lsn; readonly slot: Slot; readonly end: Lsn } | null = null;

  constructor(wal: Pick<ChosenWal, 'position' | 'positionAt' | 'base'>) {
    this.wal = wal;
    this.startedAt = wal.base.end;
    this.receivedTo = wal.base.end;
    this.flushedTo = wal.base.end;
    this.replayedTo = 0 as Lsn;
  }

  /** Of what it was sent. For people: what it has not flushed it may lose. */
  get received(): Lsn {
    return this.receivedTo;
  }

  get flushed(): Lsn {
    return this.flushedTo;
  }

  get replayed(): Lsn {
    return this.replayedTo;
  }

  /** True if that is further than before. */
  report({ written, flushed, replayed }: StandbyReport, nowMs: number): boolean {
    this.receivedTo = Math.max(this.receivedTo, written, flushed) as Lsn;
    const isNews = flushed > this.flushedTo || replayed > this.replayedTo;
    if (isNews || this.movedAtMs === null) this.movedAtMs = nowMs;
    if (replayed > this.replayedTo || this.replayMovedAtMs === null) this.replayMovedAtMs = nowMs;
    if (flushed > this.flushedTo) this.flushedTo = flushed;
    if (replayed > this.replayedTo) this.replayedTo = replayed;
    return isNews;
  }

  /** The chosen WAL goes on from here on another timeline. */
  fork(at: Lsn): void {
    if (this.receivedTo > at) this.receivedTo = at;
    if (this.flushedTo > at) this.flushedTo = at;
  }

  /** All WAL that is chosen is there; part of a record at its end cannot be replayed. */
  get hasAll(): boolean {
    return this.flushedTo >= this.wal.position.end;
  }

  /** What has been found out about the end of the chosen WAL. */
  wholeRecords(position: WalPosition, end: Lsn): void {
    this.whole = { at: position.end, slot: position.slot, end };
  }

  get hasReported(): boolean {
    return this.movedAtMs !== null;
  }

  /** For how long it has reported nothing new; without end while it has reported nothing at all. */
  unchangedForMs(nowMs: number): number {
    return this.movedAtMs === null ? Number.POSITIVE_INFINITY : nowMs - this.movedAtMs;
  }

  /** The same of what it has replayed, whatever else it reports. */
  replayStoodForMs(nowMs: number): number {
    return this.replayMovedAtMs === null ? Number.POSITIVE_INFINITY : nowMs - this.replayMovedAtMs;
  }

  /** True if it stands still below the end, and it is not known whether all that can be replayed is. */
  isPuzzled(nowMs: number): boolean {
    const { end } = this.wal.position;
    const stands = this.movedAtMs !== null && nowMs - this.movedAtMs > puzzledAfterMs;
    return stands && this.hasAll && this.replayedTo < end && this.whole?.at !== end;
  }

  /** PostgreSQL lets nobody in before that. */
  get isConsistent(): boolean {
    return this.replayedTo >= this.startedAt || this.hasReplayedAll;
  }

  /** Everything up to it is replayed. */
  get appliedSlot(): Slot {
    return this.hasReplayedAll ? this.wal.position.slot : this.wal.positionAt(this.replayedTo).slot;
  }

  private get hasReplayedAll(): boolean {
    const { end } = this.wal.position;
    const { whole } = this;
    if (this.replayedTo >= end) return true;
    return whole?.at === end && this.replayedTo >= whole.end && this.hasAll;
  }

  /** Everything up to it is in the directory, durably. */
  get durable(): WalPosition {
    return this.wal.positionAt(this.flushedTo);
  }
}
