/**
 * Whether a database lets in new sessions and answers them: asks a question now and then, in a session that is opened for it.
 *
 * Responsible for: how often it is asked, what a missing answer means, whether a session holds up the replay for too long, and resuming replay that somebody has paused when this replica needs it. Decides nothing about leadership.
 * Invariants: one question at a time; a question that gets no answer in time is given up. What clients can bring about alone, too many sessions or locks, is an answer (the port says so).
 */
import type { StandbyDatabase } from '../../../ports/database-server.ts';
import type { LifeContext } from './context.ts';

export interface AnswerTimes {
  /** From one question to the next. */
  readonly everyMs: number;
  /** Then a question is given up, and another one asked. */
  readonly questionMs: number;
  /** Without an answer for longer than that, the database counts as down. */
  readonly patienceMs: number;
}

/** Of a standby. */
export function answerMsOf({ options: { timings } }: LifeContext): AnswerTimes {
  const { saveMs, patienceMs } = timings;
  return { everyMs: 2 * saveMs, questionMs: patienceMs, patienceMs };
}

/** Of a primary, whose clients may keep the machine busy: another leader would not be faster then. */
export const primaryAnswerMs: AnswerTimes = { everyMs: 5_000, questionMs: 10_000, patienceMs: 30_000 };

/** A replica that is to lead ends its readers: whoever holds up the replay for longer cannot be interrupted. */
const heldNeededMs = 1_000;
/** Beyond what PostgreSQL allows: by then it has cancelled what can be. */
const heldBeyondMs = 10_000;

/** Replay waits for a session, as each answer has said since. */
interface Held {
  readonly sinceMs: number;
  /** When the last of them was asked for. */
  readonly askedMs: number;
  readonly allowedMs: number | null;
}

export class SessionAnswers {
  private readonly context: LifeContext;
  private readonly database: Pick<StandbyDatabase, 'answer'>;
  private readonly times: AnswerTimes;
  private asked: { readonly atMs: number; readonly resume: boolean } | null = null;
  private question: AbortController | null = null;
  /** When the first question was asked that has had no answer since. */
  private unansweredSinceMs: number | null = null;
  private why = '';
  private isPausedNow = false;
  /** Since this replica waits for what is not replayed; null: it does not. */
  private neededSinceMs: number | null = null;
  private held: Held | null = null;

  constructor(context: LifeContext, database: Pick<StandbyDatabase, 'answer'>, times: AnswerTimes) {
    this.context = context;
    this.database = database;
    this.times = times;
  }

  /** Replay is paused, as of the last answer. */
  get isPaused(): boolean {
    return this.isPausedNow;
  }

  /** Why the database counts as down; null: it has answered, or has time left. */
  trouble(nowMs: number): string | null {
    const { patienceMs } = this.times;
    if (this.unansweredSinceMs === null || nowMs - this.unansweredSinceMs <= patienceMs) return null;
    const reason = this.why === '' ? '' : `: ${this.why}`;
    return `PostgreSQL has not answered a query for ${patienceMs / 1000} s${reason}`;
  }

  /** Why the database is to be ended, for a session that PostgreSQL cannot interrupt keeps the replay from going on; null: none does, or it may yet let go. */
  heldUp(): string | null {
    const { held, neededSinceMs } = this;
    if (held === null) return null;
    const { sinceMs, askedMs, allowedMs } = held;
    const isTooLong =
      neededSinceMs === null
        ? allowedMs !== null && askedMs - sinceMs >= allowedMs + heldBeyondMs
        : askedMs - Math.max(sinceMs, neededSinceMs) >= heldNeededMs;
    return isTooLong ? 'a session that PostgreSQL cannot interrupt keeps the replay from going on' : null;
  }

  /** `resume`: this replica waits for what is not replayed yet, so paused replay goes on. May be called at any time, and asks when a question is due. */
  ask(resume: boolean): void {
    const { everyMs, questionMs } = this.times;
    const nowMs = this.context.options.timers.nowMs();
    this.neededSinceMs = resume ? (this.neededSinceMs ?? nowMs) : null;
    const { asked } = this;
    if (asked !== null) {
      const ageMs = nowMs - asked.atMs;
      const isNew = resume && !asked.resume;
      if (this.question !== null && ageMs <= questionMs && !isNew) return;
      if (ageMs < everyMs && !isNew) return;
    }
    this.giveUp();
    this.asked = { atMs: nowMs, resume };
    this.unansweredSinceMs ??= nowMs;
    void this.put(resume, nowMs);
  }

  /** Nobody waits for an answer any more. */
  giveUp(): void {
    this.question?.abort(new Error('PostgreSQL took too long'));
    this.question = null;
  }

  /** This process stood still: what was not answered meanwhile says nothing. */
  forget(): void {
    this.giveUp();
    this.asked = null;
    this.held = null;
    this.unansweredSinceMs = null;
  }

  private async put(resume: boolean, askedMs: number): Promise<void> {
    const question = new AbortController();
    this.question = question;
    const answer = await this.database.answer({ resume }, question.signal).catch((error: unknown) => {
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
    const { heldUp } = answer;
    this.held = heldUp === undefined ? null : { sinceMs: this.held?.sinceMs ?? askedMs, askedMs, ...heldUp };
    if (answer.resumed) options.logger.warn('replay was paused, and is resumed: this replica is to lead');
    if (answer.isPaused !== wasPaused) {
      if (answer.isPaused) options.logger.warn('replay is paused');
      options.onReplayPaused(answer.isPaused);
      signal.notify();
    }
  }
}
