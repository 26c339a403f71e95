/**
 * Reads at this replica's own standby: asks the leader for read indexes, and lets a read go when the standby is current enough; as a leader, answers such questions. Spec: FollowerReads.tla.
 * When what a linearizable one has found may be told is shown-by-leader.ts.
 *
 * Responsible for: which question counts for which read, how old what the standby has is, and the life of the standby that sessions read at. Moves no WAL and sees no SQL.
 * One question is under way at a time, for all reads that were asked for before it was sent; those that come meanwhile share the next one.
 * Invariants: a linearizable read waits for the answer to a question that was sent after it was asked for, and until that is replayed; what the standby has is as old as the question, however late the answer came, on this
 * replica's own clock; nothing of one life of the standby counts for the next. No wait is longer than it was given, and what is remembered of answers is bounded.
 */
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { StandbyReaders } from '../../payload/wal/life/context.ts';
import type { LookAtLeft, FindLogin } from '../../ports/client-service.ts';
import type { Timers } from '../../ports/clock.ts';
import type { ReadIndexAnswer, ReadIndexQuestion } from '../../ports/control.ts';
import type { Currency, Freshness, StandbyDoor, StandbyReads } from '../../ports/standby-reads.ts';
import type { Transport } from '../../ports/transport.ts';
import type { ShownByLeader } from './shown-by-leader.ts';

export interface FollowerReadsOptions {
  readonly transport: Pick<Transport, 'sendControl'>;
  readonly timers: Pick<Timers, 'nowMs' | 'after' | 'soon'>;
  /** The incarnation that leads, as far as is known. */
  readonly leader: () => ReplicaId | null;
  /** This replica serves as the leader, under its lease: how far the log is chosen. Null: it does not. */
  readonly readIndex: () => Slot | null;
  /** Followers hear of the commit point now. */
  readonly announce: () => void;
  /** How far the standby has replayed; null: there is none. */
  readonly replayed: () => Slot | null;
  /** A client is about to read at the standby. */
  readonly onReader: () => void;
  /** `wanted` has changed. */
  readonly hurry: () => void;
  readonly shown: Pick<ShownByLeader, 'isShown' | 'awaitShown' | 'over'>;
  readonly socketPath: () => string;
  readonly reservedUsers: readonly string[];
  readonly findLogin: FindLogin;
  readonly lookAtLeft: LookAtLeft;
  /** Names this life of the process: an answer that is late may be to a question of an earlier one. */
  readonly run: string;
  /** A question that was not answered for so long is asked again. */
  readonly retryMs: number;
}

interface Answered {
  readonly number: number;
  readonly sentAtMs: number;
  readonly index: Slot;
}

interface Waiting {
  readonly isServed: () => boolean;
  /** The first question that counts. */
  readonly from: number;
  readonly end: (currency: Currency) => void;
}

/** Answers whose index the standby has not replayed. With so many no more is asked. */
const answersMax = 16;

export class FollowerReads implements StandbyReads, StandbyReaders {
  private readonly options: FollowerReadsOptions;
  private life = 0;
  private isOpen = false;
  private asked = 0;
  /** The question that is under way. */
  private question: {
    readonly number: number;
    readonly sentAtMs: number;
    readonly giveUp: () => void;
  } | null = null;
  /** In the order of their questions. */
  private answers: Answered[] = [];
  /** The newest question whose index the standby has replayed. */
  private current: { readonly number: number; readonly sentAtMs: number } | null = null;
  private isAskingSoon = false;
  private readonly waiting = new Set<Waiting>();
  private readonly listeners = new Set<() => void>();
  /** Since the start. */
  readonly counts = { questions: 0, refused: 0 };

  constructor(options: FollowerReadsOptions) {
    this.options = options;
  }

  standby(): StandbyDoor | null {
    if (!this.isOpen) return null;
    const { socketPath, reservedUsers, findLogin, lookAtLeft } = this.options;
    return { life: this.life, socketPath: socketPath(), reservedUsers, findLogin, lookAtLeft };
  }

  onStandbyChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // ---------------------------------------------------------------------------------------------- what the standby does

  letIn(isOpen: boolean): void {
    if (isOpen === this.isOpen) return;
    this.isOpen = isOpen;
    this.life += 1;
    this.answers = [];
    this.current = null;
    this.question?.giveUp();
    this.question = null;
    for (const one of this.waiting) one.end({ code: 'over' });
    this.options.shown.over();
    for (const listener of this.listeners) listener();
  }

  get wanted(): Slot | null {
    return this.answers[0]?.index ?? null;
  }

  reached(slot: Slot): void {
    if (this.answers.length === 0 || this.answers[0]!.index > slot) return;
    while (this.answers.length > 0 && this.answers[0]!.index <= slot)
      this.reachReadIndex(this.answers.shift()!);
    for (const one of this.waiting) if (one.isServed()) one.end({ code: 'current' });
    if (this.answers.length > 0) this.options.hurry();
    this.askIfNeeded();
  }

  private reachReadIndex({ number, sentAtMs }: Answered): void {
    this.current = { number, sentAtMs };
  }

  // ------------------------------------------------------------------------------------------------ reads that are asked for

  beginRead(life: number, freshness: Freshness, waitMs: number): Promise<Currency> {
    if (this.isOpen && life === this.life) this.options.onReader();
    return this.begin(life, freshness, waitMs);
  }

  awaitCurrent(life: number, waitMs: number): Promise<Currency> {
    return this.begin(life, { kind: 'linearizable' }, waitMs);
  }

  private begin(life: number, freshness: Freshness, waitMs: number): Promise<Currency> {
    if (!this.isOpen || life !== this.life) return Promise.resolve({ code: 'over' });
    if (freshness.kind === 'snapshot') return Promise.resolve({ code: 'current' });
    const since = this.asked;
    const isServed =
      freshness.kind === 'linearizable'
        ? () => this.current !== null && this.current.number > since
        : () => this.isWithin(freshness.stalenessMaxMs);
    if (isServed()) {
      // The next read is not to wait, either.
      if (freshness.kind === 'bounded' && !this.isWithin(freshness.stalenessMaxMs / 2)) this.askSoon();
      return Promise.resolve({ code: 'current' });
    }
    return new Promise((resolve) => {
      const waiting: Waiting = {
        isServed,
        from: since + 1,
        end: (currency) => {
          cancel();
          this.waiting.delete(waiting);
          resolve(currency);
        },
      };
      const cancel = this.options.timers.after(waitMs, () => {
        this.counts.refused += 1;
        waiting.end(this.refusal(waiting.from));
      });
      this.waiting.add(waiting);
      this.askSoon();
    });
  }

  mayTell(life: number): boolean {
    return this.isOpen && life === this.life && this.options.shown.isShown();
  }

  async awaitTold(life: number, waitMs: number): Promise<boolean> {
    if (!this.isOpen || life !== this.life) return false;
    const isShown = await this.options.shown.awaitShown(waitMs);
    return isShown && life === this.life;
  }

  private isWithin(stalenessMaxMs: number): boolean {
    return this.current !== null && this.options.timers.nowMs() - this.current.sentAtMs <= stalenessMaxMs;
  }

  private refusal(from: number): Currency {
    const { current } = this;
    const staleMs = current === null ? null : this.options.timers.nowMs() - current.sentAtMs;
    return { code: this.answers.some(({ number }) => number >= from) ? 'behind' : 'noAnswer', staleMs };
  }

  /** Of all that one turn of the event loop brings, one question is asked. */
  private askSoon(): void {
    if (this.isAskingSoon || this.question !== null) return;
    this.isAskingSoon = true;
    this.options.timers.soon(() => {
      this.isAskingSoon = false;
      if (this.isOpen && this.question === null) this.askReadIndex();
    });
  }

  /** Reads that came while a question was under way have the next one. */
  private askIfNeeded(): void {
    const newest = this.answers.at(-1)?.number ?? 0;
    for (const { from } of this.waiting) {
      if (from <= newest) continue;
      this.askSoon();
      return;
    }
  }

  private askReadIndex(): void {
    const { transport, timers, leader, retryMs, run } = this.options;
    if (this.answers.length >= answersMax) return;
    this.asked += 1;
    this.counts.questions += 1;
    const giveUp = timers.after(retryMs, () => {
      this.question = null;
      if (this.waiting.size > 0) this.askReadIndex();
    });
    this.question = { number: this.asked, sentAtMs: timers.nowMs(), giveUp };
    const whom = leader();
    if (whom === null) return;
    transport.sendControl(replicaOf(whom), { kind: 'ReadIndexQuestion', run, number: this.asked });
  }

  handleReadIndex({ run, number, index }: ReadIndexAnswer): void {
    const { question } = this;
    // An answer to a question that was given up is as true, but how old it is was not kept.
    if (question === null || question.number !== number || run !== this.options.run) return;
    question.giveUp();
    this.question = null;
    this.answers.push({ number, sentAtMs: question.sentAtMs, index });
    this.reached(this.options.replayed() ?? (0 as Slot));
    if (this.answers.length === 0) return;
    this.options.hurry();
    this.askIfNeeded();
  }

  // --------------------------------------------------------------------------------------------------------- as a leader

  answerReadIndex(from: ReplicaId, { run, number }: ReadIndexQuestion): void {
    const index = this.options.readIndex();
    if (index === null) return;
    this.options.announce();
    this.options.transport.sendControl(replicaOf(from), { kind: 'ReadIndexAnswer', run, number, index });
  }
}
