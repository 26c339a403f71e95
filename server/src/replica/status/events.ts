/** Numbers and times a replica's events and hands them to whoever listens: the trace file, the HTTP stream, tests. */
import { randomBytes } from 'node:crypto';
import type { ApplyTraceEvent, OperationalEvent, TraceEvent } from '../../api/events.ts';
import type { CoreTraceEvent, ReplicaId } from '../../multipaxos/types.ts';

type Layered =
  | ({ readonly layer: 'consensus' } & CoreTraceEvent)
  | ({ readonly layer: 'apply' } & ApplyTraceEvent)
  | ({ readonly layer: 'operation' } & OperationalEvent);

/** Events kept for the first listener, which comes a little after the replica has started. */
const BACKLOG_MAX = 1000;

export class ReplicaEvents {
  /** Tells this run of the process from every other. */
  readonly run = randomBytes(6).toString('hex');
  private replica: ReplicaId;
  private seq = 0;
  private readonly listeners = new Set<(event: TraceEvent) => void>();
  private backlog: TraceEvent[] = [];

  constructor(replica: ReplicaId) {
    this.replica = replica;
  }

  /** The incarnation that what comes from now on is of. */
  become(member: ReplicaId): void {
    this.replica = member;
  }

  subscribe(listener: (event: TraceEvent) => void): () => void {
    this.listeners.add(listener);
    const missed = this.backlog;
    this.backlog = [];
    for (const event of missed) listener(event);
    return () => this.listeners.delete(listener);
  }

  consensus(event: CoreTraceEvent): void {
    this.publish({ layer: 'consensus', ...event });
  }

  apply(event: ApplyTraceEvent): void {
    this.publish({ layer: 'apply', ...event });
  }

  operation(event: OperationalEvent): void {
    this.publish({ layer: 'operation', ...event });
  }

  private publish(event: Layered): void {
    this.seq++;
    // hrtime is CLOCK_MONOTONIC: one scale for all processes of a machine.
    const atUs = Number(process.hrtime.bigint() / 1000n);
    const stamped = { seq: this.seq, run: this.run, replica: this.replica, atUs, ...event } as TraceEvent;
    if (this.listeners.size === 0 && this.backlog.length < BACKLOG_MAX) this.backlog.push(stamped);
    for (const listener of this.listeners) listener(stamped);
  }
}
