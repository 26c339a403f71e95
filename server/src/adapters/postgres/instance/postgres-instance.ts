/**
 * The processes of one replica's PostgreSQL: started as a primary or as a standby, watched, stopped.
 *
 * Responsible for: one main process at a time, its log, and telling whether it lives. Whether and when it is started, and as what, is the replica's decision, since leadership depends on it. Creates no
 * database.
 * Invariants: at most one main process per directory; when `stop` has resolved no process of it is left; `isAlive` and `drainLog` tell the truth of this very moment.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeDirectories } from '../account-files.ts';
import type { PgBinaries } from '../binaries.ts';
import { dispensableDirectories } from '../copy/file-class.ts';
import { chooseSocketDirectory, socketPort } from '../data-directory.ts';
import { inspectDataDirectory } from '../inspect-data-directory.ts';
import { LaunchError } from '../launch-error.ts';
import { chooseLaunchUser, openPassage, preparePlace, type LaunchUser } from '../launch-user.ts';
import { prepareDirectory } from '../owners.ts';
import { openLogFile, type LogFile } from '../log-file.ts';
import { openLogPipe, type LogPipe } from '../log-pipe.ts';
import { answerMs, connectPg } from '../pg-client.ts';
import {
  clearLeftovers,
  signal,
  spawnPostmaster,
  stopProcess,
  writeOwner,
  type PostgresExit,
  type Postmaster,
} from '../postmaster.ts';
import { identify } from '../process-identity.ts';
import {
  failureOf,
  observeStart,
  ReplayFailures,
  type StartFailure,
  type StartObserver,
} from '../start-failure.ts';
import { removeTemporaryFiles } from '../temporary-files.ts';
import { fixedSettings, writeSettings, type InstanceRole } from './settings.ts';
import { watchLimits } from './standby-limits.ts';

export interface InstanceOptions {
  /** Holds `data`, `socket` and `postgres.log`. The directory above is Barista's own, too. */
  readonly directory: string;
  readonly binaries: PgBinaries;
  readonly settings: Readonly<Record<string, string>>;
  readonly connectionsMax: number;
  /** How long a start may take, crash recovery included. */
  readonly startTimeoutMs?: number;
  readonly logBytesMax?: number;
}

/** `fast`: sessions are ended and a checkpoint is made. `immediate`: at once, as after a crash; `kill`: the same, also of processes that hang. */
export type StopMode = 'fast' | 'immediate' | 'kill';

export interface PostgresInstance {
  readonly dataDir: string;
  readonly socketDir: string;
  readonly socketPath: string;
  readonly port: number;
  /** Such as `18.4`. */
  readonly version: string;
  /** Of the main process; null while there is none. */
  pid(): number | null;
  /** A primary: until it lets sessions in. A standby: until it is one; queries come later, when it is consistent. @throws LaunchError; the signal's reason */
  start(role: InstanceRole, ended?: AbortSignal): Promise<void>;
  stop(mode: StopMode): Promise<void>;
  /**
   * It is a primary from now on; to be called before the promotion begins. Clients can have a primary write to its log whatever they like (RAISE): without this their words would be taken for a standby's own about its limits or
   * its files, for which it is stopped, or its database given up.
   */
  promoted(): void;
  /** True if the main process certainly lives; some microseconds. */
  isAlive(): boolean;
  /** Hands all that PostgreSQL has written to its log until now to the watchers. Some microseconds if there is nothing. */
  drainLog(): void;
  /** Calls back with what PostgreSQL writes. Returns the way to stop. */
  watchLog(listener: (text: string) => void): () => void;
  /** Calls back when the main process ends without `stop`; `damage`: what a standby met in its files that ended it. Returns the way to stop listening. */
  onExit(listener: (reason: string, damage: string | null) => void): () => void;
  /** Stopped for good; the log is closed. */
  close(): Promise<void>;
}

const graceMs = { fast: 10_000, immediate: 1_000, kill: 0 } as const;

interface Running {
  readonly postmaster: Postmaster;
  readonly log: LogPipe;
  /** What the system says of the main process; null where it cannot be asked so. */
  readonly memoryFile: number | null;
  /** Set before we end it ourselves. */
  expected: boolean;
}

/** Makes the directory; starts nothing. @throws LaunchError */
export async function openInstance(options: InstanceOptions): Promise<PostgresInstance> {
  const user = await chooseLaunchUser();
  await openPassage(dirname(options.directory));
  await preparePlace(user, options.directory);
  const directory = await realpath(options.directory);
  const socketDir = await chooseSocketDirectory(user, join(directory, 'socket'));
  return new Instance(options, user, directory, socketDir);
}

class Instance implements PostgresInstance {
  readonly dataDir: string;
  readonly socketDir: string;
  readonly socketPath: string;
  readonly port = socketPort;
  readonly version: string;
  private readonly options: InstanceOptions;
  private readonly user: LaunchUser;
  private readonly directory: string;
  private readonly log: LogFile;
  private readonly exitListeners = new Set<(reason: string, damage: string | null) => void>();
  private running: Running | null = null;
  private isStandby = false;
  /** Hears why a start fails, or a standby ends. Not what clients of a primary may have it write. */
  private observer: StartObserver | null = null;
  private readonly replayFailures = new ReplayFailures();

  constructor(options: InstanceOptions, user: LaunchUser, directory: string, socketDir: string) {
    this.options = options;
    this.user = user;
    this.directory = directory;
    this.dataDir = join(directory, 'data');
    this.socketDir = socketDir;
    this.socketPath = join(socketDir, `.s.PGSQL.${socketPort}`);
    this.version = options.binaries.version;
    this.log = openLogFile(join(directory, 'postgres.log'), options.logBytesMax ?? 8 * 1024 * 1024);
  }

  pid(): number | null {
    return this.running?.postmaster.pid ?? null;
  }

  async start(role: InstanceRole, ended?: AbortSignal): Promise<void> {
    if (this.running !== null) throw new Error('PostgreSQL runs already');
    await clearLeftovers(this.directory, this.dataDir);
    await removeTemporaryFiles(this.dataDir);
    const state = await inspectDataDirectory(this.directory);
    if (typeof state === 'object') throw this.startError({ code: 'databaseLost', reason: state.lost }, '');
    if (state === 'missing') throw this.startError({ code: 'databaseLost', reason: 'there is none' }, '');
    // Gone with a directory whose place a copy has taken.
    await preparePlace(this.user, this.directory);
    await prepareDirectory(this.user, this.socketDir);
    for (const name of dispensableDirectories) await makeDirectories(join(this.dataDir, name));
    this.log.reopen();
    await this.configure(role);
    ended?.throwIfAborted();
    const quit = (): void => this.quit();
    ended?.addEventListener('abort', quit);
    const isOver = ended === undefined ? null : aborted(ended);
    // From before its first word on.
    const observer = observeStart();
    this.observer = observer;
    try {
      const running = await this.spawn(role);
      // One that hangs answers nothing, and does not hear that it is to end.
      const ready = this.awaitReady(running, role, observer);
      await (isOver === null ? ready : Promise.race([ready, isOver]));
      ended?.throwIfAborted();
      if (role.kind !== 'standby') this.observer = null;
      running.expected = false;
    } catch (error) {
      await this.stop('immediate');
      ended?.throwIfAborted();
      throw error;
    } finally {
      ended?.removeEventListener('abort', quit);
    }
  }

  private quit(): void {
    const { running } = this;
    if (running !== null) signal(running.postmaster.pid, 'SIGQUIT');
  }

  private async configure(role: InstanceRole): Promise<void> {
    const { settings, connectionsMax, binaries } = this.options;
    const { socketDir } = this;
    const { majorVersion } = binaries;
    try {
      await writeSettings(this.user, this.dataDir, role, {
        socketDir,
        connectionsMax,
        majorVersion,
        settings,
      });
    } catch (cause) {
      const full = cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC';
      throw new LaunchError(`PostgreSQL's configuration could not be written: ${String(cause)}`, {
        code: full ? 'databaseFull' : 'launchFailed',
        cause,
      });
    }
  }

  private async spawn(role: InstanceRole): Promise<Running> {
    // Its end is noticed as any other, and whoever starts it again has it start with what its WAL asks for.
    const limits =
      role.kind === 'standby' ? watchLimits(() => (this.isStandby ? this.quit() : undefined)) : null;
    this.isStandby = role.kind === 'standby';
    const log = await openLogPipe(join(this.directory, 'messages'), (chunk) => {
      this.log.write(chunk);
      const text = chunk.toString('utf8');
      this.observer?.add(text);
      limits?.(text);
    });
    let postmaster: Postmaster;
    try {
      const { binaries } = this.options;
      const { user, dataDir: data, socketDir } = this;
      const settings = fixedSettings(role, { socketDir, majorVersion: binaries.majorVersion });
      postmaster = await spawnPostmaster({ binaries, user, data, settings, log });
    } catch (error) {
      log.close();
      throw error;
    }
    const running: Running = { postmaster, log, memoryFile: openMemoryFile(postmaster.pid), expected: true };
    this.running = running;
    void postmaster.exited.then((exit) => this.exited(running, exit));
    await writeOwner(this.directory, postmaster.pid);
    return running;
  }

  promoted(): void {
    // What clients have it write to its log must not be taken for what it says of itself as a standby.
    this.isStandby = false;
    this.observer = null;
  }

  private exited(running: Running, { code, signal: name }: PostgresExit): void {
    if (this.running === running) this.running = null;
    running.log.close();
    if (running.memoryFile !== null) closeSync(running.memoryFile);
    if (running.expected) return;
    const reason = `PostgreSQL ended (${name === null ? `exit code ${code}` : name})`;
    const damage = this.replayDamage();
    for (const listener of this.exitListeners) listener(reason, damage);
  }

  /** What ended a standby that was started long ago; null: nothing of the kind. */
  private replayDamage(): string | null {
    if (this.observer === null) return null;
    const failure = this.replayFailures.judge(this.observer.verdict());
    return failure.code === 'databaseLost' ? this.startError(failure, '').message : null;
  }

  private async awaitReady(running: Running, role: InstanceRole, observer: StartObserver): Promise<void> {
    const timeoutMs = this.options.startTimeoutMs ?? 120_000;
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      if (this.running !== running) {
        const failure = this.replayFailures.judge(observer.verdict());
        throw this.startError(failure, 'PostgreSQL ended while it was starting');
      }
      running.log.drain();
      if (role.kind === 'standby' && observer.isStandby) return;
      const failure = role.kind === 'standby' ? null : await this.knock();
      if (role.kind !== 'standby' && failure === null) return;
      if (failure?.code === 'databaseLost') throw this.startError(failure, 'PostgreSQL refuses connections');
      if (performance.now() > deadline) {
        const what = `PostgreSQL did not start within ${timeoutMs} ms`;
        throw this.startError({ code: 'launchFailed', reason: failure?.reason ?? '' }, what);
      }
      await sleep(10);
    }
  }

  /** Null if it lets sessions in. */
  private async knock(): Promise<StartFailure | null> {
    try {
      const client = await connectPg({
        socketDir: this.socketDir,
        database: 'postgres',
        silentMsMax: answerMs.quick,
      });
      await client.end();
      return null;
    } catch (cause) {
      return failureOf(cause);
    }
  }

  private startError({ code, reason }: StartFailure, what: string): LaunchError {
    const begin =
      code === 'databaseLost'
        ? `PostgreSQL's files are damaged: ${reason}`
        : [what, reason].filter((part) => part !== '').join(': ');
    return new LaunchError(`${begin}. Its last words:\n${this.log.tail()}`, { code });
  }

  isAlive(): boolean {
    const { running } = this;
    return running !== null && (running.memoryFile === null || hasMemory(running.memoryFile));
  }

  drainLog(): void {
    this.running?.log.drain();
  }

  watchLog(listener: (text: string) => void): () => void {
    return this.log.watch(listener);
  }

  onExit(listener: (reason: string, damage: string | null) => void): () => void {
    this.exitListeners.add(listener);
    return () => this.exitListeners.delete(listener);
  }

  async stop(mode: StopMode): Promise<void> {
    const { running } = this;
    if (running !== null) {
      running.expected = true;
      const identity = await identify(running.postmaster.pid);
      if (identity !== null) await stopProcess(identity, mode, graceMs[mode]);
      await running.postmaster.exited;
    }
    await clearLeftovers(this.directory, this.dataDir, mode === 'kill' ? 0 : 1_000);
    // Sessions that ended in order have removed theirs.
    if (mode !== 'fast') await removeTemporaryFiles(this.dataDir);
  }

  async close(): Promise<void> {
    await this.stop('fast');
    await writeOwner(this.directory, null);
    this.log.close();
  }
}

/** Null on systems that do not tell. */
function openMemoryFile(pid: number): number | null {
  try {
    return process.platform === 'linux' ? openSync(`/proc/${pid}/statm`, 'r') : null;
  } catch {
    return null;
  }
}

const memoryText = Buffer.alloc(1);

/** A process that has died has no memory, from before anybody else can notice its death; only the system's own record of it is left until it is waited for. */
function hasMemory(file: number): boolean {
  try {
    return readSync(file, memoryText, 0, 1, 0) === 1 && memoryText[0] !== 0x30;
  } catch {
    return false;
  }
}

/** Resolves when it is, at once if it has been. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function sleep(timeoutMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, timeoutMs));
}
