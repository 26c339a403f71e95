/**
 * Makes backups of the group on a schedule, from this replica's database, and lets go of old ones.
 *
 * Responsible for: when it is this replica's turn (backup-rules.ts), one at a time among replicas that share a store, trying again after a failure, restore tests, and what is told of all this. What it looks at is the store
 * itself, now and then: it remembers nothing that a restart or another replica would have to know.
 * Invariants: it never rejects and never throws; nothing is removed unless the store could be read and as many good backups as are to be kept are newer.
 */
import type { Logger } from 'pino';
import type { BackupReport } from '../../api/status.ts';
import type { Timers } from '../../ports/clock.ts';
import type { BackupStore, KeptBackup, RestoreTestResult } from '../../ports/backup-store.ts';
import type { Lsn } from '../../wal/lsn.ts';
import { byAge, dueAtMs, goodOnes, superfluous } from './backup-rules.ts';
import { BackupTurns } from './backup-turns.ts';

export interface BackupScheduleOptions {
  readonly store: BackupStore;
  /** For people. */
  readonly directory: string;
  readonly everyMs: number;
  readonly keep: number;
  /** 0: no restore tests. */
  readonly testEveryMs: number;
  /** Why this replica's database cannot be copied now; null: it can. */
  readonly whyNot: () => string | null;
  /** It leads, and there are others who could do it. */
  readonly leavesItToOthers: () => boolean;
  /** Restores a backup elsewhere, and says how that went. @throws Error if that could not be tried; the signal's reason */
  readonly test: (backup: KeptBackup, signal: AbortSignal) => Promise<RestoreTestResult>;
  /** No backup that is kept needs WAL from below it. */
  readonly forgetWalBelow: (lsn: Lsn) => void;
  readonly timers: Timers;
  readonly wallMs: () => number;
  readonly logger: Logger;
}

const lookMs = 20_000;
const hangMs = 60_000;
const retryMsMax = 10 * 60_000;

export class BackupSchedule {
  private readonly options: BackupScheduleOptions;
  private readonly end = new AbortController();
  private readonly sinceMs: number;
  private stopTimer: () => void = () => undefined;
  private work: Promise<void> = Promise.resolve();
  /** By the monotonic clock; null: it waits for the next look. */
  private lookingSinceMs: number | null = null;
  private running: BackupReport['running'] = null;
  private kept: readonly KeptBackup[] = [];
  /** `seen`: what there was then. */
  private problem: { readonly text: string; readonly seen: string } | null = null;
  /** Why the store cannot be looked at now. */
  private unreadable: string | null = null;
  /** By the monotonic clock: after a failure nothing is tried until then. */
  private retryAtMs = Number.NEGATIVE_INFINITY;
  /** By the monotonic clock, whatever others say: the next one of this replica's is not made before. */
  private takeAtMs = Number.NEGATIVE_INFINITY;
  private readonly turns: BackupTurns;

  constructor(options: BackupScheduleOptions) {
    this.options = options;
    this.sinceMs = options.wallMs();
    this.turns = new BackupTurns(options);
  }

  start(): void {
    const look = (): void => {
      if (this.lookingSinceMs !== null) return;
      this.lookingSinceMs = this.options.timers.nowMs();
      this.work = this.look().finally(() => {
        this.lookingSinceMs = null;
      });
    };
    this.stopTimer = this.options.timers.every(lookMs, look);
    look();
  }

  /** What is being made is given up, and nothing is left of it. */
  async stop(): Promise<void> {
    this.stopTimer();
    this.end.abort(new Error('the replica is stopping'));
    await this.work;
  }

  report(): BackupReport {
    const { directory, wallMs } = this.options;
    const [newest] = goodOnes(this.kept);
    const tested = byAge(this.kept).find(({ test }) => test !== null);
    return {
      directory,
      kept: goodOnes(this.kept).length,
      newest:
        newest === undefined
          ? null
          : { name: newest.name, takenAt: timeText(newest.takenAtMs), bytes: newest.bytes },
      ageMs: newest === undefined ? null : Math.max(0, wallMs() - newest.takenAtMs),
      dueAt: timeText(this.dueAtMs()),
      running: this.running,
      problem: this.hangs()
        ? `${directory} does not answer`
        : (this.unreadable ?? this.problem?.text ?? null),
      test: tested?.test == null ? null : { name: tested.name, ...tested.test },
    };
  }

  /** As a directory on another machine does that is away. */
  private hangs(): boolean {
    const { lookingSinceMs, running } = this;
    return (
      running === null && lookingSinceMs !== null && this.options.timers.nowMs() - lookingSinceMs > hangMs
    );
  }

  private dueAtMs(): number {
    const { everyMs, leavesItToOthers, wallMs } = this.options;
    const newestMs = goodOnes(this.kept)[0]?.takenAtMs ?? null;
    return dueAtMs({
      nowMs: wallMs(),
      everyMs,
      newestMs,
      sinceMs: this.sinceMs,
      leavesItToOthers: leavesItToOthers(),
    });
  }

  private async look(): Promise<void> {
    if (!(await this.canRefresh())) return;
    try {
      const { timers, whyNot } = this.options;
      if (timers.nowMs() < this.retryAtMs || whyNot() !== null) return;
      if (this.isDue()) await this.inTurn(() => this.take());
      else if (this.untested() !== null) await this.inTurn(() => this.test());
    } catch (error) {
      this.failed(error);
    }
  }

  private async canRefresh(): Promise<boolean> {
    try {
      await this.refresh();
      this.unreadable = null;
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== this.unreadable)
        this.options.logger.error({ err: error }, 'backups cannot be looked at');
      this.unreadable = reason;
      return false;
    }
  }

  private isDue(): boolean {
    const { wallMs, timers } = this.options;
    return wallMs() >= this.dueAtMs() && timers.nowMs() >= this.takeAtMs;
  }

  /** What is there, without what may go. */
  private async refresh(): Promise<void> {
    const { store, keep, forgetWalBelow, logger } = this.options;
    const all = await store.list();
    const gone = superfluous(all, keep);
    this.kept = all.filter((each) => !gone.includes(each));
    // Somebody has made, or tested, one since.
    if (this.problem?.seen !== this.seen()) this.problem = null;
    for (const { name } of gone) {
      await store.remove(name);
      logger.info({ name }, 'an old backup was removed');
    }
    // With fewer none has gone yet. Or it is another directory: where a disk was not mounted, whose backups need that WAL.
    if (goodOnes(this.kept).length >= keep)
      forgetWalBelow(Math.min(...this.kept.map(({ end }) => end)) as Lsn);
  }

  /** Of the newest. */
  private seen(): string {
    const [newest] = byAge(this.kept);
    return newest === undefined ? '' : `${newest.name} ${newest.test?.at ?? ''}`;
  }

  private async inTurn(work: () => Promise<void>): Promise<void> {
    await this.turns.take(async () => {
      // Another one may have done it just before.
      await this.refresh();
      try {
        await work();
      } finally {
        this.running = null;
      }
    });
  }

  private async take(): Promise<void> {
    if (!this.isDue()) return;
    const { store, logger, timers, everyMs } = this.options;
    this.running = 'backup';
    await store.take(this.end.signal);
    this.takeAtMs = timers.nowMs() + everyMs / 2;
    this.problem = null;
    await this.refresh();
    const { newest } = this.report();
    logger.info({ ...newest }, 'a backup was taken');
  }

  /** The newest, if it was not tested and no other was for long. */
  private untested(): KeptBackup | null {
    const { testEveryMs, wallMs } = this.options;
    const [newest] = byAge(this.kept);
    if (testEveryMs === 0 || newest === undefined || newest.test !== null) return null;
    const testedMs = this.kept.map(({ test }) => (test === null ? 0 : Date.parse(test.at)));
    return Math.max(...testedMs) > wallMs() - testEveryMs ? null : newest;
  }

  private async test(): Promise<void> {
    const backup = this.untested();
    if (backup === null) return;
    const { store, logger, test } = this.options;
    this.running = 'restoreTest';
    const result = await test(backup, this.end.signal);
    this.problem = null;
    await store.noteTest(backup.name, result);
    const { name } = backup;
    if (result.ok) logger.info({ name, message: result.message }, 'a restore test went well');
    else logger.error({ name, message: result.message }, 'a restore test failed');
    await this.refresh();
  }

  private failed(error: unknown): void {
    if (this.end.signal.aborted) return;
    const { timers, everyMs, logger, wallMs } = this.options;
    const reason = error instanceof Error ? error.message : String(error);
    this.problem = { text: `${timeText(wallMs())}: ${reason}`, seen: this.seen() };
    this.retryAtMs = timers.nowMs() + Math.min(retryMsMax, everyMs / 2);
    logger.error({ err: error }, 'a backup, or a test of one, could not be made');
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
