/**
 * When a session whose leader hands over may be ended: nothing is under way in it, and its client is not just about to ask something.
 *
 * Responsible for: that moment alone. A client that was answered since is between two statements; one that has asked nothing for a while, or has only logged in, is given a moment.
 */
import type { ClientInput } from './client-input.ts';
import type { RequestTracker } from './request-tracker.ts';

/** About what it takes a client that has just logged in, or was answered, to ask. */
const idleMs = 25;

export class Draining {
  private readonly tracker: Pick<RequestTracker, 'outstanding' | 'status' | 'request'>;
  private readonly input: Pick<ClientInput, 'atBoundary'>;
  private readonly onIdle: () => void;
  /** Requests up to this one were answered before. */
  private readonly before: number;
  private timer: NodeJS.Timeout | null = null;

  /** `loginRequests`: so many come before the client's own: the login, and what a gateway asks behind it. */
  constructor(
    tracker: Pick<RequestTracker, 'outstanding' | 'status' | 'request'>,
    input: Pick<ClientInput, 'atBoundary'>,
    onIdle: () => void,
    loginRequests = 1,
  ) {
    this.tracker = tracker;
    this.input = input;
    this.onIdle = onIdle;
    this.before = Math.max(loginRequests, tracker.outstanding ? tracker.request - 1 : tracker.request);
  }

  /** Something was answered, or it begins. */
  look(): void {
    this.stop();
    if (!this.isIdle) return;
    const { request } = this.tracker;
    if (request > this.before) return this.onIdle();
    this.timer = setTimeout(() => {
      if (this.isIdle && this.tracker.request === request) this.onIdle();
    }, idleMs);
  }

  private get isIdle(): boolean {
    // Of a message that has come in part the tracker knows nothing yet.
    return this.input.atBoundary && !this.tracker.outstanding && this.tracker.status === 'I';
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}
