/**
 * Looks now and then whether the files of the running database are there, and it lets in sessions of this replica's own: a database that does not is not one to lead with. Also of one that has let nobody in since it was started.
 *
 * Responsible for: when it is looked, what is doubt, and what is damage. How it is looked is the adapter's business.
 * Invariants: damage is told once in the life of a database, and only if two looks in a row have found it; a session that is refused for another reason is damage only after `refusedMs`. What a look finds is presumed:
 * the database is given up only for another replica's copy. A copy that has the same fault is followed by the next one ever more seldom.
 */
import type { Timers } from '../../ports/clock.ts';
import type { Loss } from '../../ports/database-directory.ts';
import type { DatabaseServer } from '../../ports/database-server.ts';

export interface FileLooksOptions {
  readonly server: Pick<DatabaseServer, 'lookAtFiles'>;
  /** The process of PostgreSQL that runs, whether or not it answers; null: none does. */
  readonly pid: () => number | null;
  readonly onDamage: (loss: Loss) => void;
  /** Why the database had better not lead; null: it answers. */
  readonly onDoubt: (reason: string | null) => void;
  readonly timers: Pick<Timers, 'nowMs' | 'every'>;
  readonly everyMs: number;
  /** So soon what was found is looked at again. */
  readonly againMs: number;
  readonly refusedMs: number;
}

/** Before the same damage is told again; twice as long each time. */
const pauseMsMin = 60_000;
const pauseMsMax = 30 * 60_000;

export class FileLooks {
  private readonly options: FileLooksOptions;
  private busy = false;
  private lookedAtMs = 0;
  /** What the last look has found, and since when each look has found something. */
  private found: { readonly reason: string; readonly sinceMs: number } | null = null;
  /** Which PostgreSQL, perhaps over another database: what is heard of an earlier one is of no use. */
  private life: number | null = null;
  private isTold = false;
  /** What was told last, whatever has become of that database. */
  private told: { readonly reason: string; readonly atMs: number; readonly times: number } | null = null;

  constructor(options: FileLooksOptions) {
    this.options = options;
  }

  start(): () => void {
    const { timers, againMs } = this.options;
    return timers.every(againMs, () => void this.look());
  }

  private async look(): Promise<void> {
    const { server, pid, timers, everyMs } = this.options;
    const life = pid();
    if (life !== this.life) {
      this.life = life;
      this.found = null;
      this.isTold = false;
    }
    const isDue = this.found !== null || timers.nowMs() - this.lookedAtMs >= everyMs;
    if (this.busy || life === null || !isDue || this.isTold) return;
    this.busy = true;
    this.lookedAtMs = timers.nowMs();
    try {
      const finding = await server.lookAtFiles();
      if (life === pid()) this.take(finding);
    } catch {
      // It is away, and noticed elsewhere.
    } finally {
      this.busy = false;
    }
  }

  private take(finding: Awaited<ReturnType<DatabaseServer['lookAtFiles']>>): void {
    const { onDamage, onDoubt, timers, refusedMs } = this.options;
    if (finding.code === 'unknown') return;
    if (finding.code === 'whole') {
      if (this.found !== null) onDoubt(null);
      this.found = null;
      return;
    }
    const { code, reason } = finding;
    const before = this.found;
    const nowMs = timers.nowMs();
    const isSame = before !== null && before.reason === reason;
    const sinceMs = isSame ? before.sinceMs : nowMs;
    this.found = { reason, sinceMs };
    // What was dropped in this moment is not found a second time.
    if (!isSame) return;
    onDoubt(reason);
    if (code === 'refused' && nowMs - sinceMs < refusedMs) return;
    const told = this.told?.reason === reason ? this.told : null;
    const pauseMs = Math.min(pauseMsMax, pauseMsMin * 2 ** Math.min((told?.times ?? 1) - 1, 20));
    if (told !== null && nowMs - told.atMs < pauseMs) return;
    this.isTold = true;
    this.told = { reason, atMs: nowMs, times: (told?.times ?? 0) + 1 };
    onDamage({ cause: 'databaseLost', reason: `its files are damaged: ${reason}`, isPresumed: true });
  }
}
