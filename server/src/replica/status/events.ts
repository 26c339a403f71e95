/**
 * Numbers and times a replica's events and hands them to whoever listens: the trace file, the HTTP stream, tests.
 *
 * Invariant: what comes with every range of WAL costs next to nothing while nobody listens to it.
 */
import {
  isFrequent,
  type ApplyTraceEvent,
  type LeaseTraceEvent,
  type OperationalEvent,
  type ProtocolTraceEvent,
  type TraceEvent,
} from '../../api/events.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { CoreTraceEvent, TraceLevel } from '../../multipaxos/types/trace.ts';
import { drawnName } from '../../ports/drawn-name.ts';

type Layered =
  | ({ readonly layer: 'consensus' } & CoreTraceEvent)
  | ({ readonly layer: 'apply' } & ApplyTraceEvent)
  | ({ readonly layer: 'lease' } & LeaseTraceEvent)
  | ({ readonly layer: 'protocol' } & ProtocolTraceEvent)
  | ({ readonly layer: 'operation' } & OperationalEvent);

type Level = Extract<TraceLevel, 'rare' | 'all'>;

/** `watching`: all, for people who look on. For them the replica also looks at what else is of interest; a trace file is no reason to. */
export type Attention = Level | 'watching';

interface Listener {
  readonly onEvent: (event: TraceEvent) => void;
  readonly attention: Attention;
}

/** Events kept for the first listener, which comes a little after the replica has started. */
const BACKLOG_MAX = 1000;
/** Two clocks that were read within this time show the same moment, as far as leases go. */
const CLOSE_MS = 0.5;
const READINGS_MAX = 5;

/** What stamps events: in simulated time it is the same at each run. */
export interface EventStamp {
  /** Tells this run of the process from every other. */
  readonly run: string;
  /** One scale for all processes of a machine. */
  readonly nowUs: () => number;
}

function stampOfThisProcess(): EventStamp {
  // hrtime is CLOCK_MONOTONIC.
  return { run: drawnName(6), nowUs: () => Number(process.hrtime.bigint() / 1000n) };
}

export class ReplicaEvents {
  private readonly stamp: EventStamp;
  private replica: ReplicaId;
  private seq = 0;
  private readonly listeners = new Set<Listener>();
  private backlog: TraceEvent[] = [];
  private level: Level = 'rare';
  private watched = false;
  private onLevelChange: ((level: Level) => void) | null = null;

  constructor(replica: ReplicaId, stamp: EventStamp = stampOfThisProcess()) {
    this.replica = replica;
    this.stamp = stamp;
  }

  get run(): string {
    return this.stamp.run;
  }

  /** The incarnation that what comes from now on is of. */
  become(member: ReplicaId): void {
    this.replica = member;
  }

  /** `rare`: what comes with every range of WAL is left out (isFrequent). */
  subscribe(onEvent: (event: TraceEvent) => void, attention: Attention): () => void {
    const listener = { onEvent, attention };
    this.listeners.add(listener);
    const missed = this.backlog;
    this.backlog = [];
    for (const event of missed) onEvent(event);
    this.setLevel();
    return () => {
      this.listeners.delete(listener);
      this.setLevel();
    };
  }

  /** Asked for each message that passes. */
  get isWatched(): boolean {
    return this.watched;
  }

  /** Called at once, and whenever what is listened to changes. */
  onLevel(listener: (level: Level) => void): void {
    this.onLevelChange = listener;
    listener(this.level);
  }

  private setLevel(): void {
    const attentions = [...this.listeners].map(({ attention }) => attention);
    this.watched = attentions.includes('watching');
    const level = attentions.some((attention) => attention !== 'rare') ? 'all' : 'rare';
    if (level === this.level) return;
    this.level = level;
    this.onLevelChange?.(level);
  }

  consensus(event: CoreTraceEvent): void {
    this.publish({ layer: 'consensus', ...event });
  }

  apply(event: ApplyTraceEvent): void {
    if (this.level === 'rare' && isFrequent(event.name)) return;
    this.publish({ layer: 'apply', ...event });
  }

  /** `nowMs`: the clock that the event tells; it is stamped with the time at which that was read. */
  lease(event: LeaseTraceEvent, nowMs: () => number): void {
    if (this.level === 'rare' && isFrequent(event.name)) return;
    this.publish({ layer: 'lease', ...event }, this.whenShown(event.clockMs, nowMs));
  }

  protocol(event: ProtocolTraceEvent): void {
    this.publish({ layer: 'protocol', ...event });
  }

  /** `atUs`: when it was, if that is some time ago. */
  operation(event: OperationalEvent, atUs?: number): void {
    this.publish({ layer: 'operation', ...event }, atUs);
  }

  /** Now, as events are stamped. */
  nowUs(): number {
    return this.stamp.nowUs();
  }

  /** Both clocks are read one after the other, and a process that is put aside in between tells a wrong time: the closest of a few readings counts. */
  private whenShown(clockMs: number, nowMs: () => number): number {
    let closest = { apartMs: Number.POSITIVE_INFINITY, atUs: 0 };
    for (let tries = 0; tries < READINGS_MAX && closest.apartMs > CLOSE_MS; tries++) {
      const beforeMs = nowMs();
      const nowUs = this.stamp.nowUs();
      const apartMs = nowMs() - beforeMs;
      if (apartMs < closest.apartMs)
        closest = { apartMs, atUs: nowUs - Math.round((beforeMs - clockMs) * 1000) };
    }
    return closest.atUs;
  }

  private publish(event: Layered, atUs = this.stamp.nowUs()): void {
    this.seq++;
    const stamped = {
      seq: this.seq,
      run: this.run,
      replica: this.replica,
      atUs,
      ...event,
    } as TraceEvent;
    if (this.listeners.size === 0 && this.backlog.length < BACKLOG_MAX) this.backlog.push(stamped);
    for (const { onEvent, attention } of this.listeners) {
      if (attention !== 'rare' || !isFrequent(stamped.name)) onEvent(stamped);
    }
  }
}
