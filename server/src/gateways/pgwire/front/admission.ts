/**
 * How many connections there may be, by how far they have come: opening (nothing said yet), proving who they are, beginning a session, and clients.
 *
 * Responsible for: the bounds, apart from each other, so that connections that prove nothing keep nobody out. No proof waits for its turn: among those that say or prove nothing the oldest of the source that has most
 * makes room at once (by-source.ts). A session that is slow to begin makes room for those that wait. Closes nothing itself.
 * A place with a process of PostgreSQL is free when PostgreSQL has let go of it: until then it lingers, and counts as a client.
 * Invariant: before the proof nothing depends on whether there is such a role. What depended on it would tell which roles there are.
 */
import { BySource, sourceOf } from '../../by-source.ts';
import type { GatewayError } from '../../../pgwire/backend-messages.ts';
import * as errors from '../errors.ts';
import type { PgwireLimits } from '../limits.ts';

type Stage = 'opening' | 'proving' | 'queued' | 'entering' | 'client' | 'closed';

/** Who a connection says that it is. */
export interface Applicant {
  /** Empty: not known. */
  readonly address: string;
  readonly role: string;
  /** It need not prove it here: the gateway that it came to has seen to it. */
  readonly isProven: boolean;
}

export interface Connection {
  /** The startup packet is there. Resolves with null when the connection may prove who it is, or may begin a session if that is proven, or with the reason why not; never if it is closed meanwhile. */
  logIn(applicant: Applicant): Promise<GatewayError | null>;
  /** It has proved who it is. Resolves likewise when it may begin a session. */
  enter(): Promise<GatewayError | null>;
  /** It is logged in. Returns why there is no room, or null. */
  becomeClient(): GatewayError | null;
  /** PostgreSQL begins a process for it. Returns the way to tell that PostgreSQL has closed the connection to it. */
  reachPostgres(): () => void;
  /** It is logged in, and its place is not free yet. */
  readonly isClient: boolean;
  /** Nothing more comes from it, as with most that go: PostgreSQL may answer what has come, but what has only begun lingers. */
  ended(): void;
  /** Its place is free from now on, or as soon as PostgreSQL has let go of it. */
  closed(): void;
}

interface Place {
  stage: Stage;
  sinceMs: number;
  source: string;
  applicant: Applicant;
  /** Processes of PostgreSQL that it has. */
  processes: number;
  hasEnded: boolean;
  readonly end: (error: GatewayError) => void;
  /** Ends it when it takes too long. */
  timer: NodeJS.Timeout | null;
  proceed: ((error: GatewayError | null) => void) | null;
}

type AdmissionLimits = Pick<
  PgwireLimits,
  | 'clientsMax'
  | 'clientsPerRoleMax'
  | 'clientsPerAddressMax'
  | 'openingMax'
  | 'firstPacketTimeoutMs'
  | 'provingMax'
  | 'enteringMax'
  | 'enteringBeyondMax'
  | 'lingeringPerRoleMax'
  | 'slowEntryMs'
  | 'authenticationTimeoutMs'
>;

export class Admission {
  clients = 0;
  private readonly limits: AdmissionLimits;
  private readonly onLinger: () => void;
  private readonly opening = new BySource<Place>();
  private readonly proving = new BySource<Place>();
  private readonly queued = new BySource<Place>();
  private readonly entering = new Set<Place>();
  /** They have gone, and PostgreSQL has not let go of them; and whether they had become clients. */
  private readonly lingeringPlaces = new Map<Place, boolean>();
  /** Of those that had not. */
  private readonly lingeringRoles = new Map<string, number>();
  /** Of clients, of those that have proved who they are and are to become some, and of those that linger. */
  private readonly roles = new Map<string, number>();
  private readonly addresses = new Map<string, number>();
  private callLater: NodeJS.Timeout | null = null;

  /** `onLinger`: PostgreSQL has not let go of one that has gone, and there was none before. */
  constructor(limits: AdmissionLimits, onLinger: () => void = () => undefined) {
    this.limits = limits;
    this.onLinger = onLinger;
  }

  /** Connections that have gone, and that PostgreSQL has not let go of. */
  get lingering(): number {
    return this.lingeringPlaces.size;
  }

  /** Connections that have not logged in. */
  get strangers(): number {
    const { opening, proving, queued, entering } = this;
    return opening.size + proving.size + queued.size + entering.size;
  }

  /** `end` closes the connection with this error; it may be called at any time until it is closed. */
  open(address: string, end: (error: GatewayError) => void): Connection {
    const place: Place = {
      stage: 'opening',
      sinceMs: performance.now(),
      source: sourceOf(address),
      applicant: { address, role: '', isProven: false },
      processes: 0,
      hasEnded: false,
      end,
      timer: null,
      proceed: null,
    };
    const { openingMax, firstPacketTimeoutMs } = this.limits;
    if (this.opening.size >= openingMax) this.expire(this.opening.oldestOfCrowd(), errors.startupTimedOut);
    this.opening.add(place.source, place);
    this.limitTime(place, firstPacketTimeoutMs);
    return {
      logIn: (applicant) => this.logIn(place, applicant),
      enter: () => this.enter(place),
      becomeClient: () => this.becomeClient(place),
      reachPostgres: () => this.reachPostgres(place),
      get isClient() {
        return place.stage === 'client';
      },
      ended: () => {
        place.hasEnded = true;
        this.leaveIfEnded(place);
      },
      closed: () => this.leave(place),
    };
  }

  private logIn(place: Place, applicant: Applicant): Promise<GatewayError | null> {
    // A new session for one that has proved itself before: another leads.
    if (place.stage === 'entering' || place.stage === 'queued') return Promise.resolve(null);
    this.leaveStage(place);
    place.applicant = applicant;
    place.source = sourceOf(applicant.address);
    if (applicant.isProven) return this.queue(place);
    if (this.clients >= this.limits.clientsMax) return Promise.resolve(errors.tooManyClients);
    if (this.proving.size >= this.limits.provingMax)
      this.expire(this.proving.oldestOfCrowd(), errors.tooManyLogins);
    this.stand(place, 'proving');
    this.proving.add(place.source, place);
    this.limitTime(place, this.limits.authenticationTimeoutMs);
    return Promise.resolve(null);
  }

  private enter(place: Place): Promise<GatewayError | null> {
    if (place.stage !== 'proving') return Promise.resolve(null);
    this.leaveStage(place);
    return this.queue(place);
  }

  private queue(place: Place): Promise<GatewayError | null> {
    const full = this.whyFull(place.applicant) ?? this.whyLingering(place.applicant);
    if (full !== null) {
      this.leave(place);
      return Promise.resolve(full);
    }
    if (this.queued.size >= this.limits.provingMax)
      this.expire(this.queued.oldestOfCrowd(), errors.tooManyLogins);
    this.stand(place, 'queued');
    this.queued.add(place.source, place);
    this.countProven(place, 1);
    this.limitTime(place, this.limits.authenticationTimeoutMs);
    return new Promise((resolve) => {
      place.proceed = resolve;
      this.callNext();
    });
  }

  /** As many of those that wait as there is room for. Whoever makes room is told behind that: then it may come again at once. */
  private callNext(): void {
    const { slowEntryMs } = this.limits;
    const slow: Place[] = [];
    let roomToCome = 0;
    while (this.queued.size > 0) {
      const [oldest] = this.entering;
      if (this.mustWait) {
        // One that PostgreSQL does not let go of makes room later.
        if (roomToCome >= this.queued.size || !this.makesRoom(oldest, slowEntryMs, slow)) break;
        roomToCome += 1;
        continue;
      }
      roomToCome = 0;
      const place = this.queued.takeNext()!;
      this.stand(place, 'entering');
      this.entering.add(place);
      place.proceed?.(null);
    }
    for (const place of slow) place.end(errors.startupTimedOut);
  }

  /** So many enter, or hold PostgreSQL's places, that those that wait for their turn go on waiting. */
  private get mustWait(): boolean {
    const { clientsMax, enteringMax, enteringBeyondMax } = this.limits;
    const { size } = this.entering;
    if (size >= enteringMax) return true;
    const held = this.clients + size + this.lingering;
    return size + this.lingering > 0 && held >= clientsMax + enteringBeyondMax;
  }

  /** Whether it goes for being slow, and is put to those that have. If not, another look is taken when it is. */
  private makesRoom(oldest: Place | undefined, slowMs: number, gone: Place[]): boolean {
    if (oldest === undefined) return false;
    const restMs = oldest.sinceMs + slowMs - performance.now();
    if (restMs > 0) {
      this.callLater ??= setTimeout(() => {
        this.callLater = null;
        this.callNext();
      }, restMs + 1).unref();
      return false;
    }
    this.depart(oldest);
    gone.push(oldest);
    return true;
  }

  private becomeClient(place: Place): GatewayError | null {
    // Where this replica cannot ask for a password, the leader does, and nothing was entered here.
    if (place.stage !== 'entering' && place.stage !== 'proving') return null;
    const { stage } = place;
    this.leaveStage(place);
    const full = this.whyFull(place.applicant);
    if (full !== null) {
      this.close(place, stage);
      this.callNext();
      return full;
    }
    place.stage = 'client';
    this.clients += 1;
    this.countProven(place, 1);
    this.callNext();
    return null;
  }

  private whyFull({ role, address }: Applicant): GatewayError | null {
    const { clientsMax, clientsPerRoleMax, clientsPerAddressMax } = this.limits;
    if (this.clients + this.lingering >= clientsMax) return errors.tooManyClients;
    if ((this.roles.get(role) ?? 0) >= clientsPerRoleMax)
      return errors.tooManyOfRole(role, clientsPerRoleMax);
    if ((this.addresses.get(address) ?? 0) >= clientsPerAddressMax)
      return errors.tooManyOfAddress(address, clientsPerAddressMax);
    return null;
  }

  private whyLingering({ role }: Applicant): GatewayError | null {
    const lingering = this.lingeringRoles.get(role) ?? 0;
    return lingering >= this.limits.lingeringPerRoleMax ? errors.tooManyLingering(role) : null;
  }

  private expire(place: Place | undefined, error: GatewayError): void {
    if (place === undefined) return;
    this.depart(place);
    place.end(error);
  }

  private leave(place: Place): void {
    this.depart(place);
    this.callNext();
  }

  private leaveIfEnded(place: Place): void {
    if (place.hasEnded && place.stage === 'entering' && place.processes > 0) this.leave(place);
  }

  private depart(place: Place): void {
    const { stage } = place;
    this.leaveStage(place);
    this.close(place, stage);
  }

  /** It lingers, if PostgreSQL has begun with it. */
  private close(place: Place, from: Stage): void {
    place.stage = 'closed';
    if (place.processes === 0 || from === 'closed') return;
    const isFirst = this.lingering === 0;
    const wasClient = from === 'client';
    this.lingeringPlaces.set(place, wasClient);
    this.countProven(place, 1);
    if (!wasClient) count(this.lingeringRoles, place.applicant.role, 1);
    if (isFirst) this.onLinger();
  }

  private reachPostgres(place: Place): () => void {
    let isThere = true;
    place.processes += 1;
    this.leaveIfEnded(place);
    return () => {
      if (!isThere) return;
      isThere = false;
      place.processes -= 1;
      const wasClient = this.lingeringPlaces.get(place);
      if (place.processes > 0 || wasClient === undefined) return;
      this.lingeringPlaces.delete(place);
      this.countProven(place, -1);
      if (!wasClient) count(this.lingeringRoles, place.applicant.role, -1);
      this.callNext();
    };
  }

  private stand(place: Place, stage: Stage): void {
    place.stage = stage;
    place.sinceMs = performance.now();
  }

  private leaveStage(place: Place): void {
    if (place.timer !== null) clearTimeout(place.timer);
    place.timer = null;
    const { stage } = place;
    if (stage === 'client') this.clients -= 1;
    if (stage === 'client' || stage === 'queued' || stage === 'entering') this.countProven(place, -1);
    if (stage === 'opening' || stage === 'proving' || stage === 'queued')
      this[stage].delete(place.source, place);
    this.entering.delete(place);
  }

  private countProven({ applicant }: Place, more: number): void {
    count(this.roles, applicant.role, more);
    count(this.addresses, applicant.address, more);
  }

  private limitTime(place: Place, timeoutMs: number): void {
    place.timer = setTimeout(() => {
      this.expire(place, errors.startupTimedOut);
      this.callNext();
    }, timeoutMs);
  }
}

function count(of: Map<string, number>, key: string, more: number): void {
  const now = (of.get(key) ?? 0) + more;
  if (now <= 0) of.delete(key);
  else of.set(key, now);
}
