/** Whose PostgreSQL it is that a directory's note names. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readPostmaster } from './wipe.ts';

let dir: string;
let child: ChildProcess | null = null;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'barista-wipe-'));
  await mkdir(join(dir, 'postgres', 'data'), { recursive: true });
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await rm(dir, { recursive: true, force: true });
});

const note = (pid: number): Promise<void> =>
  writeFile(join(dir, 'postgres', 'data', 'postmaster.pid'), `${pid}\n`);

it('is that of a process which works in the directory', async () => {
  child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    cwd: join(dir, 'postgres', 'data'),
    stdio: 'ignore',
  });
  await note(child.pid!);
  await expect.poll(() => readPostmaster(dir)).toMatchObject({ pid: child.pid });
});

it.runIf(process.platform === 'linux')(
  'is nobody where the number was given to another process since, or there is no note',
  async () => {
    expect(await readPostmaster(dir)).toBeNull();
    await note(process.pid);
    expect(await readPostmaster(dir)).toBeNull();
  },
);
