/**
 * Whether the standby takes the WAL that it is fed, or leaves the feed again and again. Pure.
 *
 * PostgreSQL asks for WAL anew whenever its walreceiver has ended, several times a second: with a full disk it does so for ever, and nothing else shows.
 */

/** So seldom a row of that is told in the log. */
const repeatMs = 60_000;

export class FeedTrouble {
  private readonly patienceMs: number;
  /** It has left since, and has taken nothing. */
  private row: { readonly sinceMs: number; saidAtMs: number; times: number; why: string } | null = null;

  /** `patienceMs`: so long it may leave and come back, without having taken anything, before that is told. */
  constructor(patienceMs: number) {
    this.patienceMs = patienceMs;
  }

  /** It has flushed more. */
  took(): void {
    this.row = null;
  }

  /** It has left, for this reason. Returns whether that is worth a line in the log. */
  left(reason: string, nowMs: number): boolean {
    const { row } = this;
    if (row === null) {
      this.row = { sinceMs: nowMs, saidAtMs: nowMs, times: 1, why: reason };
      return true;
    }
    row.times += 1;
    row.why = reason;
    if (nowMs - row.saidAtMs < repeatMs) return false;
    row.saidAtMs = nowMs;
    return true;
  }

  /** Whether it has left since it last took something. */
  get isInRow(): boolean {
    return this.row !== null;
  }

  /** For people; null: it takes what it is fed, or may yet. */
  trouble(nowMs: number): string | null {
    const { row } = this;
    if (row === null || row.times < 3 || nowMs - row.sinceMs < this.patienceMs) return null;
    return `PostgreSQL takes no WAL, and has left ${row.times} times: ${row.why}`;
  }
}
