/**
 * Brings a replica's data to exactly one position of the WAL for as long as a snapshot of it takes: nothing above is visible, nothing below is missing.
 *
 * Responsible for: waiting until the database stands there, and the bounds of taking the snapshot. While it lasts the payload feeds and releases nothing beyond. What is done with the snapshot is for others.
 * Invariants: commits never wait longer than `waitMs` for one check; a check that was given up is reported, once, and its signal is aborted, so that a snapshot taken too late is not mistaken for one of that position.
 */
import type { Slot } from '../../multipaxos/types/names.ts';
import { pause } from '../../payload/pause.ts';
import type { WalPosition } from '../../wal/position.ts';
import type { Timers } from '../../ports/clock.ts';

export interface VerifyPointOptions {
  /** True once everything up to the position, and nothing else, is in the database. */
  readonly isThere: (position: WalPosition) => boolean;
  /** Takes a snapshot; what is read from it is read afterwards. Once the signal is aborted it counts for nothing. */
  readonly takeSnapshot: (check: string, position: WalPosition, signal: AbortSignal) => Promise<void>;
  readonly onGivenUp: (check: string, slot: Slot, reason: string) => void;
  /** The payload goes on. */
  readonly letGo: () => void;
  readonly timers: Pick<Timers, 'nowMs' | 'after'>;
  readonly waitMs: number;
  readonly pollMs: number;
}

const abandoned = new Error('the database is not what it was, or another check has begun');

export class VerifyPoint {
  private readonly options: VerifyPointOptions;
  private over: AbortController | null = null;

  constructor(options: VerifyPointOptions) {
    this.options = options;
  }

  /** Ends what is under way, without a report: the database is not what it was. */
  abandon(): void {
    this.over?.abort(abandoned);
  }

  async meet(check: string, position: WalPosition): Promise<void> {
    const { takeSnapshot, onGivenUp, letGo, waitMs, isThere, timers, pollMs } = this.options;
    this.abandon();
    const over = new AbortController();
    this.over = over;
    let awaited = 'the database did not get there';
    // What PostgreSQL is asked may itself wait for something that is held back beyond the position.
    const ended = new Promise<never>((_, reject) => {
      over.signal.addEventListener('abort', () => reject(over.signal.reason as Error), { once: true });
    });
    ended.catch(() => undefined);
    const cancel = timers.after(waitMs, () => over.abort(new Error(`${awaited} within ${waitMs} ms`)));
    try {
      while (!isThere(position)) {
        await pause(timers, pollMs);
        over.signal.throwIfAborted();
      }
      awaited = 'a snapshot could not be had';
      await Promise.race([takeSnapshot(check, position, over.signal), ended]);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (over.signal.reason !== abandoned) onGivenUp(check, position.slot, reason);
    } finally {
      cancel();
      over.abort();
      if (this.over === over) {
        this.over = null;
        letGo();
      }
    }
  }
}
