/**
 * Proposes the WAL of this replica's primary in ranges, in order, and tells PostgreSQL what is chosen.
 *
 * Responsible for: gathering what one turn of the event loop brings, and what comes while a range is on its way and the log is being written to, or within an interval; its bounds, the window of the core, and back-pressure: a core that takes no more stops the reading of PostgreSQL's WAL. Belongs to one leadership.
 * Invariants: ranges are proposed without a gap and in order, each once; nothing is reported that is not chosen with effect in this leadership; at most `queueBytesMax` wait, but for what one read has brought.
 */
import type { Ballot, EntryLabel } from '../../multipaxos/types/names.ts';
import type { Timers } from '../../ports/clock.ts';
import type { WalStream } from '../../ports/database-server.ts';
import type { ProposeResult } from '../payload.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';
import { encodeRange, rangeOverhead } from './wal-entry.ts';

/** So much waits for no write: the others have work with it that goes on beside. */
const gatheredBytesMax = 64 * 1024;

export interface ShipperOptions {
  readonly leadership: Ballot;
  readonly timeline: Timeline;
  /** Where the first range begins. */
  readonly from: Lsn;
  readonly entryBytesMax: number;
  readonly queueBytesMax: number;
  readonly propose: (payload: Uint8Array) => ProposeResult;
  /** The log is being written to. `ship` is called when that is over. */
  readonly isWriting: () => boolean;
  /** So far apart groups begin at least, where they are not full earlier; null: as long as the log is written to. */
  readonly groupIntervalMs: () => number | null;
  readonly onShipped: (label: EntryLabel, start: Lsn, chunks: readonly Buffer[]) => void;
  readonly onReleased: (start: Lsn, position: Lsn) => void;
  /** How long it took from proposing a range to its being chosen. */
  readonly onAgreed: (ms: number) => void;
  readonly timers: Pick<Timers, 'soon' | 'after' | 'nowMs'>;
}

export class Shipper {
  private readonly options: ShipperOptions;
  private stream: WalStream | null = null;
  private pieces: Buffer[] = [];
  private queuedBytes = 0;
  /** Where the first of `pieces` begins. */
  private next: Lsn;
  private released: Lsn;
  /** What is chosen beyond is not reported for now. */
  private held: Lsn | null = null;
  private scheduled = false;
  private reporting = false;
  /** Proposed and not chosen, the oldest first; the core's window bounds them. */
  private proposed: { readonly end: Lsn; readonly atMs: number }[] = [];
  private paused = false;
  private stopped = false;
  private resting = false;
  private shippedAtMs = Number.NEGATIVE_INFINITY;
  private stopGathering: (() => void) | null = null;

  constructor(options: ShipperOptions) {
    this.options = options;
    this.next = options.from;
    this.released = options.from;
  }

  /** From now on it reports to this stream. */
  attach(stream: WalStream): void {
    this.stream = stream;
    stream.report(this.released);
  }

  /** PostgreSQL is not read from, for too much waits. */
  get isPaused(): boolean {
    return this.paused;
  }

  /** All that was received: proposed or waiting. */
  get received(): Lsn {
    return (this.next + this.queuedBytes) as Lsn;
  }

  /** PostgreSQL has been told that everything below is chosen. */
  get releasedTo(): Lsn {
    return this.released;
  }

  /** Of WAL that is received and not chosen. */
  get unchosenBytes(): number {
    return this.received - this.released;
  }

  /** Null: nothing that is proposed waits to be chosen. */
  get oldestProposedAtMs(): number | null {
    return this.proposed[0]?.atMs ?? null;
  }

  /** Consecutive, each piece ending where WAL may be cut. They are views of what was read, kept for as long as they wait. */
  take(pieces: readonly Buffer[]): void {
    if (this.stopped) return;
    for (const piece of pieces) {
      this.pieces.push(piece);
      this.queuedBytes += piece.length;
    }
    if (this.queuedBytes > this.options.queueBytesMax && !this.paused) {
      this.paused = true;
      this.stream?.pause();
    }
    this.shipSoon();
  }

  /** What else this turn of the event loop brings goes along. */
  private shipSoon(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.options.timers.soon(() => {
      this.scheduled = false;
      this.ship();
    });
  }

  /**
   * Proposes what waits, as far as the core takes it: called again when slots have been chosen, and when the log has been written to.
   *
   * This replica's log is written in groups: a range that comes while it is being written to waits for that anyway, and with all that has come by then it costs the messages and votes of one.
   */
  ship(): void {
    while (!this.stopped && !this.resting && this.pieces.length > 0 && !this.mayGather()) {
      const { leadership, timeline } = this.options;
      const { count, bytes } = this.nextRange();
      const chunks = this.pieces.slice(0, count);
      const result = this.options.propose(encodeRange({ leadership, timeline, start: this.next }, chunks));
      if (result.code === 'notLeader') this.stop();
      if (result.code !== 'proposed') return;
      this.pieces = this.pieces.slice(count);
      this.queuedBytes -= bytes;
      const start = this.next;
      this.next = (start + bytes) as Lsn;
      this.shippedAtMs = this.options.timers.nowMs();
      this.proposed.push({ end: this.next, atMs: this.shippedAtMs });
      this.options.onShipped(result.label, start, chunks);
      this.resumeIfLow();
    }
  }

  private mayGather(): boolean {
    if (this.queuedBytes >= gatheredBytesMax) return false;
    const intervalMs = this.options.groupIntervalMs();
    if (intervalMs !== null) return this.isWithin(intervalMs);
    // Never without a range of its own that is on its way: then nothing would have to call again.
    return this.proposed.length > 0 && this.options.isWriting();
  }

  /** What waits goes out when the interval is over. */
  private isWithin(intervalMs: number): boolean {
    const { timers } = this.options;
    const leftMs = this.shippedAtMs + intervalMs - timers.nowMs();
    if (leftMs <= 0) return false;
    this.stopGathering ??= timers.after(leftMs, () => {
      this.stopGathering = null;
      this.ship();
    });
    return true;
  }

  /** At least one piece: none is longer than a page more than an entry may be (a walsender sends 128 KB at most). */
  private nextRange(): { readonly count: number; readonly bytes: number } {
    const room = this.options.entryBytesMax - rangeOverhead(this.options.leadership);
    let count = 0;
    let bytes = 0;
    for (const piece of this.pieces) {
      if (count > 0 && bytes + piece.length > room) break;
      bytes += piece.length;
      count += 1;
    }
    return { count, bytes };
  }

  private resumeIfLow(): void {
    if (!this.paused || this.queuedBytes > this.options.queueBytesMax / 2) return;
    this.paused = false;
    this.stream?.resume();
  }

  /** A range of this leadership has taken effect: the chosen WAL ends at `end` now. */
  chosen(end: Lsn): void {
    if (this.stopped) return;
    this.measure(end);
    // What was gathered need not wait for a write that the others did without.
    if (this.pieces.length > 0 && this.proposed.length === 0) this.shipSoon();
    const until = this.held === null ? end : (Math.min(end, this.held) as Lsn);
    if (until <= this.released) return;
    const start = this.released;
    this.released = until;
    this.options.onReleased(start, until);
    this.report();
  }

  /** What one message has brought is reported at once: each report wakes PostgreSQL. */
  private report(): void {
    if (this.reporting) return;
    this.reporting = true;
    queueMicrotask(() => {
      this.reporting = false;
      if (!this.stopped) this.stream?.report(this.released);
    });
  }

  private measure(end: Lsn): void {
    const nowMs = this.options.timers.nowMs();
    let first = this.proposed[0];
    while (first !== undefined && first.end <= end) {
      this.options.onAgreed(nowMs - first.atMs);
      this.proposed.shift();
      first = this.proposed[0];
    }
  }

  /** Proposes nothing, until it is to again. What is proposed already goes on. */
  rest(isResting: boolean): void {
    this.resting = isResting;
    if (!isResting) this.ship();
  }

  /** Reports nothing beyond this position until `letGo`. */
  hold(position: Lsn): void {
    this.held = position;
  }

  letGo(end: Lsn): void {
    this.held = null;
    this.chosen(end);
  }

  stop(): void {
    this.stopped = true;
    this.stopGathering?.();
    this.pieces = [];
    this.queuedBytes = 0;
    this.stream?.close();
  }
}
