/**
 * How many connections there may be, by how far they have come: opening (nothing said yet), logging in, and clients.
 *
 * Responsible for: the bounds, apart from each other, so that connections that never log in cannot keep anybody out: of those that say nothing the oldest makes room, and those that are slow to log in
 * make room for those that wait. Closes nothing itself.
 */
import type { GatewayError } from '../../../pgwire/backend-messages.ts';
import * as errors from '../errors.ts';
import type { PgwireLimits } from '../limits.ts';

type Stage = 'opening' | 'waiting' | 'authenticating' | 'client' | 'closed';

export interface Connection {
  /** The startup packet is there. Resolves with null when it is this connection's turn to log in, or with the reason why it may not; never if it is closed meanwhile. */
  logIn(): Promise<GatewayError | null>;
  /** It is logged in. Returns why there is no room, or null. */
  becomeClient(): GatewayError | null;
  /** It is logged in, and its place is not free yet. */
  readonly isClient: boolean;
  /** Its place is free from now on. */
  closed(): void;
}

interface Place {
  stage: Stage;
  sinceMs: number;
  readonly end: (error: GatewayError) => void;
  /** Ends it when it takes too long. */
  timer: NodeJS.Timeout | null;
  proceed: ((error: GatewayError | null) => void) | null;
}

export class Admission {
  clients = 0;
  private readonly limits: PgwireLimits;
  private readonly opening = new Set<Place>();
  private readonly waiting = new Set<Place>();
  private readonly authenticating = new Set<Place>();
  private callLater: NodeJS.Timeout | null = null;

  constructor(limits: PgwireLimits) {
    this.limits = limits;
  }

  /** Connections that have not logged in. */
  get strangers(): number {
    return this.opening.size + this.waiting.size + this.authenticating.size;
  }

  /** `end` closes the connection with this error; it may be called at any time until it is closed. */
  open(end: (error: GatewayError) => void): Connection {
    const place: Place = { stage: 'opening', sinceMs: performance.now(), end, timer: null, proceed: null };
    const { openingMax, firstPacketTimeoutMs } = this.limits;
    const [oldest] = this.opening;
    if (this.opening.size >= openingMax && oldest !== undefined) this.expire(oldest);
    this.opening.add(place);
    this.limitTime(place, firstPacketTimeoutMs);
    return {
      logIn: () => this.logIn(place),
      becomeClient: () => this.becomeClient(place),
      get isClient() {
        return place.stage === 'client';
      },
      closed: () => this.leave(place),
    };
  }

  private logIn(place: Place): Promise<GatewayError | null> {
    this.leaveStage(place);
    if (this.clients >= this.limits.clientsMax) return Promise.resolve(errors.tooManyClients);
    if (this.waiting.size >= this.limits.waitingMax) return Promise.resolve(errors.tooManyLogins);
    place.stage = 'waiting';
    place.sinceMs = performance.now();
    this.waiting.add(place);
    this.limitTime(place, this.limits.authenticationTimeoutMs);
    return new Promise((resolve) => {
      place.proceed = resolve;
      this.callNext();
    });
  }

  /** As many of those that wait as there is room for. */
  private callNext(): void {
    for (const place of this.waiting) {
      if (this.authenticating.size >= this.limits.authenticatingMax && !this.makeRoom()) return;
      this.waiting.delete(place);
      place.stage = 'authenticating';
      place.sinceMs = performance.now();
      this.authenticating.add(place);
      place.proceed?.(null);
    }
  }

  private makeRoom(): boolean {
    const [oldest] = this.authenticating;
    if (oldest === undefined) return false;
    const restMs = oldest.sinceMs + this.limits.slowAuthenticationMs - performance.now();
    if (restMs > 0) {
      this.callLater ??= setTimeout(() => {
        this.callLater = null;
        this.callNext();
      }, restMs + 1).unref();
      return false;
    }
    this.leaveStage(oldest);
    oldest.stage = 'closed';
    oldest.end(errors.startupTimedOut);
    return true;
  }

  private becomeClient(place: Place): GatewayError | null {
    if (place.stage !== 'authenticating') return null;
    this.leaveStage(place);
    if (this.clients >= this.limits.clientsMax) return errors.tooManyClients;
    place.stage = 'client';
    this.clients += 1;
    this.callNext();
    return null;
  }

  private expire(place: Place): void {
    this.leave(place);
    place.end(errors.startupTimedOut);
  }

  private leave(place: Place): void {
    this.leaveStage(place);
    place.stage = 'closed';
    this.callNext();
  }

  private leaveStage(place: Place): void {
    if (place.timer !== null) clearTimeout(place.timer);
    place.timer = null;
    if (place.stage === 'client') this.clients -= 1;
    this.opening.delete(place);
    this.waiting.delete(place);
    this.authenticating.delete(place);
  }

  private limitTime(place: Place, timeoutMs: number): void {
    place.timer = setTimeout(() => this.expire(place), timeoutMs);
  }
}
