/**
 * Messages on their way between replicas, put together from both ends: an action's `sent`, and `from` with `message` of the action that handled it; or what a replica of another protocol says that it sent and heard. Pure, but for what it gathers.
 *
 * Responsible for: joining the two by link, kind, ballot and slots, in order, whichever is told first, and though several may be handled as one; and for heartbeats that only the lease's events tell of. Does not know faults, nor how a message is drawn.
 * Invariants: no message arrives twice; what is kept is bounded, and the oldest goes first.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { replicaOf } from '../model/incarnation.ts';
import { carries, type FlightKind, type FlownMessage, kindOf, slotsOf } from './flown-message.ts';

/**
 * `leftUs`, `arrivedUs`: on the clock of the events; null: not told of. One of both always is. `message` null: of a heartbeat that changed nothing. `from`, `to`: replicas, whatever their incarnation.
 */
export interface Flight {
  readonly number: number;
  readonly from: string;
  readonly to: string;
  readonly kind: FlightKind;
  readonly message: FlownMessage | null;
  readonly leftUs: number | null;
  readonly arrivedUs: number | null;
  /** It will not arrive any more: one that left later has for a while, or it is too long ago. Only of kinds whose arrival is always told. */
  readonly isLost: boolean;
}

type Kept = { -readonly [Key in keyof Flight]: Flight[Key] };

export interface FlightBounds {
  readonly flightsMax: number;
  /** What has not arrived by then is lost. */
  readonly flyingUsMax: number;
}

export const flightBounds: FlightBounds = { flightsMax: 60_000, flyingUsMax: 3_000_000 };

/** Whoever gets one of these says so, unless it is out of date. */
const answered: ReadonlySet<FlightKind> = new Set<FlightKind>(['accept', 'accepted']);

interface Link {
  /** Left and not arrived, in the order in which they left. */
  readonly flying: Kept[];
  /** Arrived and not known to have left. */
  readonly early: Kept[];
  /** Of those that are flying: when one arrived that left later. */
  readonly overtaken: Map<Kept, number>;
  /** When the last few messages arrived. */
  readonly lately: number[];
}

/** One that waits for longer than this for its other end waits for ever. */
const waitingMax = 512;
const latelyMax = 256;
/** One that was overtaken may still come within this time. */
const strayUs = 100_000;
/** One message is told of by two layers within this time. */
const sameStepUs = 1_000;

export class FlightLog {
  private readonly bounds: FlightBounds;
  private flights: Kept[] = [];
  private readonly links = new Map<string, Link>();
  private count = 0;
  private lastUs = 0;

  constructor(bounds: FlightBounds = flightBounds) {
    this.bounds = bounds;
  }

  /** Once each, in the order in which they came. */
  add(events: readonly TraceEvent[]): void {
    for (const event of events) {
      this.lastUs = Math.max(this.lastUs, event.atUs);
      if (event.layer === 'consensus') this.addConsensus(event);
      else if (event.name === 'MessagesPassed') this.addPassed(event);
    }
    for (const event of events) if (event.layer === 'lease') this.addLease(event);
    for (const link of this.links.values()) this.loseOld(link);
    const excess = this.flights.length - this.bounds.flightsMax;
    // In strides: moving all of them for each that comes would be the main cost.
    if (excess > this.bounds.flightsMax / 10) this.flights.splice(0, excess);
  }

  /** Those that were on their way at some time between both, and those told of at one end only within it. */
  between(fromUs: number, toUs: number): readonly Flight[] {
    const found: Flight[] = [];
    // They are kept in the order in which they were told of, which is nearly that of their times.
    for (let index = this.flights.length - 1; index >= 0; index -= 1) {
      const flight = this.flights[index]!;
      const beganUs = flight.leftUs ?? flight.arrivedUs!;
      const endedUs = flight.arrivedUs ?? flight.leftUs!;
      if (beganUs <= toUs && endedUs >= fromUs) found.push(flight);
      if (endedUs < fromUs - this.bounds.flyingUsMax) break;
    }
    return found.toReversed();
  }

  get kept(): readonly Flight[] {
    return this.flights;
  }

  private addConsensus(event: Extract<TraceEvent, { readonly layer: 'consensus' }>): void {
    const self = replicaOf(event.replica);
    if (event.from !== undefined && event.message !== undefined)
      this.arrive(replicaOf(event.from), self, event.message, event.atUs);
    for (const { to, message } of event.sent ?? []) this.leave(self, replicaOf(to), message, event.atUs);
  }

  private addPassed({
    replica,
    heard,
    sent,
    atUs,
  }: Extract<TraceEvent, { readonly name: 'MessagesPassed' }>): void {
    const self = replicaOf(replica);
    for (const { peer, ...message } of heard) this.arrive(replicaOf(peer), self, message, atUs);
    for (const { peer, ...message } of sent) this.leave(self, replicaOf(peer), message, atUs);
  }

  /** Heartbeats that change nothing are told of where they come to, and name the leader by its ballot; so is every other message of the leader. */
  private addLease(event: Extract<TraceEvent, { readonly layer: 'lease' }>): void {
    if (event.name !== 'HandleHeartbeat' && event.name !== 'HandleHeartbeatAck') return;
    const isAnswer = event.name === 'HandleHeartbeatAck';
    const from = replicaOf(isAnswer ? event.from : event.ballot.replica);
    const to = replicaOf(event.replica);
    const { lately } = this.linkOf(from, to);
    if (lately.some((us) => Math.abs(us - event.atUs) < sameStepUs)) return;
    const kind = isAnswer ? 'acknowledgement' : 'heartbeat';
    this.keep({ from, to, kind, message: null, leftUs: null, arrivedUs: event.atUs });
  }

  private leave(from: string, to: string, message: FlownMessage, atUs: number): void {
    const link = this.linkOf(from, to);
    const kind = kindOf(message);
    const arrived = link.early.find((one) => one.arrivedUs! >= atUs && carries(one.message!, message));
    if (arrived === undefined) {
      link.flying.push(this.keep({ from, to, kind, message, leftUs: atUs, arrivedUs: null }));
      if (link.flying.length > waitingMax) link.overtaken.delete(link.flying.shift()!);
    } else if (arrived.leftUs === null) {
      arrived.leftUs = atUs;
      this.overtake(link, arrived);
    } else this.keep({ from, to, kind, message, leftUs: atUs, arrivedUs: arrived.arrivedUs });
  }

  /** What has left in several messages may be handled as one. Of what was sent again, it is the last one that has come: the others were lost, or would have. */
  private arrive(from: string, to: string, message: FlownMessage, atUs: number): void {
    const link = this.linkOf(from, to);
    link.lately.push(atUs);
    if (link.lately.length > latelyMax) link.lately.shift();
    const found = new Map<number, Kept>();
    for (const flight of link.flying)
      if (flight.leftUs! <= atUs && carries(message, flight.message!))
        found.set(slotsOf(flight.message!).from, flight);
    if (found.size === 0) {
      const kind = kindOf(message);
      link.early.push(this.keep({ from, to, kind, message, leftUs: null, arrivedUs: atUs }));
      if (link.early.length > waitingMax) link.early.shift();
      return;
    }
    for (const flight of found.values()) {
      flight.arrivedUs = atUs;
      link.overtaken.delete(flight);
      link.flying.splice(link.flying.indexOf(flight), 1);
    }
    for (const flight of found.values()) this.overtake(link, flight);
    // The rest of what it carries may be told of later.
    const { from: first, to: last } = slotsOf(message);
    if (found.size <= last - first) link.early.push({ ...[...found.values()][0]!, message, arrivedUs: atUs });
  }

  /** Messages of one link arrive nearly in the order in which they left. */
  private overtake({ flying, overtaken }: Link, arrived: Kept): void {
    for (const flight of flying)
      if (flight.kind === arrived.kind && flight.leftUs! < arrived.leftUs! && !overtaken.has(flight))
        overtaken.set(flight, arrived.arrivedUs!);
  }

  private loseOld({ flying, early, overtaken }: Link): void {
    const beforeUs = this.lastUs - this.bounds.flyingUsMax;
    for (const flight of flying.slice()) {
      const overtakenUs = overtaken.get(flight) ?? Number.POSITIVE_INFINITY;
      if (flight.leftUs! >= beforeUs && overtakenUs + strayUs > this.lastUs) continue;
      flight.isLost = answered.has(flight.kind);
      flying.splice(flying.indexOf(flight), 1);
      overtaken.delete(flight);
    }
    while (early.length > 0 && early[0]!.arrivedUs! < beforeUs) early.shift();
  }

  private keep(told: Omit<Flight, 'number' | 'isLost'>): Kept {
    this.count += 1;
    const flight: Kept = { ...told, number: this.count, isLost: false };
    this.flights.push(flight);
    return flight;
  }

  private linkOf(from: string, to: string): Link {
    const key = `${from}>${to}`;
    const known = this.links.get(key);
    if (known !== undefined) return known;
    const link: Link = { flying: [], early: [], overtaken: new Map(), lately: [] };
    this.links.set(key, link);
    return link;
  }
}
