/**
 * Whether what this replica's standby shows is shown by the leader's PostgreSQL, too: what a linearizable read has found is told only then. Spec: AskShown, HandleShown and TellFound of FollowerReads.tla.
 *
 * A standby shows a COMMIT when it has replayed it; the leader's PostgreSQL does when the session that has waited for its choice has come to that, which may be later. Asks the leader in rounds, one at a time, for all answers that wait:
 *
 *   a snapshot of the standby, for its end   and   a snapshot of the leader; another if that ends below
 *   which of those that run in the latter the standby shows   ->   the leader answers when it shows them, too
 *
 * Whatever the standby showed when a round began is shown by the leader when that is over. Subtransactions need no care: they are shown with the transaction that they are part of.
 * Responsible for: which round counts for which answer. Moves no bytes of clients, and knows nothing of leases: a leader answers under its own (shown-answers.ts).
 * Invariants: an answer is told only if the standby cannot have been sent more than what a round has found shown, or a round is over that began after it was read; no wait is longer than it was given; what is shown by a leader is shown by every
 * later one that serves.
 */
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import type { ShownAnswer } from '../../ports/control.ts';
import type { DatabaseServer } from '../../ports/database-server.ts';
import type { SnapshotView } from '../../ports/digest.ts';
import type { Transport } from '../../ports/transport.ts';

export interface ShownByLeaderOptions {
  readonly transport: Pick<Transport, 'sendControl'>;
  readonly timers: Pick<Timers, 'after' | 'soon'>;
  readonly server: Pick<DatabaseServer, 'snapshot' | 'shownAmong'>;
  /** The incarnation that leads, as far as is known. */
  readonly leader: () => ReplicaId | null;
  /** The standby was sent nothing beyond it; null: there is no database. */
  readonly sent: () => Slot | null;
  /** How far the standby has replayed, at least; null: there is none. */
  readonly standbyHas: () => Slot | null;
  /** Names this life of the process. */
  readonly run: string;
  /** A question that was not answered for so long is asked again, of whoever leads then. */
  readonly retryMs: number;
}

interface Waiting {
  /** The first round that counts. */
  readonly from: number;
  /** What is shown up to here is enough. */
  readonly sent: Slot | null;
  readonly end: (isShown: boolean) => void;
}

export class ShownByLeader {
  private readonly options: ShownByLeaderOptions;
  /** Whatever lies at or below is shown by whoever leads; null: nothing is known. */
  private shownTo: Slot | null = null;
  private rounds = 0;
  private round: AbortController | null = null;
  private isBeginning = false;
  private asked = 0;
  /** The question that is under way. */
  private question: { readonly number: number; readonly take: (answer: ShownAnswer) => void } | null = null;
  private readonly waiting = new Set<Waiting>();
  /** Since the start. */
  readonly counts = { questions: 0, refused: 0 };

  constructor(options: ShownByLeaderOptions) {
    this.options = options;
  }

  /** True if what was read from the standby before this call is shown by the leader. */
  isShown(): boolean {
    return this.covers(this.options.sent());
  }

  private covers(sent: Slot | null): boolean {
    return sent !== null && this.shownTo !== null && sent <= this.shownTo;
  }

  /** Resolves true when what was read from the standby before this call is shown by the leader; false when `waitMs`, or its life, are over. */
  awaitShown(waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting: Waiting = {
        from: this.rounds + 1,
        sent: this.options.sent(),
        end: (isShown) => {
          cancel();
          this.waiting.delete(waiting);
          // Nobody waits behind what PostgreSQL does not answer.
          if (this.waiting.size === 0) this.round?.abort();
          resolve(isShown);
        },
      };
      const cancel = this.options.timers.after(waitMs, () => {
        this.counts.refused += 1;
        waiting.end(false);
      });
      this.waiting.add(waiting);
      this.beginSoon();
    });
  }

  /** The standby is none any more, or is started again. */
  over(): void {
    for (const one of this.waiting) one.end(false);
  }

  /** One round is for all that one turn of the event loop brings. */
  private beginSoon(): void {
    if (this.isBeginning || this.round !== null) return;
    this.isBeginning = true;
    this.options.timers.soon(() => {
      this.isBeginning = false;
      if (this.waiting.size > 0) void this.go();
    });
  }

  private async go(): Promise<void> {
    const { timers, retryMs } = this.options;
    this.rounds += 1;
    const number = this.rounds;
    const has = this.options.standbyHas();
    const round = new AbortController();
    this.round = round;
    try {
      await this.confirm(round.signal);
      if (has !== null && (this.shownTo === null || has > this.shownTo)) this.shownTo = has;
      for (const one of this.waiting) if (one.from <= number || this.covers(one.sent)) one.end(true);
    } catch {
      // PostgreSQL is away, or nobody waits any more.
      round.abort();
      await pause(timers, retryMs);
    }
    this.round = null;
    if (this.waiting.size > 0) this.beginSoon();
  }

  /** Resolves when the leader shows all that the standby showed at the call. @throws Error if the standby cannot be asked; the signal's reason */
  private async confirm(givenUp: AbortSignal): Promise<void> {
    const { server } = this.options;
    const asked = this.askShown(0n, [], givenUp);
    const [{ end }, first] = await Promise.all([server.snapshot(givenUp), asked]);
    const seen = first.end >= end ? first : await this.askShown(end, [], givenUp);
    // What the standby shows has lower ids.
    const running = [...seen.running].filter((xid) => xid < end);
    if (running.length === 0) return;
    const committed = await server.shownAmong(running, givenUp);
    if (committed.length > 0) await this.askShown(end, committed, givenUp);
  }

  private async askShown(
    end: bigint,
    committed: readonly bigint[],
    givenUp: AbortSignal,
  ): Promise<SnapshotView> {
    const { transport, timers, leader, run, retryMs } = this.options;
    this.asked += 1;
    const number = this.asked;
    const told = new AbortController();
    let answered: ShownAnswer | null = null;
    const give = (): void => told.abort();
    givenUp.addEventListener('abort', give, { once: true });
    const question = {
      number,
      take: (answer: ShownAnswer): void => {
        answered = answer;
        give();
      },
    };
    this.question = question;
    const ids = { end: String(end), committed: committed.map(String) };
    while (!told.signal.aborted && !givenUp.aborted) {
      this.counts.questions += 1;
      const whom = leader();
      if (whom !== null)
        transport.sendControl(replicaOf(whom), { kind: 'ShownQuestion', run, number, ...ids });
      await pause(timers, retryMs, told.signal);
    }
    if (this.question === question) this.question = null;
    givenUp.removeEventListener('abort', give);
    givenUp.throwIfAborted();
    return viewOf(answered!);
  }

  handleShown(answer: ShownAnswer): void {
    const { question } = this;
    if (question?.number === answer.number && answer.run === this.options.run) question.take(answer);
  }
}

function viewOf({ end, running }: ShownAnswer): SnapshotView {
  return { end: BigInt(end), running: new Set(running.map(BigInt)) };
}
