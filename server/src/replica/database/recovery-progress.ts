/**
 * How far this replica's recovery is, while there is one: for status, metrics, the log and the stream of events.
 *
 * Responsible for: the phases and their percentages, and telling them at a bearable pace. Recovers nothing itself.
 * Invariants: an event for each phase entered, each fresh beginning and the end, none for progress within a phase; at most one line a second in the log.
 */
import type { Logger } from 'pino';
import type { OperationalEvent } from '../../api/events.ts';
import type { RecoveryProgress } from '../../api/status.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';

type Cause = RecoveryProgress['cause'];

export interface RecoveryTrackerOptions {
  readonly nowMs: () => number;
  readonly logger: Logger;
  readonly onEvent: (event: Extract<OperationalEvent, { name: 'RecoveryPhase' }>) => void;
}

const logEveryMs = 1000;
const reasonCharsMax = 500;
const beforeLastWords = 'Its last words:';

export class RecoveryTracker {
  private readonly options: RecoveryTrackerOptions;
  private progress: Omit<RecoveryProgress, 'sinceMs' | 'lastFailure'> | null = null;
  private failure: {
    readonly reason: string;
    readonly source: ReplicaId | null;
    readonly atMs: number;
  } | null = null;
  private beganAtMs = 0;
  private loggedAtMs = 0;
  private catchUp: { from: Slot; to: Slot } | null = null;

  constructor(options: RecoveryTrackerOptions) {
    this.options = options;
  }

  /** Milliseconds since it began in `sinceMs`. */
  current(): RecoveryProgress | null {
    if (this.progress === null) return null;
    const nowMs = this.options.nowMs();
    const { failure } = this;
    const lastFailure =
      failure === null
        ? null
        : { reason: failure.reason, source: failure.source, agoMs: Math.round(nowMs - failure.atMs) };
    return { ...this.progress, lastFailure, sinceMs: Math.round(nowMs - this.beganAtMs) };
  }

  /** A recovery that is under way goes on, for a graver cause perhaps. */
  begin(cause: Cause, phase: 'joining' | 'copying' | 'catchingUp'): void {
    if (this.progress === null) {
      this.beganAtMs = this.options.nowMs();
      this.progress = { phase, cause, source: null, bytes: 0, bytesTotal: null, percent: null, attempts: 0 };
    } else {
      // What was lost is known for certain only when it has been let in.
      const known = this.progress.phase === 'joining' ? cause : graver(this.progress.cause, cause);
      this.progress = { ...this.progress, phase, cause: known, percent: null };
    }
    this.tellPhase();
  }

  /** Begins to copy, afresh if it had begun before. */
  attempt(source: ReplicaId): void {
    if (this.progress === null) return;
    const attempts = this.progress.attempts + 1;
    this.progress = {
      ...this.progress,
      phase: 'copying',
      source,
      bytes: 0,
      bytesTotal: null,
      bytesReceived: 0,
      percent: null,
      attempts,
    };
    this.tellPhase();
  }

  received(bytes: number, bytesTotal: number | null, bytesReceived: number): void {
    if (this.progress?.phase !== 'copying') return;
    // The total is an estimate of the beginning: 100 % is for what is complete, and stays though the last pieces are counted after they came.
    const soFar =
      bytesTotal === null || bytesTotal === 0 ? null : Math.min(99, Math.floor((bytes / bytesTotal) * 100));
    const percent = this.progress.percent === 100 ? 100 : soFar;
    this.progress = { ...this.progress, bytes, bytesTotal, bytesReceived, percent };
    this.log();
  }

  /** The last byte is here; making it durable may take a slow disk as long again. */
  receivedAll(): void {
    if (this.progress?.phase !== 'copying') return;
    this.progress = { ...this.progress, percent: 100 };
    this.log();
  }

  /** It is tried again. `source`: whose copy it was, or would have been. */
  failed(reason: string, source: ReplicaId | null): void {
    if (this.progress === null) return;
    // PostgreSQL's own words come on lines of their own: they are in the log.
    const [first = ''] = reason.split('\n', 1);
    const said = first.endsWith(beforeLastWords) ? first.slice(0, -beforeLastWords.length) : first;
    const text = said.trimEnd().slice(0, reasonCharsMax);
    this.failure = { reason: text, source, atMs: this.options.nowMs() };
    // Nothing is coming in until the next attempt.
    if (this.progress.phase === 'copying') this.progress = { ...this.progress, percent: null };
  }

  /** PostgreSQL is started on what was copied, or anew. */
  starting(): void {
    if (this.progress?.phase !== 'copying') return;
    this.progress = { ...this.progress, phase: 'starting', percent: null };
    this.tellPhase();
  }

  /** Nobody could help, and PostgreSQL is started again on what is here. */
  notReplaced(): void {
    if (this.progress?.phase !== 'copying') return;
    this.progress = { ...this.progress, phase: 'starting', source: null, percent: null };
    this.tellPhase();
  }

  /** From `pointer` on; `target` moves with the group's commit point. */
  catchingUp(pointer: Slot, target: Slot): void {
    if (this.progress === null) return;
    if (this.progress.phase !== 'catchingUp' || this.catchUp === null) {
      this.catchUp = { from: pointer, to: target };
      this.progress = { ...this.progress, phase: 'catchingUp', percent: null };
      this.tellPhase();
    }
    const { from } = this.catchUp;
    this.catchUp.to = target;
    const percent =
      target <= from ? 99 : Math.min(99, Math.floor(((pointer - from) / (target - from)) * 100));
    this.progress = { ...this.progress, percent: Math.max(0, percent) };
    this.log();
  }

  done(): void {
    if (this.progress === null) return;
    const { cause, attempts, bytes } = this.progress;
    const ms = Math.round(this.options.nowMs() - this.beganAtMs);
    this.options.logger.info({ cause, attempts, bytes, ms }, 'recovered');
    this.progress = null;
    this.failure = null;
    this.catchUp = null;
    this.options.onEvent({ name: 'RecoveryPhase', progress: null });
  }

  private tellPhase(): void {
    if (this.progress?.phase !== 'catchingUp') this.catchUp = null;
    this.loggedAtMs = 0;
    this.log();
    this.options.onEvent({ name: 'RecoveryPhase', progress: this.current() });
  }

  private log(): void {
    const nowMs = this.options.nowMs();
    if (this.loggedAtMs !== 0 && nowMs - this.loggedAtMs < logEveryMs) return;
    this.loggedAtMs = nowMs;
    this.options.logger.info({ recovery: this.current() }, 'recovering');
  }
}

/** Log and database: both. */
function graver(before: Cause, now: Cause): Cause {
  if (before === 'logLost' && now === 'databaseLost') return 'bothLost';
  // A new replica has nothing, and has lost nothing.
  if (before === 'new' || before === 'bothLost') return before;
  return now;
}
