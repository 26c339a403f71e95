/**
 * Answers of this replica's database wait here until a majority has answered the same: what a client hears is true, whatever its replica's database says (specs/AnswerAgreement.tla, Answer).
 *
 * Invariants: an answer that another replica contradicts is never told without a majority or an adoption; each that was given is told or dropped once.
 * Bounded: one for each request under way. Where too few others say anything for `waitMsMax`, they are away or far behind, and answers are told without them until they have come as far as that.
 */
import type { Timers } from '../../ports/clock.ts';

export const waitMsMax = 2_000;
/** Longer than it may take until one database goes on where none agree (answer-fence.ts). */
const contradictedMsMax = 60_000;
const lookMs = 250;

export interface AgreedAnswersOptions {
  readonly timers: Timers;
  /** What the others have answered to the slot, beside this one (answer-comparison.ts). */
  readonly othersOn: (slot: number, digest: string) => 'same' | 'otherwise' | null;
  /** With this replica, a majority has executed everything up to the slot. */
  readonly isReached: (slot: number) => boolean;
}

export interface Answer {
  /** Of the operation. */
  readonly name: string;
  readonly slot: number;
  readonly digest: string;
  readonly tell: () => void;
  /** Nobody will know what was answered. */
  readonly drop: () => void;
}

export class AgreedAnswers {
  private readonly options: AgreedAnswersOptions;
  /** By slot, in the order in which they came. */
  private readonly waiting = new Map<number, { readonly answer: Answer; readonly sinceMs: number }>();
  private newest = 0;
  /** Others were too slow: they are not waited for before they have come to this slot. */
  private aloneTo = 0;
  private readonly stopLooking: () => void;

  constructor(options: AgreedAnswersOptions) {
    this.options = options;
    this.stopLooking = options.timers.every(lookMs, () => this.look());
  }

  pass(answer: Answer): void {
    const { timers, othersOn, isReached } = this.options;
    this.newest = Math.max(this.newest, answer.slot);
    const others = othersOn(answer.slot, answer.digest);
    const isAlone = this.aloneTo > 0 && !isReached(this.aloneTo);
    if (!isAlone) this.aloneTo = 0;
    if (others === 'same' || (others === null && isAlone)) answer.tell();
    else {
      // The operation was executed anew: its earlier answer is that of a database which is gone.
      this.waiting.delete(answer.slot);
      this.waiting.set(answer.slot, { answer, sinceMs: timers.nowMs() });
    }
  }

  /** The operation's answer waits. */
  has(name: string): boolean {
    return [...this.waiting.values()].some(({ answer }) => answer.name === name);
  }

  /** Another replica has told of the slot. */
  heard(slot: number): void {
    const one = this.waiting.get(slot);
    if (one !== undefined && this.options.othersOn(slot, one.answer.digest) === 'same')
      this.take(slot)?.tell();
  }

  /** All go on from this replica's database from the slot on: what it answered up to there is right. */
  settle(upTo: number): void {
    for (const slot of this.waiting.keys()) if (slot <= upTo) this.take(slot)?.tell();
  }

  /** This database is wrong, or is there no more. */
  drop(): void {
    for (const slot of this.waiting.keys()) this.take(slot)?.drop();
  }

  stop(): void {
    this.stopLooking();
    this.drop();
  }

  private take(slot: number): Answer | undefined {
    const one = this.waiting.get(slot);
    this.waiting.delete(slot);
    return one?.answer;
  }

  private look(): void {
    const { timers, othersOn } = this.options;
    const nowMs = timers.nowMs();
    for (const [slot, { answer, sinceMs }] of this.waiting) {
      if (nowMs - sinceMs < waitMsMax) return;
      if (othersOn(slot, answer.digest) === null) {
        this.aloneTo = this.newest;
        this.take(slot)?.tell();
      } else if (nowMs - sinceMs > contradictedMsMax) this.take(slot)?.drop();
    }
  }
}
