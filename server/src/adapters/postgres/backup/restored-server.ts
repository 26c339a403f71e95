/**
 * PostgreSQL on a restored database, while nobody else uses it: until it lets sessions in, while something is looked up in it, until it has ended.
 *
 * Its settings are those that recovery.ts has left there, but for the place of the socket. Invariant: no process of it is left, whatever happens.
 */
import { join } from 'node:path';
import type { PgBinaries } from '../binaries.ts';
import { chooseSocketDirectory } from '../data-directory.ts';
import { chooseLaunchUser } from '../launch-user.ts';
import { openLogPipe } from '../log-pipe.ts';
import { answerMs, connectPg } from '../pg-client.ts';
import { type Postmaster, spawnPostmaster, stopProcess } from '../postmaster.ts';
import { identify } from '../process-identity.ts';

const replayTimeoutMs = 24 * 3_600_000;
const wordsMax = 16 * 1024;

export interface RestoredServerOptions {
  /** Holds `data`. */
  readonly directory: string;
  readonly binaries: PgBinaries;
  readonly signal?: AbortSignal;
}

/** @throws what `work` throws; Error with PostgreSQL's last words; the signal's reason */
export async function whileRunning<T>(
  { directory, binaries, signal }: RestoredServerOptions,
  work: (socketDir: string) => Promise<T>,
): Promise<T> {
  const user = await chooseLaunchUser();
  const data = join(directory, 'data');
  const socketDir = await chooseSocketDirectory(user, join(directory, 'socket'));
  let words = '';
  const log = await openLogPipe(join(directory, 'messages'), (chunk) => {
    words = (words + chunk.toString('utf8')).slice(-wordsMax);
  });
  try {
    // It was restored under another name, which its settings still have.
    const settings = { unix_socket_directories: socketDir };
    const postmaster = await spawnPostmaster({ binaries, user, data, settings, log });
    try {
      await untilLetIn(postmaster, socketDir, signal).catch((cause: unknown) => {
        signal?.throwIfAborted();
        log.drain();
        throw new Error(`${(cause as Error).message}. Its last words:\n${words.trim()}`, { cause });
      });
      return await work(socketDir);
    } finally {
      await stopPostgres(postmaster, 'fast');
    }
  } finally {
    log.close();
  }
}

/** Until it lets sessions in, which is after it has replayed. @throws Error if PostgreSQL ends before */
export async function untilLetIn(
  postmaster: Postmaster,
  socketDir: string,
  signal?: AbortSignal,
): Promise<void> {
  let hasEnded = false;
  void postmaster.exited.then(() => {
    hasEnded = true;
  });
  const deadline = performance.now() + replayTimeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    if (hasEnded) throw new Error('PostgreSQL ended before it had replayed the WAL');
    if (performance.now() > deadline) throw new Error('the WAL could not be replayed within a day');
    const client = await connectPg({
      socketDir,
      database: 'postgres',
      silentMsMax: answerMs.quick,
    }).catch(() => null);
    if (client !== null) return client.end();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export async function stopPostgres({ pid, exited }: Postmaster, mode: 'fast' | 'immediate'): Promise<void> {
  const identity = await identify(pid);
  if (identity === null) return;
  await stopProcess(identity, mode, 60_000);
  await exited;
}
