/**
 * Hands the chosen WAL of a replica to its archive, at the archive's own pace.
 *
 * Responsible for: where to go on (after a start, a fork of timelines, a copy that took the database's place), and for reading from the log and the directory. It pulls: nothing waits for an archive, and an archive that is slow
 * or away for a while costs no memory. What the log has let go of meanwhile is a gap, which the archive tells.
 * Invariants: only chosen WAL is archived, each timeline up to where the next one leaves it.
 */
import type { Logger } from 'pino';
import type { Timers } from '../../ports/clock.ts';
import type { DatabaseDirectory } from '../../ports/database-directory.ts';
import type { ArchiveSource, ArchiveStatus, WalArchive } from '../../ports/wal-archive.ts';
import { pause } from '../pause.ts';
import { type ChosenWal, WalMissingError } from './chosen-wal.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';
import { timelineFile } from '../../wal/timeline-file.ts';
import { endOfTimeline, timelineAt } from '../../wal/position.ts';

export interface ArchivingOptions {
  /** Null while there is no database. */
  readonly wal: () => ChosenWal | null;
  readonly directory: Pick<DatabaseDirectory, 'readWal'>;
  /** Called once, as soon as the group has a database. @throws Error if it cannot be used; it is tried again */
  readonly open: (source: ArchiveSource) => Promise<WalArchive>;
  readonly timers: Timers;
  readonly logger: Logger;
  /** How often it looks for what is new. */
  readonly everyMs: number;
  /** After the archive could not be opened. */
  readonly retryMs: number;
}

const readBytesMax = 1024 * 1024;

export class Archiving {
  private readonly options: ArchivingOptions;
  private readonly end = new AbortController();
  private archive: WalArchive | null = null;
  private problem: string | null = null;
  /** Up to where it was handed over, and on which timeline. */
  private reached: { readonly lsn: Lsn; readonly timeline: Timeline } | null = null;
  private work: Promise<void> = Promise.resolve();

  constructor(options: ArchivingOptions) {
    this.options = options;
  }

  start(): void {
    this.work = this.run();
  }

  async stop(): Promise<void> {
    this.end.abort();
    await this.work;
    await this.archive?.close();
  }

  /** No backup needs what lies below. */
  forgetBelow(lsn: Lsn): void {
    void this.archive?.forgetBelow(lsn);
  }

  /** Null: it has not been opened yet, and nothing has gone wrong. */
  status(): ArchiveStatus | null {
    if (this.archive !== null) return this.archive.status();
    if (this.problem === null) return null;
    return { timeline: null, end: null, durable: null, bytes: 0, gaps: 0, problem: this.problem };
  }

  private async run(): Promise<void> {
    const { timers, everyMs } = this.options;
    while (!this.end.signal.aborted) {
      const wal = this.options.wal();
      const isAhead = wal !== null && wal.position.timeline > 0 && (await this.advance(wal));
      if (!isAhead) await pause(timers, everyMs, this.end.signal);
    }
  }

  /** True if there is more to be had at once. */
  private async advance(wal: ChosenWal): Promise<boolean> {
    this.archive ??= await this.openFor(wal);
    if (this.archive === null) return false;
    const { position } = wal;
    this.reached ??= this.whereItWasLeft(this.archive, position.end);
    const { lsn, timeline } = this.reached;
    // Of a timeline that was left, what lies beyond the fork is nobody's.
    const from = Math.min(lsn, endOfTimeline(position, timeline) ?? lsn) as Lsn;
    const read = await this.read(wal, from, position.end);
    if (read === null) return false;
    const now = timelineAt(position, from);
    let at = from;
    for (const data of read) {
      await this.archive.append({ timeline: now, start: at, data });
      at = (at + data.byteLength) as Lsn;
    }
    this.reached = { lsn: at, timeline: now };
    return at < position.end;
  }

  private whereItWasLeft(archive: WalArchive, now: Lsn): { lsn: Lsn; timeline: Timeline } {
    const { end, timeline } = archive.status();
    return { lsn: end ?? now, timeline: timeline ?? (0 as Timeline) };
  }

  /** Null: there is nothing new. What is not to be had any more is passed over: the archive notices the gap. */
  private async read(wal: ChosenWal, from: Lsn, to: Lsn): Promise<readonly Buffer[] | null> {
    try {
      return await wal.read(from, to, readBytesMax);
    } catch (error) {
      if (!(error instanceof WalMissingError) && (error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.options.logger.warn({ err: error }, 'WAL could not be read for the archive');
      const next = Math.max(from, wal.base.end) === from ? to : wal.base.end;
      this.reached = { lsn: next, timeline: timelineAt(wal.position, next) };
      return null;
    }
  }

  private async openFor(wal: ChosenWal): Promise<WalArchive | null> {
    const { options } = this;
    try {
      const archive = await options.open({
        system: wal.position.system,
        history: (timeline) => timelineFile(options.wal()?.position ?? wal.position, timeline),
        missing: (from, to, timeline) => this.missing(from, to, timeline),
      });
      return archive;
    } catch (error) {
      const problem = (error as Error).message;
      if (problem !== this.problem) options.logger.error({ err: error }, 'the archive of WAL cannot be used');
      this.problem = problem;
      await pause(options.timers, options.retryMs, this.end.signal);
      return null;
    }
  }

  /** Of one timeline, below what is chosen: the directory and the log have the same there, whichever still has it. */
  private async missing(from: Lsn, to: Lsn, timeline: Timeline): Promise<Uint8Array | null> {
    const local = await this.options.directory.readWal(from, timeline, to - from).catch(() => null);
    if (local !== null && local.byteLength === to - from) return local;
    const wal = this.options.wal();
    if (wal === null || timelineAt(wal.position, from) !== timeline) return null;
    const pieces: Buffer[] = [];
    for (let at: number = from; at < to; ) {
      const read = await wal.read(at as Lsn, to, readBytesMax);
      if (read === null) return null;
      pieces.push(...read);
      at += read.reduce((sum, { byteLength }) => sum + byteLength, 0);
    }
    return Buffer.concat(pieces);
  }
}
