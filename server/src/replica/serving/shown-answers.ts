/**
 * As a leader: tells followers when its PostgreSQL shows what their standbys do. Spec: AnswerShown of FollowerReads.tla.
 *
 * Responsible for: one snapshot at a time, for all that were asked before it was taken, and asking again, less and less often, until it has what they want. Which answers wait for it is the followers' business (shown-by-leader.ts).
 * Invariants: an answer rests on a snapshot that was taken after its question came, and leaves only if this replica serves under its lease when that is there; one question of each follower is kept, and for a while only.
 */
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import type { ShownQuestion } from '../../ports/control.ts';
import type { DatabaseServer } from '../../ports/database-server.ts';
import type { SnapshotView } from '../../ports/digest.ts';
import type { Transport } from '../../ports/transport.ts';

export interface ShownAnswersOptions {
  readonly transport: Pick<Transport, 'sendControl'>;
  readonly timers: Pick<Timers, 'nowMs' | 'after' | 'soon'>;
  readonly server: Pick<DatabaseServer, 'snapshot'>;
  /** This replica serves as the leader, under its lease. */
  readonly serves: () => boolean;
  /** How long a question is kept: who asked it asks again. */
  readonly keepMs: number;
  /** Between two looks, at first: most sessions come to their end at once. Doubled with each look that finds nothing new. */
  readonly pollMs: number;
  readonly pollMsMax: number;
}

interface Kept {
  readonly question: ShownQuestion;
  readonly end: bigint;
  readonly committed: readonly bigint[];
  readonly cameAtMs: number;
}

export class ShownAnswers {
  private readonly options: ShownAnswersOptions;
  /** By who asked. */
  private readonly kept = new Map<ReplicaId, Kept>();
  private isAnswering = false;
  private waitMs: number;
  /** Ends the wait for the next look. */
  private wait = new AbortController();

  constructor(options: ShownAnswersOptions) {
    this.options = options;
    this.waitMs = options.pollMs;
  }

  take(from: ReplicaId, question: ShownQuestion): void {
    if (!this.options.serves()) return;
    const committed = question.committed.map(BigInt);
    const cameAtMs = this.options.timers.nowMs();
    const before = this.kept.get(from)?.question;
    const isNew = before?.run !== question.run || before.number !== question.number;
    this.kept.set(from, { question, end: BigInt(question.end), committed, cameAtMs });
    if (isNew) {
      this.waitMs = this.options.pollMs;
      this.wait.abort();
    }
    if (this.isAnswering) return;
    this.isAnswering = true;
    // What else this turn of the event loop brings has the same snapshot.
    this.options.timers.soon(() => void this.answer());
  }

  private async answer(): Promise<void> {
    const { server, serves } = this.options;
    for (;;) {
      const asked = [...this.kept];
      const view = await this.inTime((givenUp) => server.snapshot(givenUp));
      if (view === null || !serves()) break;
      const isKept = ([from, one]: (typeof asked)[number]): boolean => this.kept.get(from) === one;
      for (const [from, one] of asked.filter(isKept)) this.answerShown(from, one, view);
      if (this.kept.size === 0) break;
      if (asked.some(isKept)) await this.pauseBetweenLooks();
    }
    this.kept.clear();
    this.isAnswering = false;
  }

  /** A session that does not come to its end is waited for at most twice as long as it takes. */
  private async pauseBetweenLooks(): Promise<void> {
    const { timers, pollMsMax } = this.options;
    const ms = this.waitMs;
    this.waitMs = Math.min(2 * ms, pollMsMax);
    this.wait = new AbortController();
    await pause(timers, ms, this.wait.signal);
  }

  /** Null: PostgreSQL is away, or hangs. */
  private async inTime(work: (givenUp: AbortSignal) => Promise<SnapshotView>): Promise<SnapshotView | null> {
    const givenUp = new AbortController();
    const cancel = this.options.timers.after(this.options.keepMs, () => givenUp.abort());
    try {
      return await work(givenUp.signal);
    } catch {
      return null;
    } finally {
      cancel();
    }
  }

  private answerShown(from: ReplicaId, one: Kept, view: SnapshotView): void {
    const { transport, timers, keepMs } = this.options;
    const { question, end, committed, cameAtMs } = one;
    if (view.end >= end && !committed.some((xid) => view.running.has(xid))) {
      this.kept.delete(from);
      const running = [...view.running].map(String);
      const { run, number } = question;
      const seen = { end: String(view.end), running };
      transport.sendControl(replicaOf(from), { kind: 'ShownAnswer', run, number, ...seen });
    } else if (timers.nowMs() - cameAtMs > keepMs) this.kept.delete(from);
  }
}
