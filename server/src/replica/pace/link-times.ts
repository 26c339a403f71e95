/**
 * How long the other members take to answer this replica.
 *
 * Responsible for: the times of each of them, and that of a quorum. A leader learns them from answers to its heartbeats. Others ask each other only while their leader wants to know (`ask`): a replica that is not far from its
 * quorum costs nobody a message. What is asked and answered: a byte (0 asks, 1 answers) and the asker's clock, as a double, which is echoed.
 */
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { RecentTimes } from './recent-times.ts';

/** Counted in looks of 300 ms. */
const recent = { newest: 10, looksMax: 40 } as const;
const least = 3;
const bytesOfTime = 8;
/** An echo that is older is of no use. */
const echoMsMax = 60_000;

export class LinkTimes {
  private readonly times = new Map<ReplicaId, RecentTimes>();
  /** In this look: the sum, and how many. */
  private readonly now = new Map<ReplicaId, { sumMs: number; count: number }>();

  /** `replica` has answered after so long. */
  answered(replica: ReplicaId, tookMs: number): void {
    const now = this.now.get(replica) ?? { sumMs: 0, count: 0 };
    now.sumMs += Math.max(0, tookMs);
    now.count += 1;
    this.now.set(replica, now);
  }

  /** One look, over these members. `silentMs`: for how long one of them has answered nothing, if that is known. */
  look(others: readonly ReplicaId[], silentMs: (replica: ReplicaId) => number | null): void {
    for (const known of this.times.keys()) if (!others.includes(known)) this.times.delete(known);
    for (const replica of others) {
      const now = this.now.get(replica);
      const times = this.times.get(replica) ?? new RecentTimes(recent);
      this.times.set(replica, times);
      times.take(now === undefined ? silentMs(replica) : now.sumMs / now.count);
    }
    this.now.clear();
  }

  /** Until so many of these have answered, in the middle; null: not known of so many. */
  quorumMs(voters: readonly ReplicaId[], needed: number): number | null {
    if (needed <= 0) return 0;
    const known = voters.flatMap((replica) => this.times.get(replica)?.median(least) ?? []);
    return known.toSorted((a, b) => a - b)[needed - 1] ?? null;
  }
}

export function linkQuestion(nowMs: number): Uint8Array {
  const bytes = Buffer.alloc(1 + bytesOfTime);
  bytes.writeDoubleBE(nowMs, 1);
  return bytes;
}

/** An answer to send back, or how long the sender took to answer; null: neither. */
export function readLink(
  bytes: Uint8Array,
  nowMs: number,
): { readonly answer: Uint8Array } | { readonly tookMs: number } | null {
  if (bytes.length !== 1 + bytesOfTime) return null;
  const answer = Buffer.from(bytes);
  if (bytes[0] === 0) {
    answer[0] = 1;
    return { answer };
  }
  const tookMs = nowMs - answer.readDoubleBE(1);
  return bytes[0] === 1 && tookMs >= 0 && tookMs <= echoMsMax ? { tookMs } : null;
}
