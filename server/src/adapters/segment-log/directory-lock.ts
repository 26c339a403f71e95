/**
 * One process per directory, without native code: a lock of the kernel's where there is one, and a lock file named after its owner.
 *
 * On Linux the directory is locked by flock(2), which is held as long as a process has it open, and is seen from all containers of a machine, whose
 * process ids mean nothing to each other. `flock` of util-linux or BusyBox takes it on a descriptor of ours. Where that is not installed, or the file
 * system has no such locks, the files alone decide.
 *
 * Each contender creates a file of its own, `lock.<pid>.<start>.<nonce>`, and only then looks for others. If one of a living
 * process is there, it withdraws; files of dead processes are removed. Of two contenders at least one sees the other, so
 * never do both win (both may withdraw). A name belongs to one run of one process for ever, so removing a dead one's is
 * always right: there is no moment at which a take-over could hit a new owner.
 *
 * `start` is the process's start time with the machine's boot id, so that a reused pid is not mistaken for the owner. Does not
 * protect a directory that machines share.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readFile, readdir, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LogStoreError } from '../../ports/log-store.ts';

const LOCK_NAME = /^lock\.(\d+)\.([0-9a-z-]+)\.[0-9a-f]{12}$/;

/** Takes the lock; the result releases it. @throws LogStoreError logLocked */
export async function lockDirectory(path: string): Promise<() => Promise<void>> {
  const held = await holdDirectory(path);
  const own = `lock.${process.pid}.${(await processStart(process.pid)) ?? 'unknown'}.${randomBytes(6).toString('hex')}`;
  const release = async (): Promise<void> => {
    await remove(join(path, own));
    await held.close();
  };
  try {
    await writeFile(join(path, own), '', { flag: 'wx', mode: 0o600 });
    for (const name of await readdir(path)) {
      const match = LOCK_NAME.exec(name);
      if (match === null || name === own) continue;
      if (await isAlive(match))
        throw new LogStoreError('logLocked', `${path} is in use by process ${match[1]}`);
      await remove(join(path, name));
    }
  } catch (error) {
    await release();
    throw error;
  }
  return release;
}

/** It is locked until this is closed, if the kernel and its `flock` allow it. @throws LogStoreError logLocked */
async function holdDirectory(path: string): Promise<FileHandle> {
  const directory = await open(path, 'r');
  if (process.platform !== 'linux' || !(await isHeldElsewhere(directory))) return directory;
  await directory.close();
  const matches = (await readdir(path)).map((name) => LOCK_NAME.exec(name));
  for (const match of matches) {
    if (match !== null && (await isAlive(match)))
      throw new LogStoreError('logLocked', `${path} is in use by process ${match[1]}`);
  }
  throw new LogStoreError(
    'logLocked',
    `${path} is in use by a process that cannot be seen from here: one in another container, say`,
  );
}

/** The lock belongs to what is open, not to the process that takes it: when `flock` has ended, it is ours. */
async function isHeldElsewhere({ fd }: FileHandle): Promise<boolean> {
  const flock = spawn('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'pipe', fd] });
  let said = '';
  flock.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  try {
    const [code] = (await once(flock, 'close')) as [number | null];
    // It says nothing when another has the lock, and why when there are none.
    return code === 1 && said === '';
  } catch {
    return false;
  }
}

async function isAlive([, pid, start]: RegExpExecArray): Promise<boolean> {
  return (await processStart(Number(pid))) === start;
}

async function remove(file: string): Promise<void> {
  try {
    await unlink(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Names one run of process `pid`; null if there is no such process. */
async function processStart(pid: number): Promise<string | null> {
  return process.platform === 'linux' ? linuxProcessStart(pid) : bsdProcessStart(pid);
}

async function linuxProcessStart(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The command's name is in parentheses and may hold anything; fields count from after it: state is 0, start time 19.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') {
      // Dead, unless a thread of it still sits in a write.
      if ((await readdir(`/proc/${pid}/task`)).length <= 1) return null;
    }
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    return `${boot}-${fields[19]}`;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}

async function bsdProcessStart(pid: number): Promise<string | null> {
  try {
    const env = { ...process.env, LC_ALL: 'C' };
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)], { env });
    const start = Date.parse(stdout.trim());
    return Number.isNaN(start) ? null : String(start);
  } catch {
    // `ps` exits 1 if there is no such process.
    return null;
  }
}
