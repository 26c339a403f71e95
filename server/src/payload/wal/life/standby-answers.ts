/**
 * Whether a standby answers questions: asks one now and then, in a session of its own.
 *
 * Responsible for: how often it is asked, what a missing answer means, and resuming replay that somebody has paused when this replica needs it. Decides nothing about leadership.
 * Invariants: one question at a time; a question that gets no answer in time is given up.
 */
import type { StandbyDatabase } from '../../../ports/database-server.ts';
import type { LifeContext } from './context.ts';

export class StandbyAnswers {
  private readonly context: LifeContext;
  private readonly standby: Pick<StandbyDatabase, 'answer'>;
  private asked: { readonly atMs: number; readonly resume: boolean } | null = null;
  private question: AbortController | null = null;
  /** When the first question was asked that has had no answer since. */
  private unansweredSinceMs: number | null = null;
  private why = '';
  private isPausedNow = false;

  constructor(context: LifeContext, standby: Pick<StandbyDatabase, 'answer'>) {
    this.context = context;
    this.standby = standby;
  }

  /** Replay is paused, as of the last answer. */
  get isPaused(): boolean {
    return this.isPausedNow;
  }

  /** Why the database counts as down; null: it has answered, or has time left. */
  trouble(nowMs: number): string | null {
    const { patienceMs } = this.context.options.timings;
    if (this.unansweredSinceMs === null || nowMs - this.unansweredSinceMs <= patienceMs) return null;
    const reason = this.why === '' ? '' : `: ${this.why}`;
    return `PostgreSQL has not answered a query for ${patienceMs / 1000} s${reason}`;
  }

  /** `resume`: this replica waits for what is not replayed yet, so paused replay goes on. May be called at any time, and asks when a question is due. */
  ask(resume: boolean): void {
    const { timers, timings } = this.context.options;
    const nowMs = timers.nowMs();
    const { asked } = this;
    if (asked !== null) {
      const ageMs = nowMs - asked.atMs;
      const isNew = resume && !asked.resume;
      if (this.question !== null && ageMs <= timings.patienceMs && !isNew) return;
      if (ageMs < 2 * timings.saveMs && !isNew) return;
    }
    this.giveUp();
    this.asked = { atMs: nowMs, resume };
    this.unansweredSinceMs ??= nowMs;
    void this.put(resume);
  }

  /** Nobody waits for an answer any more. */
  giveUp(): void {
    this.question?.abort(new Error('PostgreSQL took too long'));
    this.question = null;
  }

  private async put(resume: boolean): Promise<void> {
    const question = new AbortController();
    this.question = question;
    const answer = await this.standby.answer({ resume }, question.signal).catch((error: unknown) => {
      if (this.question === question) this.why = error instanceof Error ? error.message : String(error);
      return null;
    });
    if (this.question !== question) return;
    this.question = null;
    if (answer === null) return;
    const { options, signal } = this.context;
    const wasPaused = this.isPausedNow;
    this.unansweredSinceMs = null;
    this.why = '';
    this.isPausedNow = answer.isPaused;
    if (answer.resumed) options.logger.warn('replay was paused, and is resumed: this replica is to lead');
    if (answer.isPaused !== wasPaused) {
      if (answer.isPaused) options.logger.warn('replay is paused');
      options.onReplayPaused(answer.isPaused);
      signal.notify();
    }
  }
}
