/**
 * Tells the other replicas what this one's database answered, and hears what theirs did (answer-comparison.ts), for which clients' answers wait (agreed-answers.ts).
 *
 * Responsible for: how soon, how much at a time, and the bytes: u48 slot, u8 length, the digest in ASCII, again and again; with the highest bit of the length, it is one that the sender holds (specs/AnswerAgreement.tla). What is lost on the way is not told again, but for what the sender holds: a slot that is compared by fewer is compared by less, and no replica is called wrong for it.
 */
import type { Logger } from 'pino';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import { AnswerComparison, type Digests, type Verdict } from '../../payload/statements/answer-comparison.ts';
import type { AnswerRecord } from '../../payload/statements/held-answers.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { AgreedAnswers, type Answer } from './agreed-answers.ts';

export interface ExchangeOptions {
  readonly self: ReplicaId;
  readonly voters: () => readonly ReplicaId[];
  readonly send: (to: ReplicaId, bytes: Uint8Array) => void;
  readonly timers: Timers;
  readonly onVerdict: (verdict: Verdict) => void;
  /** False: what this replica's database answers counts for nothing now. */
  readonly isHeard: () => boolean;
  /** A client may wait for the answer somewhere: the slot is one of the newest. */
  readonly isNear: (slot: number) => boolean;
  /** This replica's database has it. */
  readonly hasExecuted: (slot: number) => boolean;
  /** What is to outlive the process. */
  readonly file: { readonly record: AnswerRecord; write(record: AnswerRecord): Promise<void> };
  readonly logger: Pick<Logger, 'warn'>;
}

/** For what nobody waits for. */
const everyMs = 50;
/** Told in one message at most; of what is beyond it in one turn the oldest is not told. */
const batchMax = 4_000;
const slotsMax = 50_000;
const digestCharsMax = 64;
const slotBytes = 6;
const heldBit = 0x80;
/** A majority's words come first as a rule, and say more than a holder's. */
const correctMs = 250;
/** Said again at these turns, the last a minute later: a word may be lost with its link, or with the process that heard it. */
const correctTurns: ReadonlySet<number> = new Set([1, 4, 16, 64, 256]);
const correctTurnsMax = 256;
/** A disk that takes no record is asked again after so long. */
const againMs = 1_000;

export class DigestExchange {
  private readonly options: ExchangeOptions;
  private readonly comparison: AnswerComparison;
  private readonly answers: AgreedAnswers;
  private isSoon = false;
  private waiting: Digests[] = [];
  /** By replica: what is held here, and it has answered otherwise, and the turns since. */
  private readonly contradicted = new Map<ReplicaId, Map<number, { digest: string; turns: number }>>();
  private isUnwritten = false;
  private writing: Promise<void> | null = null;
  private hasEnded = false;
  private readonly stops: readonly (() => void)[];

  constructor(options: ExchangeOptions) {
    this.options = options;
    const { self, voters, timers, file } = options;
    this.comparison = new AnswerComparison({
      self,
      voters,
      slotsMax,
      record: file.record,
      onRecord: () => {
        this.isUnwritten = true;
        this.writing ??= this.write();
      },
      onOtherwise: (replica, { slot, digest }) => {
        const all = this.contradicted.get(replica as ReplicaId) ?? new Map();
        if (all.size < batchMax) all.set(slot, { digest, turns: 0 });
        this.contradicted.set(replica as ReplicaId, all);
      },
    });
    this.answers = new AgreedAnswers({
      timers,
      othersOn: (slot, digest) => (voters().length < 2 ? 'same' : this.othersOn(slot, digest)),
      isReached: (slot) => this.comparison.isReached(slot),
    });
    this.stops = [timers.every(everyMs, () => this.flush()), timers.every(correctMs, () => this.correct())];
  }

  /** Executed here. `isAwaited`: a client of this replica waits; its answer is told when a majority has answered so. Nobody is to hear of what contradicts an answer that this database held. */
  executed(answer: Answer, isAwaited: boolean): void {
    const { slot, drop } = answer;
    // Its sessions are ended.
    if (!this.options.isHeard() || this.standsAt !== null) return drop();
    const digest = answer.digest.slice(0, digestCharsMax);
    if (this.comparison.loses(slot, digest)) {
      this.decide({ code: 'lost', slot, isHeldElsewhere: false });
      return drop();
    }
    this.waiting.push({ slot, digest });
    if (this.waiting.length > 2 * batchMax) this.waiting = this.waiting.slice(-batchMax);
    if (this.options.isNear(slot)) this.flushSoon();
    if (isAwaited) this.answers.pass({ ...answer, digest });
  }

  /** The answer of that operation waits for what others say. */
  isWaiting(name: string): boolean {
    return this.answers.has(name);
  }

  take(from: ReplicaId, bytes: Uint8Array): void {
    const all = decodeDigests(bytes);
    this.judge(
      from,
      all.filter(({ isHeld }) => isHeld !== true),
    );
    for (const told of all) {
      // One that is being replaced is wrong already.
      if (told.isHeld !== true || !this.options.isHeard()) continue;
      const verdict = this.comparison.tellHeld(from, told);
      if (verdict !== null) this.decide(verdict);
    }
    for (const { slot } of all) this.answers.heard(slot);
  }

  /** The slot at which this database has lost what it held; null: it has not. */
  get standsAt(): Slot | null {
    return this.comparison.standsAt as Slot | null;
  }

  /** Whoever holds another answer is to say so, in case that word, or this one's, was lost on the way. */
  tellAgain(slot: number): void {
    const digest = this.comparison.ownAt(slot);
    if (digest !== undefined) this.waiting.push({ slot, digest });
    this.flushSoon();
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
    for (const all of this.contradicted.values())
      for (const one of all.keys()) if (one <= slot) all.delete(one);
    this.comparison.settle(slot);
    this.answers.settle(slot);
  }

  /** Another database is here, `isOfAnother`: of another replica. */
  anew(isOfAnother: boolean): void {
    this.waiting = [];
    this.answers.drop();
    if (isOfAnother) this.contradicted.clear();
    this.comparison.forgetOwn(isOfAnother);
  }

  /** When it resolves, what is held is written down, if the disk takes it. */
  async stop(): Promise<void> {
    this.hasEnded = true;
    for (const stop of this.stops) stop();
    this.answers.stop();
    await this.writing;
  }

  /** One at a time, the newest, as often as it takes. Never rejects. */
  private async write(): Promise<void> {
    while (this.isUnwritten) {
      this.isUnwritten = false;
      try {
        await this.options.file.write(this.comparison.record);
      } catch (error) {
        this.options.logger.warn({ err: error }, 'it cannot be written down what a majority has answered');
        if (this.hasEnded) break;
        this.isUnwritten = true;
        await pause(this.options.timers, againMs);
      }
    }
    this.writing = null;
  }

  private flush(): void {
    if (this.waiting.length === 0) return;
    const told = this.waiting.slice(-batchMax);
    this.waiting = [];
    const { self, voters, send } = this.options;
    const bytes = encodeDigests(told);
    // An answer to it is to find it noted.
    this.judge(self, told);
    for (const peer of voters()) if (peer !== self) send(peer, bytes);
  }

  private judge(replica: ReplicaId, digests: readonly Digests[]): void {
    if (digests.length > 0) this.decide(this.comparison.tell(replica, digests));
  }

  private decide(verdict: Verdict): void {
    if (verdict.code === 'wrong' || verdict.code === 'lost') this.answers.drop();
    this.options.onVerdict(verdict);
  }

  private flushSoon(): void {
    if (this.isSoon) return;
    this.isSoon = true;
    this.options.timers.soon(() => {
      this.isSoon = false;
      this.flush();
    });
  }

  /** Only of what this database has, and has not lost. */
  private correct(): void {
    const { isHeard, hasExecuted, send } = this.options;
    for (const [other, all] of this.contradicted) {
      const held: ToldDigest[] = [];
      for (const [slot, one] of all) {
        one.turns += 1;
        if (one.turns >= correctTurnsMax) all.delete(slot);
        if (correctTurns.has(one.turns) && hasExecuted(slot))
          held.push({ slot, digest: one.digest, isHeld: true });
      }
      if (held.length > 0 && isHeard() && this.standsAt === null) send(other, encodeDigests(held));
    }
  }
}

/** `isHeld`: the sender holds it. */
export interface ToldDigest extends Digests {
  readonly isHeld?: true;
}

export function encodeDigests(digests: readonly ToldDigest[]): Uint8Array {
  return Buffer.concat(
    digests.map(({ slot, digest, isHeld = false }) => {
      const bytes = Buffer.alloc(slotBytes + 1 + digest.length);
      bytes.writeUIntBE(slot, 0, slotBytes);
      bytes[slotBytes] = digest.length | (isHeld ? heldBit : 0);
      bytes.write(digest, slotBytes + 1, 'latin1');
      return bytes;
    }),
  );
}

/** Up to what is none. */
export function decodeDigests(bytes: Uint8Array): ToldDigest[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const digests: ToldDigest[] = [];
  for (let at = 0; at + slotBytes < all.length && digests.length < batchMax; ) {
    const said = all[at + slotBytes] ?? 0;
    const length = said & ~heldBit;
    const end = at + slotBytes + 1 + length;
    if (end > all.length || length > digestCharsMax) break;
    digests.push({
      slot: all.readUIntBE(at, slotBytes),
      digest: all.toString('latin1', at + slotBytes + 1, end),
      ...(length === said ? {} : { isHeld: true }),
    });
    at = end;
  }
  return digests;
}
