/**
 * Keeps the replica's PostgreSQL running: starts it, notices that it died, hangs or is damaged, starts it again, and has it replaced by a copy of
 * another replica's when it is lost.
 *
 * Responsible for: when PostgreSQL is (re)started or replaced, and telling the replica. How is the postgres adapter's business. The replica decides
 * what it means for leadership.
 *
 * Invariants: between `onUp` and the next `onDown` the database that was handed out is the one that runs; what is condemned is never started again; a database
 * from which the log does not go on is never handed out; nothing is created empty unless the log has everything from its beginning, nor in the place of anything that
 * was not set aside.
 */
import type { Logger } from 'pino';
import type { RecoveryProgress } from '../api/status.ts';
import type { ReplicaId, Slot } from '../multipaxos/types.ts';
import type { ApplicationPointer, Database } from '../ports/database.ts';
import type { SessionSql } from '../ports/session-sql.ts';
import { pause, within } from '../payload/pause.ts';
import type { RecoveryTracker } from './database/recovery-progress.ts';
import type { CopyRequest, CopyTarget, Patience, TransferOutcome } from './database/state-transfer.ts';

/** A PostgreSQL that was started, as the keeper needs it. */
export interface RunningDatabase {
  readonly database: Database;
  readonly sessionSql: SessionSql;
  info(): DatabaseInfo;
  onExit(listener: (reason: string) => void): void;
  /** Rejects, or never resolves, if PostgreSQL lets nobody in. */
  probe(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** What is being done before PostgreSQL can be used; `asking`: how far its data goes. */
export type LaunchStep = 'creating' | 'starting' | 'preparing' | 'asking';

export interface DatabaseInfo {
  readonly pid: number | null;
  readonly socketDir: string;
  readonly port: number;
  readonly version: string | null;
}

/** Why the database that is there must not be used any more. */
export interface Loss {
  readonly cause: Exclude<RecoveryProgress['cause'], 'logLost' | 'noLog'>;
  readonly reason: string;
  /** Found by a comparison: who had what the majority had. Left out: nobody was compared. */
  readonly equal?: readonly ReplicaId[];
}

/** `foreign`: of another group's data. */
export type DirectoryState =
  | { readonly kind: 'usable' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'lost' | 'foreign'; readonly reason: string };

export interface DatabaseDirectory extends CopyTarget {
  /** Looks at the files, starts nothing. A complete copy that waits to be put in place has been, when this resolves. */
  inspect(): Promise<DirectoryState>;
  /** Notes, durably, that what is here is lost, until a copy has taken its place. */
  condemn(loss: Loss): Promise<void>;
  condemned(): Promise<Loss | null>;
  /** Moves what is here out of the way, if there is anything. */
  setAside(): Promise<void>;
  /** Forgets that, durably: what was condemned is not here any more, and another one is going to be made. */
  acquit(): Promise<void>;
}

export interface DatabaseListener {
  /** The log has everything from slot 1, so an empty database can become what it should be. */
  readonly logIsWhole: () => boolean;
  /** There is nobody else in the group. */
  readonly isAlone: () => boolean;
  /** Nobody else can have anything that this replica's log lacks: a copy is not needed. */
  readonly mayBeginEmpty: () => boolean;
  /** The log goes on from this pointer. */
  readonly logReaches: (pointer: Slot) => boolean;
  /** Why a database is missing. */
  readonly causeOfMissing: () => Loss['cause'];
  /** `replaced`: it is another one than before, copied from a replica or to be filled from the log. */
  readonly onUp: (database: Database, at: ApplicationPointer, replaced: boolean) => void;
  readonly onDown: (reason: string) => void;
}

export interface DatabaseKeeperOptions {
  readonly launch: (onStep: (step: LaunchStep) => void, signal: AbortSignal) => Promise<RunningDatabase>;
  readonly directory: DatabaseDirectory;
  readonly transfer: (loss: Loss, request: CopyRequest, signal: AbortSignal) => Promise<TransferOutcome>;
  readonly tracker: RecoveryTracker;
  readonly logger: Logger;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  readonly probeMs: number;
  /** How long an answer to a probe may take. */
  readonly probeTimeoutMs: number;
  /** The same for the first answers after a start: reading a pointer, and making a copy durable. */
  readonly answerTimeoutMs?: number;
}

/** Before a whole log is read from its beginning instead: that is always right, and slow. */
const patienceOfMissing: Patience = { rounds: 3, looks: 100 };
/** Something was here, with what only an operator makes perhaps (roles, extensions), which a copy has and the log has not: so the others may take their time to come back. */
const patienceOfLost: Patience = { rounds: 20, looks: 300 };
/** Between copies that were put in place and were of no use. */
const COPY_RETRY_MAX_MS = 60_000;
/** Generous: a checkpoint on a slow disk must not be taken for a PostgreSQL that hangs. */
const ANSWER_TIMEOUT_MS = 120_000;

export class DatabaseKeeper {
  private readonly options: DatabaseKeeperOptions;
  private running: RunningDatabase | null = null;
  private listener: DatabaseListener | null = null;
  private up = false;
  private step: LaunchStep | null = null;
  private stopped = false;
  private loss: Loss | null = null;
  private transferring = false;
  /** Another one has taken the place of what was lost, and was not handed out yet: its first start may fail. */
  private replaced = false;
  private copiedFrom: ReplicaId | null = null;
  /** What is here is a copy that was of no use. */
  private useless = false;
  /** Whose copies were of no use. They are asked again, after all others: by then they may have caught up. */
  private readonly tooOld = new Set<ReplicaId>();
  private readonly end = new AbortController();
  private work: Promise<void> = Promise.resolve();
  private prober: NodeJS.Timeout | null = null;
  private probing = false;

  constructor(options: DatabaseKeeperOptions) {
    this.options = options;
  }

  start(listener: DatabaseListener): void {
    this.listener = listener;
    this.work = this.bringUp();
    this.prober = setInterval(() => void this.probe(), this.options.probeMs);
  }

  /** Null while PostgreSQL is away: no session may begin. */
  sessionSql(): SessionSql | null {
    return this.up ? (this.running?.sessionSql ?? null) : null;
  }

  info(): DatabaseInfo & { readonly up: boolean } {
    const info = this.running?.info() ?? { pid: null, socketDir: '', port: 0, version: null };
    return { ...info, up: this.up };
  }

  /** Null: nothing is under way. */
  get launchStep(): LaunchStep | null {
    return this.step;
  }

  /** A copy of another replica's is being brought, and none was put in place yet. */
  get restoring(): boolean {
    return this.transferring;
  }

  /** Something that PostgreSQL should have done did not happen: ask it again from the start. */
  suspect(): void {
    this.down('PostgreSQL did not answer');
  }

  /** What PostgreSQL has here must be replaced by a copy of another replica's. */
  lose(loss: Loss): void {
    if (this.loss !== null || this.stopped) return;
    this.loss = loss;
    // Not recovered yet, and it has led to nothing but a loss again.
    if (loss.cause === 'logPurged' && this.options.tracker.current() !== null) this.rejectCopy();
    this.options.logger.error({ cause: loss.cause, reason: loss.reason }, 'the database is lost');
    this.down(loss.reason);
  }

  /** As `lose`, but only when PostgreSQL is next started: until then it stays for people to look at. */
  async condemn(loss: Loss): Promise<void> {
    try {
      await this.options.directory.condemn(loss);
    } catch (error) {
      this.options.logger.error(
        { err: error },
        'that the database must not be used again could not be noted',
      );
    }
  }

  private down(reason: string): void {
    if (!this.up || this.stopped) return;
    this.up = false;
    this.listener?.onDown(reason);
    this.work = this.work.then(() => this.bringUp());
  }

  /** A PostgreSQL that hangs closes no connection and tells nobody. */
  private async probe(): Promise<void> {
    const { running } = this;
    if (!this.up || running === null || this.probing) return;
    this.probing = true;
    const answered = await within(running.probe(), this.options.probeTimeoutMs, this.end.signal).then(
      () => true,
      () => false,
    );
    this.probing = false;
    if (!answered && this.up && running === this.running) {
      this.options.logger.error({ ...running.info() }, 'PostgreSQL lets nobody in');
      this.suspect();
    }
  }

  /** Tries for as long as the replica lives, ever more slowly. */
  private async bringUp(): Promise<void> {
    const { retryMinMs, retryMaxMs, logger } = this.options;
    for (let waitMs = retryMinMs; !this.stopped; ) {
      try {
        if (await this.bringUpOnce()) return;
      } catch (error) {
        if (this.stopped) return;
        const reason = error instanceof Error ? error.message : String(error);
        logger.error({ err: error }, 'PostgreSQL could not be started');
        if ((error as { readonly code?: unknown }).code === 'databaseLost') {
          this.loss ??= { cause: 'databaseLost', reason };
        }
        this.options.tracker.failed(`PostgreSQL could not be started: ${reason}`, this.copiedFrom);
        this.listener?.onDown(`PostgreSQL could not be started: ${reason}`);
      }
      this.step = null;
      await pause(waitMs, this.end.signal);
      const copiesAgain = this.replaced && this.loss !== null;
      waitMs = Math.min(waitMs * 2, copiesAgain ? COPY_RETRY_MAX_MS : retryMaxMs);
    }
  }

  /** False: it is to be tried again. @throws if PostgreSQL cannot be started */
  private async bringUpOnce(): Promise<boolean> {
    if (await this.replaceIfLost()) this.replaced = true;
    if (this.stopped) return true;
    this.options.tracker.starting();
    await this.launchOrRestart();
    this.begin('asking');
    const { database } = this.running!;
    const at = await this.answer(database.applicationPointer());
    const { replaced } = this;
    if (replaced) await this.answer(database.flush());
    if (this.stopped) return true;
    if (this.loss !== null) return false;
    if (!this.listener!.logReaches(at.pointer)) {
      const reason = `the database ends at slot ${at.pointer}, and this replica's log begins above`;
      this.options.tracker.failed(reason, this.copiedFrom);
      if (replaced) this.rejectCopy();
      this.loss = { cause: replaced ? 'logPurged' : 'databaseLost', reason };
      return false;
    }
    this.up = true;
    this.step = null;
    this.replaced = false;
    this.listener!.onUp(database, at, replaced);
    return true;
  }

  /** Of a PostgreSQL that nobody probes yet. @throws if it hangs, or the keeper is stopped: stopping waits for no answer */
  private answer<T>(work: Promise<T>): Promise<T> {
    return within(work, this.options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS, this.end.signal);
  }

  /** True if another one has taken the place of what was here. */
  private async replaceIfLost(): Promise<boolean> {
    const { directory, tracker } = this.options;
    this.loss ??= await directory.condemned();
    this.loss ??= await this.lossOfFiles();
    const { loss } = this;
    if (loss === null) return false;
    const { logIsWhole, isAlone, logReaches } = this.listener!;
    // Purged by the others before this replica had it: such a log begins above, though nothing was ever purged here.
    const whole = logIsWhole() && loss.cause !== 'logPurged';
    const fromLog = whole && isAlone();
    tracker.begin(loss.cause, 'copying');
    await this.running?.stop();
    this.running = null;
    const wasMissing = (await directory.inspect()).kind === 'missing';
    if (!wasMissing) await directory.condemn(loss);
    const outcome: TransferOutcome = fromLog
      ? { kind: 'gaveUp' }
      : await this.copy(loss, {
          patience: whole ? (wasMissing ? patienceOfMissing : patienceOfLost) : null,
          isOfUse: logReaches,
          askedLast: this.tooOld,
          old: this.useless ? 'removed' : 'setAside',
        });
    if (outcome.kind === 'stopped') return false;
    this.useless = false;
    this.copiedFrom = outcome.kind === 'installed' ? outcome.from : null;
    if (outcome.kind === 'gaveUp') {
      // In this order: after a crash in between it is condemned and missing, and this is done again.
      await directory.setAside();
      await directory.acquit();
      tracker.begin(loss.cause, 'catchingUp');
      this.options.logger.warn('nobody has a copy of the database: it is made anew from the log');
    }
    this.loss = null;
    return true;
  }

  private async copy(loss: Loss, request: CopyRequest): Promise<TransferOutcome> {
    this.transferring = true;
    try {
      return await this.options.transfer(loss, request, this.end.signal);
    } finally {
      this.transferring = false;
    }
  }

  private rejectCopy(): void {
    if (this.copiedFrom === null) return;
    this.tooOld.add(this.copiedFrom);
    this.copiedFrom = null;
    this.useless = true;
  }

  private async lossOfFiles(): Promise<Loss | null> {
    if (this.running !== null) return null;
    const state = await this.options.directory.inspect();
    if (state.kind === 'usable') return null;
    if (state.kind !== 'missing') return { cause: 'databaseLost', reason: state.reason };
    const { mayBeginEmpty, causeOfMissing } = this.listener!;
    return mayBeginEmpty() ? null : { cause: causeOfMissing(), reason: 'its directory is empty' };
  }

  private begin(step: LaunchStep): void {
    this.step = step;
    this.options.logger.info({ step }, 'PostgreSQL');
  }

  private async launchOrRestart(): Promise<void> {
    if (this.running !== null) {
      this.begin('starting');
      await this.running.restart();
      return;
    }
    const running = await this.options.launch((step) => this.begin(step), this.end.signal);
    this.running = running;
    running.onExit((reason) => {
      if (this.running === running) this.down(reason);
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.up = false;
    if (this.prober !== null) clearInterval(this.prober);
    this.end.abort(new Error('the replica is stopping'));
    await this.running?.stop();
    await this.work;
    // A launch that was under way has brought up another one meanwhile.
    await this.running?.stop();
  }
}
