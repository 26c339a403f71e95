/**
 * Attempts to bring up a database that fail: when its files are taken for damaged, and how soon another copy may be asked for. Pure.
 *
 * PostgreSQL names some damage itself. What it does not name shows in the same way each time: no attempt brings up a database that answers. Then a copy of another replica's database helps, unless it fails, too.
 * Invariants: want of space and settings that do not allow a start are never damage; the database is given up only after `attemptsMax` attempts in a row, of which none answered a query; copies that do not help come ever more seldom.
 */
import type { Loss } from '../../../ports/database-directory.ts';

const attemptsMax = 3;
/** Between a copy that did not help and the next one; twice as long each time. */
const copyPauseMsMin = 30_000;
const copyPauseMsMax = 30 * 60_000;
/** Of these no copy is the remedy. */
const notOfFiles: ReadonlySet<unknown> = new Set([
  'databaseFull',
  'launchRefused',
  // This process lacks something of the system.
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ENOBUFS',
  'EAGAIN',
  'ENOSPC',
  'EDQUOT',
]);

export class DatabaseFailures {
  private attempts = 0;
  /** In a row, that did not help. */
  private copies = 0;
  private copiedAtMs = 0;

  /** An attempt has failed. Null: it is made again. */
  failed(error: unknown): Loss | null {
    const code = codeOf(error);
    const reason = error instanceof Error ? error.message : String(error);
    if (code === 'databaseLost') return { cause: 'databaseLost', reason };
    if (notOfFiles.has(code)) {
      this.attempts = 0;
      return null;
    }
    this.attempts += 1;
    if (this.attempts < attemptsMax) return null;
    const times = `${attemptsMax} attempts in a row to bring up the database have failed`;
    return { cause: 'databaseLost', reason: `${times}: ${reason}`, isPresumed: true };
  }

  /** It has answered a query. */
  answered(): void {
    this.attempts = 0;
    this.copies = 0;
  }

  /** A copy of another replica's database has taken its place. */
  copied(nowMs: number): void {
    this.attempts = 0;
    this.copies += 1;
    this.copiedAtMs = nowMs;
  }

  /** Until another copy may be asked for. */
  copyPauseMs(nowMs: number): number {
    if (this.copies === 0) return 0;
    const pauseMs = Math.min(copyPauseMsMax, copyPauseMsMin * 2 ** Math.min(this.copies - 1, 20));
    return Math.max(0, this.copiedAtMs + pauseMs - nowMs);
  }

  /** For people; null: no copy has been in vain. */
  get vain(): string | null {
    if (this.copies === 0) return null;
    const so = this.copies === 1 ? 'a copy' : `${this.copies} copies`;
    return `${so} of another replica's database did not help`;
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
}
