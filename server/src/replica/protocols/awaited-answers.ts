/**
 * Operations that this replica has executed and whose clients wait for their level, and what is known of levels that were reached.
 *
 * Invariants: an answer is settled once; it is acknowledged only by the epoch that the operation was ordered in; nobody waits longer than `waitMsMax`; what is remembered is bounded.
 */
import { sameBallot } from '../../multipaxos/ballot.ts';
import type { Ballot, Slot } from '../../multipaxos/types/names.ts';

export type AnswerOutcome = 'acknowledged' | 'unacknowledged';

const rememberedMax = 16_384;

interface Waiting {
  readonly epoch: Ballot;
  readonly sinceMs: number;
  /** Several, where what has waited for another's transaction took effect at its end. */
  readonly settles: ((outcome: AnswerOutcome) => void)[];
}

export class AwaitedAnswers {
  private readonly waitMsMax: number;
  private readonly waiting = new Map<Slot, Waiting>();
  private readonly outcomes = new Map<Slot, { readonly epoch: Ballot; readonly outcome: AnswerOutcome }>();

  constructor(waitMsMax: number) {
    this.waitMsMax = waitMsMax;
  }

  when(slot: Slot, epoch: Ballot, nowMs: number, settle: (outcome: AnswerOutcome) => void): void {
    const known = this.outcomes.get(slot);
    if (known !== undefined && sameBallot(known.epoch, epoch)) return settle(known.outcome);
    const one = this.waiting.get(slot);
    if (one !== undefined && sameBallot(one.epoch, epoch)) {
      one.settles.push(settle);
      return;
    }
    this.settle(slot, 'unacknowledged');
    this.waiting.set(slot, { epoch, sinceMs: nowMs, settles: [settle] });
  }

  tell(slot: Slot, epoch: Ballot, outcome: AnswerOutcome): void {
    this.outcomes.delete(slot);
    this.outcomes.set(slot, { epoch, outcome });
    for (const oldest of this.outcomes.keys()) {
      if (this.outcomes.size <= rememberedMax) break;
      this.outcomes.delete(oldest);
    }
    const one = this.waiting.get(slot);
    if (one !== undefined && sameBallot(one.epoch, epoch)) this.settle(slot, outcome);
  }

  look(nowMs: number): void {
    for (const [slot, { sinceMs }] of this.waiting)
      if (nowMs - sinceMs >= this.waitMsMax) this.settle(slot, 'unacknowledged');
  }

  giveUpAll(): void {
    for (const slot of this.waiting.keys()) this.settle(slot, 'unacknowledged');
  }

  private settle(slot: Slot, outcome: AnswerOutcome): void {
    const one = this.waiting.get(slot);
    this.waiting.delete(slot);
    for (const settle of one?.settles ?? []) settle(outcome);
  }
}
