/**
 * Sessions that clients use at whichever replica they like, and that nobody has used for long: they are closed at all replicas, also when the replica that they were last used at is gone.
 *
 * Every replica looks for itself. One that is behind closes nothing that is used: what it gives holds only if no request has come since those that it knows.
 */
import type { SessionFacts } from '../../payload/statements/executor.ts';

export interface SharedSweepOptions {
  readonly prefix: string;
  readonly open: () => Iterable<string>;
  readonly factsOf: (session: string) => (SessionFacts & { readonly isWaiting: boolean }) | null;
  readonly close: (session: string, ifSeq: number) => void;
  readonly nowMs: () => number;
  /** So long a session is kept that does nothing. */
  readonly idleMs: number;
  /** The same within a transaction, where others may wait for it. */
  readonly openMs: number;
}

export class SharedSweep {
  private readonly options: SharedSweepOptions;
  private seen: ReadonlyMap<string, { readonly seq: number; readonly sinceMs: number }> = new Map();

  constructor(options: SharedSweepOptions) {
    this.options = options;
  }

  /** Now and then. */
  look(): void {
    const { prefix, open, factsOf, close, nowMs, idleMs, openMs } = this.options;
    const now = nowMs();
    const seen = new Map<string, { readonly seq: number; readonly sinceMs: number }>();
    for (const session of open()) {
      const facts = session.startsWith(prefix) ? factsOf(session) : null;
      if (facts === null) continue;
      const { seq, status, isWaiting } = facts;
      const before = this.seen.get(session);
      const sinceMs = before?.seq === seq && !isWaiting ? before.sinceMs : now;
      seen.set(session, { seq, sinceMs });
      if (now - sinceMs >= (status === 'I' ? idleMs : openMs)) close(session, seq);
    }
    this.seen = seen;
  }
}
