/**
 * The PostgreSQL of one replica: started, watched, started again, stopped.
 *
 * Invariants: at most one main process per directory; when `restart` or `stop` returns, no process of an earlier run is left.
 * Whether and when to restart is the replica's decision, since leadership depends on it.
 */
import { randomBytes } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { PgBinaries } from './binaries.ts';
import { bootstrap } from './bootstrap.ts';
import type { RoleOptions } from './bootstrap.ts';
import { chooseSocketDirectory, initializeData, socketPort, writeConfiguration } from './data-directory.ts';
import { inspectDataDirectory } from './inspect-data-directory.ts';
import { LaunchError } from './launch-error.ts';
import { chooseLaunchUser, prepareDirectory } from './launch-user.ts';
import type { LaunchUser } from './launch-user.ts';
import { openLogFile } from './log-file.ts';
import type { LogFile } from './log-file.ts';
import { openLogPipe } from './log-pipe.ts';
import { connectPg } from './pg-client.ts';
import { clearLeftovers, signal, spawnPostmaster, stopProcess, writeOwner } from './postmaster.ts';
import type { PostgresExit, Postmaster } from './postmaster.ts';
import { identify } from './process-identity.ts';
import { failureOf, observeStart } from './start-failure.ts';
import type { StartFailure, StartObserver } from './start-failure.ts';

export interface PostgresOptions {
  /** Holds `data`, `socket` and `postgres.log`. Made if it is not there. */
  readonly directory: string;
  readonly binaries: PgBinaries;
  /** The replicated database; default `barista`. Owned by the first of `roles`. */
  readonly database?: string;
  /** Roles that may log in through the gateway; default one called `barista`, password `barista`. */
  readonly roles?: readonly RoleOptions[];
  /** Further lines of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly connectionsMax?: number;
  /** How long crash recovery may take; and preparing what is up then. */
  readonly startTimeoutMs?: number;
  readonly logBytesMax?: number;
  /** Told as it begins. */
  readonly onStep?: (step: StartStep) => void;
  /** Ends this start while it is under way, with no process left. Once the server is up `stop` ends it. */
  readonly signal?: AbortSignal;
}

/** initdb; the server until it takes connections; roles, the database and the schema. */
export type StartStep = 'creating' | 'starting' | 'preparing';

export interface PostgresServer {
  /** Of the main process; null while it is not running. */
  pid(): number | null;
  readonly dataDir: string;
  readonly socketDir: string;
  readonly port: number;
  readonly socketPath: string;
  /** Such as `18.4`. */
  readonly version: string;
  readonly majorVersion: number;
  readonly database: string;
  /** What the gateway functions ask for. Drawn at each start, never on disk; see session-sql.ts. */
  readonly secret: string;
  /** Calls back when the main process ends without `stop` or `restart`. Returns the way to stop listening. */
  onExit(listener: (exit: PostgresExit) => void): () => void;
  /**
   * Ends what is left of the old process and starts a new one, several times if need be, but once only if its files are damaged or
   * there is no space. @throws LaunchError
   */
  restart(): Promise<void>;
  /** Fast shutdown, then immediate after `graceMs`, then by force. */
  stop(graceMs?: number): Promise<void>;
}

const restartsMax = 8;
const restartDelayMs = 100;
const restartDelayMaxMs = 3_000;

interface Running {
  readonly postmaster: Postmaster;
  /** Set before we end it ourselves. */
  expected: boolean;
}

interface Context {
  readonly options: PostgresOptions;
  readonly user: LaunchUser;
  readonly directory: string;
  readonly data: string;
  readonly socketDir: string;
  readonly log: LogFile;
  readonly listeners: Set<(exit: PostgresExit) => void>;
  running: Running | null;
  stopped: boolean;
}

/** Creates the database if there is none. @throws LaunchError, `databaseLost` if one is there and its files are damaged; the signal's reason */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { onStep, signal: ended } = options;
  const user = await chooseLaunchUser();
  await prepareDirectory(user, options.directory);
  const directory = await realpath(options.directory);
  const data = join(directory, 'data');
  await clearLeftovers(directory, data);
  // Never made anew in the place of one that is damaged.
  const found = await inspectDataDirectory(directory);
  if (typeof found === 'object') {
    throw new LaunchError(`PostgreSQL's files are damaged: ${found.lost}.`, { code: 'databaseLost' });
  }
  if (found === 'missing') onStep?.('creating');
  await initializeData(options.binaries, user, data, ended);
  const socketDir = await chooseSocketDirectory(user, join(directory, 'socket'));
  const log = openLogFile(join(directory, 'postgres.log'), options.logBytesMax ?? 8 * 1024 * 1024);
  const context: Context = {
    options,
    user,
    directory,
    data,
    socketDir,
    log,
    listeners: new Set(),
    running: null,
    stopped: false,
  };
  const secret = randomBytes(32).toString('hex');
  const database = options.database ?? 'barista';
  const roles = options.roles ?? [{ name: 'barista', password: 'barista' }];
  // Whoever waits for it hears at once: it takes every connection along.
  const quit = (): void => {
    if (context.running !== null) signal(context.running.postmaster.pid, 'SIGQUIT');
  };
  ended?.addEventListener('abort', quit);
  try {
    ended?.throwIfAborted();
    onStep?.('starting');
    await launch(context);
    ended?.throwIfAborted();
    onStep?.('preparing');
    const timer = setTimeout(quit, startTimeoutMs(options));
    await bootstrap({ socketDir, database, roles, secret })
      .catch((cause: unknown) => {
        throw startError(context, failureOf(cause), 'PostgreSQL could not be prepared', cause);
      })
      .finally(() => clearTimeout(timer));
    ended?.throwIfAborted();
  } catch (error) {
    await stop(context, 1_000);
    ended?.throwIfAborted();
    throw error;
  } finally {
    ended?.removeEventListener('abort', quit);
  }
  return {
    pid: () => context.running?.postmaster.pid ?? null,
    dataDir: data,
    socketDir,
    port: socketPort,
    socketPath: join(socketDir, `.s.PGSQL.${socketPort}`),
    version: options.binaries.version,
    majorVersion: options.binaries.majorVersion,
    database,
    secret,
    onExit(listener) {
      context.listeners.add(listener);
      return () => context.listeners.delete(listener);
    },
    restart: () => restart(context),
    stop: (graceMs = 10_000) => stop(context, graceMs),
  };
}

function startTimeoutMs(options: PostgresOptions): number {
  return options.startTimeoutMs ?? 120_000;
}

async function launch(context: Context): Promise<void> {
  const state = await inspectDataDirectory(context.directory);
  if (typeof state === 'object') throw startError(context, { code: 'databaseLost', reason: state.lost }, '');
  await writeConfiguration(context.user, context.data, {
    socketDir: context.socketDir,
    connectionsMax: context.options.connectionsMax ?? 200,
    settings: context.options.settings ?? {},
  }).catch((cause: unknown) => {
    const code =
      cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC' ? 'databaseFull' : 'launchFailed';
    throw new LaunchError(`PostgreSQL's configuration could not be written: ${String(cause)}`, {
      code,
      cause,
    });
  });
  // From before its first word on.
  const observer = observeStart();
  const stopObserving = context.log.watch((text) => observer.add(text));
  try {
    const running = await spawn(context);
    await awaitReady(context, running, observer);
    running.expected = false;
  } finally {
    stopObserving();
  }
}

async function spawn(context: Context): Promise<Running> {
  const log = await openLogPipe(join(context.directory, 'messages'), (chunk) => context.log.write(chunk));
  const postmaster = await spawnPostmaster({
    binaries: context.options.binaries,
    user: context.user,
    data: context.data,
    log,
  });
  const running: Running = { postmaster, expected: true };
  context.running = running;
  void postmaster.exited.then((exit) => {
    log.close();
    if (context.running === running) context.running = null;
    if (!running.expected) for (const listener of context.listeners) listener(exit);
    return exit;
  });
  await writeOwner(context.directory, postmaster.pid);
  return running;
}

/** Until it takes connections, or has ended, or the time is up. */
async function awaitReady(context: Context, running: Running, observer: StartObserver): Promise<void> {
  const timeoutMs = startTimeoutMs(context.options);
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    if (context.running !== running) {
      throw startError(context, observer.verdict(), 'PostgreSQL ended while it was starting');
    }
    try {
      const client = await connectPg({ socketDir: context.socketDir, database: 'postgres' });
      await client.end();
      return;
    } catch (cause) {
      const failure = failureOf(cause);
      if (failure.code === 'databaseLost') {
        throw startError(context, failure, 'PostgreSQL refuses connections', cause);
      }
      if (performance.now() > deadline) {
        signal(running.postmaster.pid, 'SIGKILL');
        const what = `PostgreSQL did not accept connections within ${timeoutMs} ms`;
        throw startError(context, { code: 'launchFailed', reason: failure.reason }, what, cause);
      }
    }
    await sleep(25);
  }
}

function startError(context: Context, failure: StartFailure, what: string, cause?: unknown): LaunchError {
  const { code, reason } = failure;
  const begin =
    code === 'databaseLost'
      ? `PostgreSQL's files are damaged: ${reason}`
      : [what, reason].filter((part) => part !== '').join(': ');
  return new LaunchError(`${begin}. Its last words:\n${context.log.tail()}`, { code, cause });
}

async function endRunning(context: Context, graceMs: number): Promise<void> {
  const running = context.running;
  if (running === null) return;
  running.expected = true;
  const identity = await identify(running.postmaster.pid);
  if (identity !== null) await stopProcess(identity, 'fast', graceMs);
  await running.postmaster.exited;
}

async function restart(context: Context): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    if (context.stopped) throw new LaunchError('PostgreSQL has been stopped for good.');
    try {
      await endRunning(context, 2_000);
      await clearLeftovers(context.directory, context.data);
      await launch(context);
      return;
    } catch (error) {
      // Trying again at once mends neither damage nor want of space.
      const passing = !(error instanceof LaunchError) || error.code === 'launchFailed';
      if (attempt === restartsMax || !passing) {
        await endRunning(context, 1_000);
        throw error;
      }
      await sleep(Math.min(restartDelayMaxMs, restartDelayMs * 2 ** attempt));
    }
  }
}

async function stop(context: Context, graceMs: number): Promise<void> {
  context.stopped = true;
  await endRunning(context, graceMs);
  await clearLeftovers(context.directory, context.data);
  await writeOwner(context.directory, null);
  context.log.close();
}

function sleep(timeoutMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, timeoutMs));
}
