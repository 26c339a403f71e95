/**
 * The log of a protocol's host: records in order, group commit, and a full disk as waiting. Multi-Paxos has its own (consensus/core-host.ts), which hurries votes.
 *
 * Invariant: `onDurable` is told only after the log store has said that the records are durable, in order. What waits is counted, so that the host can drop what would add to it.
 */
import type { Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import { LogStoreError, type LogStore } from '../../ports/log-store.ts';

type Work = 'append' | 'purge';

const retryMs = 500;
const waitingRecordsMax = 8192;

export interface RecordLogOptions {
  readonly log: LogStore;
  readonly timers: Timers;
  readonly onDurable: (seq: number) => void;
  /** Null: it can be written again. */
  readonly onTrouble: (error: Error | null) => void;
  readonly onFailed: (error: Error) => void;
}

export class RecordLog {
  private readonly options: RecordLogOptions;
  private waiting: { readonly seq: number; readonly records: readonly LogRecord[] }[] = [];
  private waitingRecords = 0;
  private isWriting = false;
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
    return this.troubled.has('append') || this.waitingRecords > waitingRecordsMax;
  }

  stop(): void {
    this.isStopped = true;
  }

  persist(seq: number, records: readonly LogRecord[]): void {
    this.waiting.push({ seq, records });
    this.waitingRecords += records.length;
    void this.write();
  }

  private async write(): Promise<void> {
    if (this.isWriting) return;
    this.isWriting = true;
    while (this.waiting.length > 0 && !this.isStopped) {
      const group = this.waiting;
      this.waiting = [];
      const records = group.flatMap((item) => item.records);
      if (!(await this.untilDone('append', () => this.options.log.append(records)))) break;
      this.waitingRecords -= records.length;
      this.options.onDurable(group.at(-1)!.seq);
    }
    this.isWriting = false;
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
        await pause(this.options.timers, retryMs);
      }
    }
    return false;
  }
}
