/**
 * Tells the other replicas what this one's database answered, in batches, and hears what theirs did (answer-comparison.ts).
 *
 * Responsible for: how often, how much at a time, and the bytes: u48 slot, u8 length, the digest in ASCII, again and again. What is lost on the way is not told again: a slot that is compared by fewer is compared by less, and no replica is called wrong for it.
 */
import type { Timers } from '../../ports/clock.ts';
import { AnswerComparison, type Digests, type Verdict } from '../../payload/statements/answer-comparison.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';

export interface ExchangeOptions {
  readonly self: ReplicaId;
  readonly voters: () => readonly ReplicaId[];
  readonly send: (to: ReplicaId, bytes: Uint8Array) => void;
  readonly timers: Timers;
  readonly onVerdict: (verdict: Verdict) => void;
  /** False: what this replica's database answers counts for nothing now. */
  readonly isHeard: () => boolean;
}

const everyMs = 50;
/** Told in one message at most; of what is beyond it in one turn the oldest is not told. */
const batchMax = 4_000;
const slotsMax = 50_000;
const digestCharsMax = 64;
const slotBytes = 6;

export class DigestExchange {
  private readonly options: ExchangeOptions;
  private readonly comparison: AnswerComparison;
  private waiting: Digests[] = [];
  private readonly stopTelling: () => void;

  constructor(options: ExchangeOptions) {
    this.options = options;
    const { self, voters, timers } = options;
    this.comparison = new AnswerComparison({ self, voters, slotsMax });
    this.stopTelling = timers.every(everyMs, () => this.flush());
  }

  /** Executed here. */
  executed(slot: number, digest: string): void {
    if (!this.options.isHeard()) return;
    this.waiting.push({ slot, digest: digest.slice(0, digestCharsMax) });
    if (this.waiting.length > 2 * batchMax) this.waiting = this.waiting.slice(-batchMax);
  }

  take(from: ReplicaId, bytes: Uint8Array): void {
    this.judge(from, decodeDigests(bytes));
  }

  /** Another replica has executed everything up to there; 0: none has told. */
  get heardTo(): Slot {
    return this.comparison.heardTo as Slot;
  }

  othersOn(slot: number, digest: string): 'same' | 'otherwise' | null {
    return this.comparison.othersOn(slot, digest.slice(0, digestCharsMax));
  }

  /** Up to the slot all go on from one database, this replica's or another's. */
  settle(slot: number): void {
    this.waiting = this.waiting.filter((told) => told.slot > slot);
    this.comparison.settle(slot);
  }

  /** Another database is here. */
  anew(): void {
    this.waiting = [];
    this.comparison.forgetOwn();
  }

  stop(): void {
    this.stopTelling();
  }

  private flush(): void {
    if (this.waiting.length === 0) return;
    const told = this.waiting.slice(-batchMax);
    this.waiting = [];
    const { self, voters, send } = this.options;
    const bytes = encodeDigests(told);
    for (const peer of voters()) if (peer !== self) send(peer, bytes);
    this.judge(self, told);
  }

  private judge(replica: ReplicaId, digests: readonly Digests[]): void {
    if (digests.length > 0) this.options.onVerdict(this.comparison.tell(replica, digests));
  }
}

export function encodeDigests(digests: readonly Digests[]): Uint8Array {
  return Buffer.concat(
    digests.map(({ slot, digest }) => {
      const bytes = Buffer.alloc(slotBytes + 1 + digest.length);
      bytes.writeUIntBE(slot, 0, slotBytes);
      bytes[slotBytes] = digest.length;
      bytes.write(digest, slotBytes + 1, 'latin1');
      return bytes;
    }),
  );
}

/** Up to what is none. */
export function decodeDigests(bytes: Uint8Array): Digests[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const digests: Digests[] = [];
  for (let at = 0; at + slotBytes < all.length && digests.length < batchMax; ) {
    const length = all[at + slotBytes] ?? 0;
    const end = at + slotBytes + 1 + length;
    if (end > all.length || length > digestCharsMax) break;
    digests.push({
      slot: all.readUIntBE(at, slotBytes),
      digest: all.toString('latin1', at + slotBytes + 1, end),
    });
    at = end;
  }
  return digests;
}
