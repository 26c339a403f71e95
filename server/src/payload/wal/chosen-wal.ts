/**
 * The chosen WAL of a replica: folds the log as it is chosen, and reads what it holds back by position.
 *
 * Responsible for: folding every slot once and in order, wherever its entry comes from (just chosen, or the log); telling what each does; giving the WAL of the chosen chain from any position that the log still has, or that
 * this replica's own directory has. Knows no PostgreSQL and does not decide who leads.
 * Invariants: effects are told in slot order, each once; what is read is of the chosen chain, never of a range that is nobody's; memory is bounded by `ringBytesMax` and the marks of one log.
 */
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { Timers } from '../../ports/clock.ts';
import type { LogStore } from '../../ports/log-store.ts';
import { ChosenQueue } from '../chosen-queue.ts';
import { formatLsn, walPageBytes, type Lsn, type Timeline } from '../../wal/lsn.ts';
import { foldEntry, type WalEffect } from './wal-history.ts';
import { endOfTimeline, timelineAt, type WalPosition } from '../../wal/position.ts';
import { WalRing } from './wal-ring.ts';

export interface ChosenWalOptions {
  /** What is in the database's directory: folding begins above. */
  readonly base: WalPosition;
  readonly log: Pick<LogStore, 'read'>;
  readonly commitPoint: () => Slot;
  /** WAL that the directory of the database has, durably; empty: it is not there. @throws Error if it cannot be read, which does not say that it is not there */
  readonly readLocal: (from: Lsn, timeline: Timeline, bytesMax: number) => Promise<Buffer>;
  /** What a slot comes to; `position` is that after it. Called in slot order, never within a call of the owner's that is itself called from here. */
  readonly onEffect: (effect: WalEffect, slotEntry: SlotEntry, position: WalPosition) => void;
  /** The log lacks what must come next: only a copy of another replica's database helps. */
  readonly onMissing: (reason: string) => void;
  /** What is in the log makes no sense, or cannot be read. */
  readonly onFailed: (error: Error) => void;
  readonly ringBytesMax: number;
  readonly timers: Pick<Timers, 'soon'>;
}

/** WAL between two marks: how much has to be passed over again to read from a position. */
const markEveryBytes = 1024 * 1024;
const readBytesMax = 1024 * 1024;
/** Slots that are folded before others may run. */
const turnSlots = 512;

/** Neither the log nor the directory have it any more. */
export class WalMissingError extends Error {
  override readonly name = 'WalMissingError';
  /** The directory ought to have it. */
  readonly isOfDirectory: boolean;
  constructor(message: string, { isOfDirectory = false }: { readonly isOfDirectory?: boolean } = {}) {
    super(message);
    this.isOfDirectory = isOfDirectory;
  }
}

export class ChosenWal {
  private readonly options: ChosenWalOptions;
  private readonly queue = new ChosenQueue({ entriesMax: 2000, bytesMax: 16 * 1024 * 1024 });
  private readonly ring: WalRing;
  private folded: WalPosition;
  /** Where reading the log may begin: what the log has let go of lies below the first; the others are at least `markEveryBytes` apart. */
  private marks: WalPosition[];
  /** Of the chosen chain, the directory has everything below. */
  private localEnd: Lsn;
  /** Where the first leadership above the base began. */
  private foundedAt: Lsn | null = null;
  /** The newest positions, for finding the one that a standby has reached. */
  private recent: WalPosition[] = [];
  /** Where the last read from the log ended: the next one mostly goes on there. */
  private cursor: WalPosition | null = null;
  private catchingUp = false;
  private stopped = false;

  constructor(options: ChosenWalOptions) {
    this.options = options;
    this.folded = options.base;
    this.marks = [options.base];
    this.localEnd = options.base.end;
    this.ring = new WalRing(options.ringBytesMax, options.base.end);
  }

  /** What everything up to `position.slot` comes to. */
  get position(): WalPosition {
    return this.folded;
  }

  get base(): WalPosition {
    return this.options.base;
  }

  /** Below it the log has nothing of the chosen chain: the base, or where the first leadership of a group began. */
  get begin(): Lsn {
    const { base } = this;
    return base.timeline === 0 ? (this.foundedAt ?? this.folded.end) : base.end;
  }

  stop(): void {
    this.stopped = true;
    this.queue.clear();
  }

  /** Consecutive entries that have just been chosen. */
  push(entries: readonly SlotEntry[]): void {
    if (this.stopped) return;
    if (!this.catchingUp && entries[0]?.slot === this.folded.slot + 1) {
      this.guarded(() => this.foldAll(entries));
      return;
    }
    this.queue.push(entries);
    void this.catchUp();
  }

  /** Folds what the log has and was not told, such as after a start. Resolves when all that was chosen then is folded. */
  async catchUp(): Promise<void> {
    if (this.catchingUp) return;
    this.catchingUp = true;
    try {
      while (!this.stopped && this.folded.slot < this.options.commitPoint()) {
        const entries = await this.nextEntries();
        if (entries === null) return;
        this.foldAll(entries);
        await new Promise<void>((resolve) => this.options.timers.soon(resolve));
      }
    } catch (error) {
      this.failed(error);
    } finally {
      this.catchingUp = false;
    }
    // What came in the last turn.
    if (!this.stopped && this.folded.slot < this.options.commitPoint()) void this.catchUp();
  }

  private async nextEntries(): Promise<readonly SlotEntry[] | null> {
    const from = (this.folded.slot + 1) as Slot;
    const queued = this.queue.take(from, turnSlots, readBytesMax);
    if (queued.length > 0) return queued;
    const entries = await this.options.log.read(from, this.options.commitPoint(), readBytesMax);
    if (this.stopped) return null;
    if (entries.length === 0) {
      this.stop();
      this.options.onMissing(`slot ${from} is chosen, and this replica's log begins above`);
      return null;
    }
    return entries.map((entry, index) => ({ slot: (from + index) as Slot, entry }));
  }

  private foldAll(entries: readonly SlotEntry[]): void {
    for (const slotEntry of entries) {
      if (this.stopped) return;
      if (slotEntry.slot <= this.folded.slot) continue;
      const { position, effect } = foldEntry(this.folded, slotEntry);
      this.folded = position;
      this.remember(position, effect);
      this.options.onEffect(effect, slotEntry, position);
    }
  }

  private remember(position: WalPosition, effect: WalEffect): void {
    if (effect.kind === 'range') this.ring.append(effect.range.start, asBuffer(effect.range.data));
    if (effect.kind === 'leadership') {
      this.foundedAt ??= position.end;
      this.ring.cut(position.end);
      // Beyond the fork nothing of before counts any more.
      this.recent = this.recent.filter(({ end }) => end <= position.end);
      this.localEnd = Math.min(this.localEnd, position.end) as Lsn;
    }
    const mark = this.marks.at(-1)!;
    if (effect.kind === 'leadership' || position.end - mark.end >= markEveryBytes) this.marks.push(position);
    this.recent.push(position);
    if (this.recent.length > 2 * recentMax) this.recent = this.recent.slice(-recentMax);
  }

  private guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.failed(error);
    }
  }

  private failed(error: unknown): void {
    if (this.stopped) return;
    this.stop();
    this.options.onFailed(error instanceof Error ? error : new Error(String(error)));
  }

  /**
   * The highest position that WAL up to `reached` covers; the base if that is all. `reached` is on the chosen chain.
   */
  positionAt(reached: Lsn): WalPosition {
    const covers = (positions: readonly WalPosition[]): WalPosition | undefined =>
      positions.findLast(({ end }) => end <= reached);
    return covers(this.recent) ?? covers(this.marks) ?? this.options.base;
  }

  /** The log lets go of slots up to that of `durable` at most, which the directory has. */
  purged(durable: WalPosition): void {
    if (durable.slot < this.marks[0]!.slot) return;
    this.marks = [durable, ...this.marks.filter(({ slot }) => slot > durable.slot)];
    // Where its timeline has ended since, the directory has more than the chain does.
    this.localEnd = Math.min(durable.end, endOfTimeline(this.folded, durable.timeline) ?? durable.end) as Lsn;
  }

  /**
   * The WAL of the chosen chain from `from` on, at most up to `limit`; null: none. Each piece ends where an entry does, at a page, or at the limit.
   * @throws WalMissingError if neither log nor directory have it; Error if it cannot be read
   */
  read(
    from: Lsn,
    limit: Lsn,
    bytesMax: number,
  ): readonly Buffer[] | null | Promise<readonly Buffer[] | null> {
    if (from >= limit) return null;
    // What a timeline has beyond its end is nobody's.
    const end = endOfTimeline(this.folded, timelineAt(this.folded, from)) ?? limit;
    return this.readBelow(from, Math.min(limit, end) as Lsn, bytesMax);
  }

  private readBelow(
    from: Lsn,
    limit: Lsn,
    bytesMax: number,
  ): readonly Buffer[] | null | Promise<readonly Buffer[] | null> {
    const inMemory = this.ring.read(from, bytesMax);
    if (inMemory !== null) return cutAt(inMemory, from, limit);
    if (from < this.localEnd)
      return this.readDirectory(from, Math.min(limit, this.localEnd) as Lsn, bytesMax);
    return this.readLog(from, limit, bytesMax);
  }

  /** Ends at the limit, or at a page: WAL may be cut there. */
  private async readDirectory(from: Lsn, limit: Lsn, bytesMax: number): Promise<readonly Buffer[]> {
    const bytes = Math.min(Math.ceil((from + bytesMax) / walPageBytes) * walPageBytes, limit) - from;
    const missing = `the directory of the database has no WAL at ${formatLsn(from)}`;
    const found = await this.options.readLocal(from, timelineAt(this.folded, from), bytes);
    if (found.length === 0) throw new WalMissingError(missing, { isOfDirectory: true });
    return [found];
  }

  private async readLog(from: Lsn, limit: Lsn, bytesMax: number): Promise<readonly Buffer[] | null> {
    const found: Buffer[] = [];
    let next = from;
    let at = this.startOfReading(from);
    while (next - from < bytesMax && next < limit && at.slot < this.folded.slot) {
      const first = (at.slot + 1) as Slot;
      const entries = await this.options.log.read(first, this.folded.slot, readBytesMax);
      if (entries.length === 0) throw new WalMissingError(`slot ${first} is not in the log any more`);
      for (const [index, entry] of entries.entries()) {
        const { end: endBefore, timeline: timelineBefore } = at;
        const { position, effect } = foldEntry(at, { slot: (first + index) as Slot, entry });
        at = position;
        // What was found beyond the fork lies beyond the limit.
        if (effect.kind === 'leadership' && position.end < next) break;
        if (position.end <= next) continue;
        if (effect.kind === 'range') {
          found.push(asBuffer(effect.range.data).subarray(next - effect.range.start));
          next = position.end;
        } else if (timelineBefore !== 0 && position.end > endBefore) {
          const rest = emptyRest(next, position.end, from + bytesMax);
          found.push(rest);
          next = (next + rest.length) as Lsn;
        }
        if (next - from >= bytesMax) break;
      }
    }
    this.cursor = at;
    return found.length === 0 ? null : cutAt(found, from, limit);
  }

  private startOfReading(from: Lsn): WalPosition {
    const mark = this.marks.findLast(({ end }) => end <= from) ?? this.marks[0]!;
    const { cursor } = this;
    return cursor !== null && cursor.end <= from && cursor.slot > mark.slot ? cursor : mark;
  }
}

const recentMax = 2048;

/** What a fork above what is chosen leaves between: up to its end, or to the first page at or above `enough`. */
function emptyRest(from: Lsn, end: Lsn, enough: number): Buffer {
  return Buffer.alloc(Math.min(end, Math.ceil(enough / walPageBytes) * walPageBytes) - from);
}

function asBuffer(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

function cutAt(pieces: readonly Buffer[], from: Lsn, limit: Lsn): Buffer[] {
  const kept: Buffer[] = [];
  let left = limit - from;
  for (const piece of pieces) {
    if (left <= 0) break;
    kept.push(piece.length <= left ? piece : piece.subarray(0, left));
    left -= piece.length;
  }
  return kept;
}
