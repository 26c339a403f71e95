/**
 * A modelled PostgreSQL as one life of its replica's process sees it: the port DatabaseServer. What is asked takes its time, and what is answered to a process that has died is heard by nobody.
 *
 * Invariants: those of the port.
 */
import type { FunctionsLook } from '../../../ports/client-functions.ts';
import type { Timers } from '../../../ports/clock.ts';
import type {
  Checkup,
  DatabaseServer,
  FeedSource,
  FileFinding,
  PrimaryDatabase,
  Promotion,
  SessionAnswer,
  StandbyDatabase,
  StandbyHandlers,
  StopMode,
  TransactionStatus,
  WalStream,
  WalStreamHandlers,
} from '../../../ports/database-server.ts';
import type { NamedRequest } from '../../../ports/client-service.ts';
import type { SnapshotView } from '../../../ports/digest.ts';
import { formatLsn, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import { ModelClient } from './model-client.ts';
import { LaunchFailure, type ModelPostgres, type ModelRun } from './model-postgres.ts';
import type { ModelPrimary } from './model-primary.ts';
import { ModelStream } from './model-stream.ts';
import { Wire } from './wire.ts';

export class ModelServer implements DatabaseServer {
  private readonly postgres: ModelPostgres;
  /** Time of the replica's process. */
  private readonly there: Timers;

  constructor(postgres: ModelPostgres, there: Timers) {
    this.postgres = postgres;
    this.there = there;
  }

  async startStandby(
    source: FeedSource,
    handlers: StandbyHandlers,
    ended: AbortSignal,
  ): Promise<StandbyDatabase> {
    await this.clearLeftovers(ended);
    const run = this.postgres.startStandby(source, handlers, this.there);
    await this.later();
    ended.throwIfAborted();
    const feed = run.feed!;
    return {
      more: () => feed.more(),
      ask: () => feed.ask(),
      shut: () => feed.shut(),
      open: () => feed.open(),
      get streaming() {
        return feed.streaming;
      },
      look: () => this.look(),
      answer: (wishes, givenUp) => this.answer(run, wishes, givenUp),
      promote: (promotion) => this.promote(run, promotion),
    };
  }

  async startPrimary(ended: AbortSignal): Promise<PrimaryDatabase> {
    await this.clearLeftovers(ended);
    const run = await this.unlessGivenUp(ended, this.started());
    ended.throwIfAborted();
    return this.primaryOf(run, run.primary!);
  }

  /** What hangs while it starts is stopped when nobody waits for it any more. */
  private async unlessGivenUp<T>(ended: AbortSignal, starting: Promise<T>): Promise<T> {
    const stop = (): void => void this.stop('immediate');
    ended.addEventListener('abort', stop, { once: true });
    try {
      return await starting;
    } catch (error) {
      ended.throwIfAborted();
      throw error;
    } finally {
      ended.removeEventListener('abort', stop);
    }
  }

  /** Or it dies while it starts. */
  private started(): Promise<ModelRun> {
    return new Promise((resolve, reject) => {
      const starting = this.postgres.startPrimary();
      const gone = (): void => {
        this.there.after(1, () =>
          reject(new LaunchFailure('launchFailed', 'PostgreSQL ended while it started')),
        );
      };
      this.postgres.run?.onGone.add(gone);
      starting.then(
        (run) => {
          run.onGone.delete(gone);
          this.there.soon(() => resolve(run));
        },
        (error: Error) => this.there.soon(() => reject(error)),
      );
    });
  }

  private async clearLeftovers(ended: AbortSignal): Promise<void> {
    ended.throwIfAborted();
    await this.later();
    await this.postgres.stop('fast');
    await this.later();
    ended.throwIfAborted();
  }

  /** A moment of the replica's own time. */
  private later(): Promise<void> {
    return new Promise((resolve) => this.there.after(this.postgres.latencyMs(), resolve));
  }

  private look(): Promise<{ nextXid: bigint; replayed: Lsn }> {
    return this.ask(({ standby, buffers }) => {
      if (standby === null || !standby.isReady) throw new Error('the database system is starting up');
      return { nextXid: buffers.nextXid, replayed: standby.replayed };
    });
  }

  /** Takes no time, and draws no chance: a question changes nothing of what else happens. */
  private answer(
    run: ModelRun,
    { resume }: { resume: boolean },
    givenUp: AbortSignal,
  ): Promise<SessionAnswer> {
    if (run.stillness !== 'moving' || !run.answers)
      return new Promise((_resolve, reject) =>
        givenUp.addEventListener('abort', () => reject(givenUp.reason as Error), { once: true }),
      );
    if (this.postgres.disk.refusesSessions) return Promise.reject(new Error('no session is let in'));
    const isPaused = run.standby?.isPaused ?? false;
    if (isPaused && resume) run.standby?.resume();
    return Promise.resolve({ isPaused: isPaused && !resume, resumed: isPaused && resume });
  }

  private async promote(run: ModelRun, { timeline, fork, history }: Promotion): Promise<PrimaryDatabase> {
    const { histories } = this.postgres.disk.wal;
    for (let number = timeline - 1; number > 1 && !histories.has(number as Timeline); number--) {
      histories.set(number as Timeline, history(number as Timeline));
      await this.later();
    }
    run.feed!.shut();
    if (this.postgres.run !== run) throw new Error('PostgreSQL was stopped');
    await this.ask((asked) => this.postgres.promote(asked));
    const primary = run.primary!;
    const at = histories.get(timeline)?.trim().split('\n').at(-1)?.split('\t')[1];
    if (primary.writer.timeline === timeline && at === formatLsn(fork)) return this.primaryOf(run, primary);
    const became = `timeline ${primary.writer.timeline}, forked at ${at ?? 'an unknown position'}`;
    throw new Error(
      `PostgreSQL was promoted to ${became}, instead of timeline ${timeline} at ${formatLsn(fork)}`,
    );
  }

  private primaryOf(run: ModelRun, primary: ModelPrimary): PrimaryDatabase {
    return {
      timeline: primary.writer.timeline,
      system: this.postgres.disk.control!.system,
      nextXid: () => this.ask(() => primary.buffers.nextXid),
      flushed: () => this.ask(() => primary.writer.syncedTo),
      openStream: (from, handlers) => this.openStream(run, primary, from, handlers),
      barrier: () => this.ask(() => primary.barrier()),
      openTransactions: (pids) =>
        this.ask(() => {
          const open = pids.map((pid) => [pid, primary.sessions.get(pid)?.xid ?? null] as const);
          return new Map(open.filter((one): one is [number, bigint] => one[1] !== null));
        }),
      cancel: (pid) =>
        this.ask(() => {
          const session = primary.sessions.get(pid);
          if (session?.isWaiting === true) return 'committing';
          session?.cancel();
          return 'done';
        }),
      answer: (wishes, givenUp) => this.answer(run, wishes, givenUp),
      committing: async (givenUp) => {
        await this.answer(run, { resume: false }, givenUp);
        givenUp.throwIfAborted();
        return [...primary.sessions.values()].filter(({ isWaiting }) => isWaiting).length;
      },
    };
  }

  private openStream(
    run: ModelRun,
    primary: ModelPrimary,
    from: Lsn,
    handlers: WalStreamHandlers,
  ): Promise<WalStream> {
    const { random, latencyMs } = this.postgres;
    return this.ask(() => {
      if (from > primary.writer.syncedTo)
        throw new Error('the starting point is ahead of the WAL flush position of this server');
      const options = { primary, from, handlers, there: this.there, here: run.process, random, latencyMs };
      const stream = new ModelStream(options);
      // Whoever asked for it is told first.
      run.process.after(latencyMs() + 1, () => primary.openStream(stream));
      return stream;
    });
  }

  stop(mode: StopMode): Promise<void> {
    return new Promise((resolve) => {
      void this.postgres.stop(mode).then(() => this.there.soon(resolve));
    });
  }

  onExit(listener: (reason: string, damage: string | null) => void): () => void {
    return this.postgres.onExit((reason, damage) =>
      this.there.after(this.postgres.latencyMs(), () => listener(reason, damage)),
    );
  }

  isAlive(): boolean {
    return this.postgres.run?.mainAlive ?? false;
  }

  endedWaits(): number {
    return this.postgres.endedWaits;
  }

  /** Nobody locks anything here. */
  readerComes(): void {}

  isMoving(): boolean {
    const { run } = this.postgres;
    return run !== null && run.stillness !== 'stopped';
  }

  workMark(): Promise<string | null> {
    const { run } = this.postgres;
    if (run === null) return Promise.resolve(null);
    return Promise.resolve(`${run.pid} ${run.stillness === 'moving' ? this.there.nowMs() : 'still'}`);
  }

  statusOf(xid: bigint): Promise<TransactionStatus> {
    return this.ask((run) => {
      const { buffers, standby } = run;
      if (standby !== null && !standby.isReady) throw new Error('the database system is starting up');
      if (xid >= buffers.nextXid || xid < buffers.oldestKnown) return 'unknown';
      const isHidden = run.primary?.hidden.has(xid) ?? false;
      // A standby learns what is prepared only when it is promoted.
      if (standby === null && [...buffers.prepared.values()].includes(xid)) return 'prepared';
      if (buffers.running.has(xid) || isHidden) return 'open';
      return buffers.outcomeOf(xid) ?? 'aborted';
    });
  }

  snapshot(): Promise<SnapshotView> {
    return this.ask(({ primary, standby, buffers }) => {
      if (standby !== null && !standby.isReady) throw new Error('the database system is starting up');
      const running = primary === null ? [] : [...buffers.running, ...primary.hidden];
      return { end: buffers.nextXid, running: new Set(running) };
    });
  }

  shownAmong(xids: readonly bigint[]): Promise<readonly bigint[]> {
    return this.ask(({ primary, standby, buffers }) => {
      if (standby !== null && !standby.isReady) throw new Error('the database system is starting up');
      const isHidden = (xid: bigint): boolean => primary?.hidden.has(xid) ?? false;
      return xids.filter((xid) => buffers.outcomeOf(xid) === 'committed' && !isHidden(xid));
    });
  }

  committedRequest(request: NamedRequest): Promise<{ readonly tag: string | null } | null> {
    return this.ask((run) => {
      const { standby, primary, buffers } = run;
      if (standby !== null && !standby.isReady) throw new Error('the database system is starting up');
      const key = requestKey(request);
      const [tag] = primary?.list(key) ?? buffers.list(key, () => true);
      return tag === undefined ? null : { tag };
    });
  }

  mayActElsewhere(): Promise<boolean> {
    return this.ask(({ standby }) => {
      if (standby !== null && !standby.isReady) throw new Error('the database system is starting up');
      return false;
    });
  }

  lookAtFunctions(): Promise<FunctionsLook> {
    return this.ask(({ standby }) => {
      if (standby !== null && !standby.isReady) throw new Error('the database system is starting up');
      return { mark: '', functions: [], unnamedTells: false };
    });
  }

  checkup(): Promise<Checkup> {
    return this.ask(({ standby, buffers }) => {
      if (standby !== null && !standby.isReady) throw new Error('the database system is starting up');
      const flushes = { ...this.postgres.flushes };
      return { damagedPages: 0, ended: buffers.endedTransactions, nextXid: buffers.nextXid, flushes };
    });
  }

  lookAtFiles(): Promise<FileFinding> {
    return this.ask(({ standby }) => {
      if (standby !== null && !standby.isReady) throw new Error('the database system is starting up');
      if (this.postgres.disk.refusesSessions) return { code: 'refused', reason: 'no session is let in' };
      return this.postgres.disk.lacksFile
        ? { code: 'damaged', reason: 'the file base/1/2 is missing' }
        : { code: 'whole' };
    });
  }

  info() {
    return { pid: this.postgres.run?.pid ?? null, socketDir: '/nowhere', port: 5432, version: 'model' };
  }

  close(): Promise<void> {
    return this.stop('fast');
  }

  /** As the gateway does it for a client. @throws Error if nobody is let in */
  connect(): Promise<ModelClient> {
    return this.ask((run) => {
      const { primary, process } = run;
      if (primary === null || !run.letsIn)
        throw new Error('the database system is not accepting connections');
      const { latencyMs } = this.postgres;
      return new ModelClient(primary, run, new Wire(process, latencyMs), new Wire(this.there, latencyMs));
    });
  }

  /** What a query on a standby finds, or one on a primary. @throws Error if nobody is let in */
  read(keys: readonly string[]): Promise<readonly (readonly string[])[]> {
    return this.ask(({ standby, primary, buffers }) => {
      if (standby !== null && !standby.isReady) throw new Error('the database system is starting up');
      return keys.map((key) => primary?.list(key) ?? buffers.list(key, () => true));
    });
  }

  /** PostgreSQL answers, or its end is noticed; if it stands still, that may never be. */
  private ask<T>(work: (run: ModelRun) => T | Promise<T>): Promise<T> {
    const { run } = this.postgres;
    const { latencyMs } = this.postgres;
    return new Promise((resolve, reject) => {
      const answer = (tell: () => void): void => void this.there.after(latencyMs(), tell);
      if (run === null || !run.mainAlive) {
        answer(() => reject(new Error('connect ECONNREFUSED')));
        return;
      }
      const gone = (): void => answer(() => reject(new Error('Connection terminated unexpectedly')));
      const done = (tell: () => void): void => {
        run.onGone.delete(gone);
        answer(tell);
      };
      run.onGone.add(gone);
      run.process.after(latencyMs(), () => {
        void (async () => {
          try {
            const value = await work(run);
            done(() => resolve(value));
          } catch (error) {
            done(() => reject(error));
          }
        })();
      });
    });
  }
}

/** Where the model keeps the name of a transaction. */
export function requestKey({ database, owner, name }: NamedRequest): string {
  return `request ${database}/${owner}/${name}`;
}
