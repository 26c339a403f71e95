/**
 * How long a leader gathers WAL for one group, where that follows from how long replicas take to make a group durable (low-overhead-paxos-replication.txt, 4.3, formula (1)).
 *
 * Responsible for: the interval, and that the leader hears how long its followers take: the latest time of each, now and then, as the u64 of its microseconds. Gathers nothing itself (payload/wal/shipper.ts).
 * Invariant: the interval lies between 0 and the greater of its first value and `abnormalMs`.
 */
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Transport } from '../../ports/transport.ts';
import type { LeadershipState } from './leadership-state.ts';

export interface GroupIntervalOptions {
  readonly self: ReplicaId;
  /** Who leads, as far as this replica knows. */
  readonly leader: () => ReplicaId | null;
  readonly send: (to: ReplicaId, bytes: Uint8Array) => void;
  readonly nowMs: () => number;
  readonly firstMs: number;
}

/** A flush that took longer is a disk's trouble, and says nothing of the next one. */
export const abnormalMs = 250;
/** Told by a follower no more often. */
export const toldEveryMs = 20;
const messageBytes = 8;

export class GroupInterval {
  private readonly options: GroupIntervalOptions;
  private intervalMs: number;
  private toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: GroupIntervalOptions) {
    this.options = options;
    this.intervalMs = options.firstMs;
  }

  get ms(): number {
    return this.intervalMs;
  }

  /** A group is durable in this replica's log, in so many milliseconds. */
  persisted(tookMs: number): void {
    const { leader, send, nowMs } = this.options;
    if (this.isLeader) return this.consider(tookMs);
    const to = leader();
    if (to === null || nowMs() - this.toldAtMs < toldEveryMs) return;
    this.toldAtMs = nowMs();
    const bytes = Buffer.alloc(messageBytes);
    bytes.writeBigUInt64BE(BigInt(Math.max(0, Math.round(tookMs * 1000))));
    send(replicaOf(to), bytes);
  }

  /** What another replica has told. */
  take(bytes: Uint8Array): void {
    if (!this.isLeader || bytes.length !== messageBytes) return;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.consider(Number(view.getBigUint64(0)) / 1000);
  }

  private get isLeader(): boolean {
    const leader = this.options.leader();
    return leader !== null && replicaOf(leader) === replicaOf(this.options.self);
  }

  private consider(persistenceMs: number): void {
    if (persistenceMs <= abnormalMs) this.intervalMs = (this.intervalMs + persistenceMs) / 2;
  }
}

/** That of a replica by its configuration; null: groups are what gathers while the log is written to. */
export function groupIntervalOf(
  { id, groupCommit }: Pick<ReplicaConfig, 'id' | 'groupCommit'>,
  parts: {
    readonly leadership: Pick<LeadershipState, 'leader'>;
    readonly transport: Pick<Transport, 'sendControl'>;
    readonly timers: Pick<Timers, 'nowMs'>;
  },
): GroupInterval | null {
  if (groupCommit.kind === 'gather') return null;
  return new GroupInterval({
    self: id,
    leader: () => parts.leadership.leader,
    send: (to, bytes) => parts.transport.sendControl(to, { kind: 'Carried', channel: 'persistence', bytes }),
    nowMs: () => parts.timers.nowMs(),
    firstMs: groupCommit.firstMs,
  });
}
