/**
 * How long a standby takes to flush WAL, by its reports: it tells what it has written before it flushes that, and again afterwards.
 *
 * PostgreSQL counts the flushes of a walreceiver, too, but shows them only when that process ends. Invariant: the counters grow only.
 */
import type { StandbyReport } from '../../../ports/database-server.ts';
import type { Lsn } from '../../../wal/lsn.ts';

export class StandbyFlushes {
  count = 0;
  ms = 0;
  private underWay: { readonly to: Lsn; readonly sinceMs: number } | null = null;

  /** Another standby, or another connection. */
  begin(): void {
    this.underWay = null;
  }

  take({ written, flushed }: Pick<StandbyReport, 'written' | 'flushed'>, nowMs: number): void {
    if (this.underWay !== null && flushed >= this.underWay.to) {
      this.count += 1;
      this.ms += nowMs - this.underWay.sinceMs;
      this.underWay = null;
    }
    if (written > flushed) this.underWay ??= { to: written, sinceMs: nowMs };
  }
}
