/**
 * Looks now and then at what PostgreSQL counts: pages that it found damaged, the transactions of clients, and flushes of its WAL.
 *
 * Responsible for: telling damage that anybody met, once in the life of a database, and the counters of the status. No client can change these numbers, whatever errors its functions raise.
 */
import type { Timers } from '../../ports/clock.ts';
import type { Checkup, DatabaseServer } from '../../ports/database-server.ts';

export interface CheckupsOptions {
  readonly server: Pick<DatabaseServer, 'checkup'>;
  readonly isUp: () => boolean;
  readonly leads: () => boolean;
  readonly onDamage: (reason: string) => void;
  readonly onAnswered: () => void;
  /** How long a flush of the WAL took on average since the last look; null: there was none. */
  readonly onFlushed: (ms: number | null) => void;
  readonly timers: Pick<Timers, 'every'>;
  readonly everyMs: number;
}

export class Checkups {
  private readonly options: CheckupsOptions;
  private busy = false;
  /** Of the PostgreSQL that is up: the first one, and the newest. */
  private first: Checkup | null = null;
  private last: Checkup | null = null;
  /** Which PostgreSQL: an answer of an earlier one is of no use. */
  private life = 0;
  private wrote = 0;
  private read = 0;

  constructor(options: CheckupsOptions) {
    this.options = options;
  }

  /** While this replica led, since it was started. */
  get counts(): { readonly transactions: number; readonly reads: number } {
    return { transactions: this.wrote, reads: this.read };
  }

  start(): () => void {
    return this.options.timers.every(this.options.everyMs, () => void this.look());
  }

  /** Another PostgreSQL has been started, perhaps over another database. */
  renew(): void {
    this.life += 1;
    this.first = null;
    this.last = null;
  }

  private async look(): Promise<void> {
    const { server, isUp } = this.options;
    if (this.busy || !isUp()) return;
    this.busy = true;
    const { life } = this;
    try {
      const checkup = await server.checkup();
      if (life !== this.life) return;
      this.options.onAnswered();
      this.take(checkup);
    } catch {
      // It is away, and noticed elsewhere.
    } finally {
      this.busy = false;
    }
  }

  private take(checkup: Checkup): void {
    const { leads, onDamage, onFlushed } = this.options;
    const { first, last } = this;
    this.first ??= checkup;
    this.last = checkup;
    if (first === null || last === null) return;
    const flushes = checkup.flushes.count - last.flushes.count;
    onFlushed(flushes > 0 ? Math.max(0, checkup.flushes.ms - last.flushes.ms) / flushes : null);
    const damaged = checkup.damagedPages - first.damagedPages;
    if (damaged > 0 && last.damagedPages === first.damagedPages) {
      onDamage(`PostgreSQL has met ${damaged === 1 ? 'a page' : `${damaged} pages`} with a wrong checksum`);
    }
    if (!leads()) return;
    const wrote = Math.max(0, Number(checkup.nextXid - last.nextXid));
    this.wrote += wrote;
    this.read += Math.max(0, checkup.ended - last.ended - wrote);
  }
}
