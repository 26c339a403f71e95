/** What is known of the transaction that a session has open, from when it is learnt until the transaction's end is told. For the leader's gateway and a follower's. */
import type { Doubt } from '../codec/doubt-frame.ts';
import type { RequestTracker } from './request-tracker.ts';

export class KnownTransaction {
  doubt: Doubt | null = null;
  private readonly tracker: RequestTracker;

  constructor(tracker: RequestTracker) {
    this.tracker = tracker;
  }

  /** To be called after the client has been told ReadyForQuery. */
  afterReady(): void {
    if (this.doubt === null) return;
    // It goes on behind the answer only if it is a block that nothing has ended.
    if (this.tracker.status === 'I' || this.tracker.endsTransaction) this.doubt = null;
  }
}
