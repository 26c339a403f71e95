/**
 * Whether the transaction that a client reads in has taken its snapshot for good: then nothing that it asks can see more than that, and it need not wait until the standby has more. It must not, either: a snapshot that is in use may
 * hold up the replay that it would wait for.
 *
 * Invariant: it is held only where the transaction was begun at REPEATABLE READ by a statement of its own, was then asked a query alone, which succeeded, and has been asked nothing since that could have ended it.
 */
import type { TransactionStatus } from '../../../../pgwire/message-types.ts';
import type { StatementKind } from './statement-kind.ts';

export class HeldSnapshot {
  private state: 'none' | 'begun' | 'taking' | 'held' = 'none';

  /** A request comes, `kind` of it if it is one statement alone. `status`: PostgreSQL's, all before it being answered; null: they are not. Returns whether what it reads is settled. */
  isHeldFor(kind: StatementKind, status: TransactionStatus | null): boolean {
    this.state = this.after(kind, status);
    return this.state === 'held';
  }

  private after(kind: StatementKind, status: TransactionStatus | null): HeldSnapshot['state'] {
    if (status === 'I') return kind === 'beginsRepeatable' ? 'begun' : 'none';
    if (status !== 'T') return 'none';
    if (this.state === 'begun') return kind === 'query' ? 'taking' : 'none';
    const isAsked = kind === 'query' || kind === 'within';
    return isAsked && this.state !== 'none' ? 'held' : 'none';
  }
}
