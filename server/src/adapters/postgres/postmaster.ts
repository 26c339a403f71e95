/**
 * One run of PostgreSQL's main process: starts it, notices its end, stops it, and finds what an earlier run left behind.
 *
 * PostgreSQL gets a session of its own, so that a Ctrl-C in the terminal reaches only the replica, which then stops it in
 * order. A small shell process holds the other end of a pipe: when the replica dies without a word, the pipe breaks and the
 * shell stops PostgreSQL, at once: an orderly end would let commits be seen that wait to be chosen. Does not decide when to start again.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { PgBinaries } from './binaries.ts';
import { LaunchError } from './launch-error.ts';
import { readFile, rm, writeFile } from './account-files.ts';
import { launchAs, type LaunchUser } from './launch-user.ts';
import { handOverOnce } from './owners.ts';
import type { LogPipe } from './log-pipe.ts';
import { identify, isRunning, processesIn, waitUntilGone } from './process-identity.ts';
import type { ProcessIdentity } from './process-identity.ts';

export interface PostgresExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Postmaster {
  readonly pid: number;
  readonly exited: Promise<PostgresExit>;
}

export interface PostmasterOptions {
  readonly binaries: PgBinaries;
  readonly user: LaunchUser;
  readonly data: string;
  /** On its command line: nothing changes them while it runs. */
  readonly settings: Readonly<Record<string, string>>;
  readonly log: LogPipe;
}

const watchdogScript = `
read -r line
[ "$line" = done ] && exit 0
ours() { [ "$(head -n 1 "$2/postmaster.pid" 2>/dev/null)" = "$1" ]; }
ours "$1" "$2" && kill -QUIT "$1"
for i in 1 2 3 4 5; do kill -0 "$1" 2>/dev/null || exit 0; sleep 1; done
ours "$1" "$2" && kill -KILL "$1"
`;

/** @throws LaunchError if the process cannot be started at all; whether it accepts connections is another question */
export async function spawnPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  // Whatever wrote there last: a copy, a restore, or an earlier version that ran PostgreSQL otherwise.
  await handOverOnce(options.user, options.data);
  const launch = launchAs(options.user, options.binaries.postgres, [
    '-D',
    options.data,
    ...Object.entries(options.settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  const child = spawn(launch.command, [...launch.args], {
    ...launch.ids,
    cwd: options.data,
    detached: true,
    stdio: ['ignore', options.log.fd, options.log.fd],
    env: { ...process.env, ...options.binaries.env, LC_ALL: 'C', TZ: 'UTC' },
  });
  const exited = new Promise<PostgresExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', () => resolve());
    child.once('error', (cause) => reject(notRun(options.user, launch.command, cause)));
  });
  if (child.pid === undefined) throw new LaunchError(`Cannot run ${launch.command}`);
  options.log.handedOver();
  watch(child.pid, options.data, exited);
  return { pid: child.pid, exited };
}

function notRun(user: LaunchUser, command: string, cause: Error): LaunchError {
  const as = user.kind === 'user' ? ` as the account "${user.name}"` : '';
  return new LaunchError(`Cannot run ${command}${as}: ${cause.message}`, { cause });
}

function watch(pid: number, data: string, exited: Promise<PostgresExit>): void {
  const dog = spawn('/bin/sh', ['-c', watchdogScript, 'barista-watchdog', String(pid), data], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  dog.on('error', () => undefined);
  dog.stdin.on('error', () => undefined);
  dog.unref();
  void exited.then(() => dog.stdin.end('done\n'));
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is gone already.
  }
}

/**
 * Fast (rolls back what is open, makes a checkpoint), then immediate, then by force: from `mode` on, the first for `graceMs` at most. Returns once the process is gone. A process that was stopped (SIGSTOP) hears
 * nothing but SIGKILL; its children are left to clearLeftovers.
 */
export async function stopProcess(
  identity: ProcessIdentity,
  mode: 'fast' | 'immediate' | 'kill',
  graceMs: number,
): Promise<void> {
  const steps = [
    ['fast', 'SIGINT', graceMs],
    ['immediate', 'SIGQUIT', mode === 'immediate' ? graceMs : 3_000],
    ['kill', 'SIGKILL', 10_000],
  ] as const;
  const from = steps.findIndex(([step]) => step === mode);
  for (const [, name, timeoutMs] of steps.slice(from)) {
    if (!(await isRunning(identity))) return;
    signal(identity.pid, name);
    if (await waitUntilGone(identity, timeoutMs)) return;
  }
  throw new LaunchError(`The PostgreSQL process ${identity.pid} cannot be stopped.`);
}

const ownerFile = 'barista-owner.json';

interface Owner {
  readonly replica: ProcessIdentity;
  readonly postmaster: ProcessIdentity | null;
}

async function readOwner(directory: string): Promise<Owner | null> {
  const text = await readFile(join(directory, ownerFile), 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    return JSON.parse(text) as Owner;
  } catch {
    return null; // Torn by a crash while it was written: what it named is found by its working directory.
  }
}

/** Notes who runs PostgreSQL here, for the next start to find. */
export async function writeOwner(directory: string, pid: number | null): Promise<void> {
  const replica = await identify(process.pid);
  const postmaster = pid === null ? null : await identify(pid);
  await writeFile(join(directory, ownerFile), JSON.stringify({ replica, postmaster }), { mode: 0o600 });
}

/**
 * Stops a PostgreSQL that an earlier run left here, as a crash does, and waits until its last process is gone: a new one would find its shared
 * memory in use, and what is found out about its WAL would not be true for long. `patienceMs`: how long what is left may take to end by itself. @throws LaunchError if another living replica owns the directory
 */
export async function clearLeftovers(directory: string, data: string, patienceMs = 1_000): Promise<void> {
  const owner = await readOwner(directory);
  const replica = owner?.replica ?? null;
  if (replica !== null && replica.pid !== process.pid && (await isRunning(replica))) {
    throw new LaunchError(`Another Barista process (pid ${replica.pid}) uses ${directory}.`);
  }
  const main = owner?.postmaster ?? null;
  if (main !== null) await stopProcess(main, 'immediate', 3_000);
  const written = Number(
    (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0],
  );
  for (const left of await processesIn(data)) {
    if (left.pid === written) await stopProcess(left, 'immediate', 3_000);
  }
  // Without their main process the others notice within moments; one that is busy is not waited for.
  const others = await processesIn(data);
  const deadline = performance.now() + patienceMs;
  for (const left of others) {
    if (await waitUntilGone(left, Math.max(0, deadline - performance.now()))) continue;
    for (const one of others) signal(one.pid, 'SIGKILL');
    await waitUntilGone(left, 5_000);
  }
  // Its pid may belong to an unrelated process by now, which PostgreSQL would take for a running server.
  await rm(join(data, 'postmaster.pid'), { force: true });
}
