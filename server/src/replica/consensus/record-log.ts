/**
 * How the host of a core writes its log: records in order, group commit, and a full disk as waiting.
 *
 * Invariant: `onDurable` is told only after the log store has said that the records are durable, in order. What waits is counted, so that the host can drop what would add to it.
 */
import type { Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import { LogStoreError, type LogStore } from '../../ports/log-store.ts';

type Work = 'append' | 'purge';

const waitingRecordsMax = 8192;

export interface RecordLogOptions {
  readonly log: LogStore;
  readonly timers: Timers;
  /** How long to wait before a full log is tried again. */
  readonly retryMs: number;
  /** Beyond so much that waits it is busy: records, unless `sizeOf` counts something else. */
  readonly waitingMax?: number;
  readonly sizeOf?: (records: readonly LogRecord[]) => number;
  /** `tookMs`: since the group was handed to the log store. */
  readonly onDurable: (seq: number, tookMs: number) => void;
  /** Null: it can be written again. */
  readonly onTrouble: (error: Error | null) => void;
  readonly onFailed: (error: Error) => void;
}

export class RecordLog {
  private readonly options: RecordLogOptions;
  private waiting: { readonly seq: number; readonly records: readonly LogRecord[] }[] = [];
  private waitingSize = 0;
  /** Since when the log store has had what is not durable yet; null: it has nothing. */
  private writingSinceMs: number | null = null;
  private isAtWork = false;
  /** What the disk has no room for. */
  private readonly troubled = new Set<Work>();
  private purgeTo: Slot | null = null;
  private isPurging = false;
  private isStopped = false;

  constructor(options: RecordLogOptions) {
    this.options = options;
  }

  /** What would add to it is better dropped, as a lossy network may. */
  get isBusy(): boolean {
    return this.troubled.has('append') || this.waitingSize > (this.options.waitingMax ?? waitingRecordsMax);
  }

  /** What is given to it now waits for the end of a write; then `onDurable` is told. */
  get isWriting(): boolean {
    return this.isAtWork;
  }

  /** For how long what the log store has is not durable; null: it has nothing. */
  get writingForMs(): number | null {
    return this.writingSinceMs === null ? null : this.options.timers.nowMs() - this.writingSinceMs;
  }

  stop(): void {
    this.isStopped = true;
  }

  persist(seq: number, records: readonly LogRecord[]): void {
    this.waiting.push({ seq, records });
    this.waitingSize += this.sizeOf(records);
    void this.write();
  }

  private sizeOf(records: readonly LogRecord[]): number {
    return this.options.sizeOf?.(records) ?? records.length;
  }

  /** Group commit: whatever gathered while the log was writing goes out as one append. */
  private async write(): Promise<void> {
    if (this.isAtWork) return;
    this.isAtWork = true;
    while (this.waiting.length > 0 && !this.isStopped) {
      const group = this.waiting;
      this.waiting = [];
      const records = group.flatMap((item) => item.records);
      const sinceMs = this.options.timers.nowMs();
      this.writingSinceMs = sinceMs;
      if (!(await this.untilDone('append', () => this.options.log.append(records)))) break;
      this.writingSinceMs = null;
      this.waitingSize -= this.sizeOf(records);
      this.options.onDurable(group.at(-1)!.seq, this.options.timers.nowMs() - sinceMs);
    }
    this.isAtWork = false;
  }

  async purge(upTo: Slot): Promise<void> {
    this.purgeTo = upTo;
    if (this.isPurging) return;
    this.isPurging = true;
    while (this.purgeTo !== null && !this.isStopped) {
      const through: Slot = this.purgeTo;
      this.purgeTo = null;
      if (!(await this.untilDone('purge', () => this.options.log.purge(through)))) break;
    }
    this.isPurging = false;
  }

  /** Again and again while the disk is full. False: the host has stopped, or the log has failed. */
  private async untilDone(what: Work, work: () => Promise<void>): Promise<boolean> {
    while (!this.isStopped) {
      try {
        await work();
        if (this.troubled.delete(what) && this.troubled.size === 0) this.options.onTrouble(null);
        return !this.isStopped;
      } catch (error) {
        if (!(error instanceof LogStoreError) || error.code !== 'logFull') {
          if (!this.isStopped)
            this.options.onFailed(error instanceof Error ? error : new Error(String(error)));
          return false;
        }
        if (this.troubled.size === 0) this.options.onTrouble(error);
        this.troubled.add(what);
        await pause(this.options.timers, this.options.retryMs);
      }
    }
    return false;
  }
}
