import { spawnSync } from 'node:child_process';
import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as files from './account-files.ts';
import { accountVariable, launchUser } from './launch-user.ts';
import { handOver, handOverOnce } from './owners.ts';

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
const refused = { code: expect.stringMatching(/^(?:ELOOP|ENOTDIR)$/) as unknown };

let dir = '';
/** Of the account. */
let data = '';
/** Of root. */
let secret = '';
beforeEach(async () => {
  vi.stubEnv(accountVariable, isRoot ? 'nobody' : '');
  dir = await fs.mkdtemp(join(tmpdir(), 'barista-files-'));
  data = join(dir, 'data');
  secret = join(dir, 'secret');
  for (const path of [data, join(data, 'base'), secret]) await fs.mkdir(path);
  await fs.writeFile(join(data, 'base', 'file'), 'kept');
  await fs.writeFile(join(secret, 'file'), 'secret');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await fs.rm(dir, { recursive: true, force: true });
});

describe.runIf(isRoot)('files of another account', () => {
  beforeEach(async () => {
    await handOver(launchUser(), data);
    // As whatever broke out of PostgreSQL may do at any moment.
    await fs.symlink(secret, join(data, 'away'));
    await fs.symlink(join(secret, 'file'), join(data, 'base', 'link'));
  });

  it('are read, made, renamed and removed, and what is made is the account’s', async () => {
    const made = join(data, 'base', 'deep', 'made');
    await files.makeDirectories(join(data, 'base', 'deep'));
    await files.writeFile(made, 'made');
    await files.writeDurably(`${made}.durable`, 'made');
    expect(await files.readFile(made, 'utf8')).toBe('made');
    const { uid } = await fs.stat(join(data, 'base'));
    for (const path of [join(data, 'base', 'deep'), made, `${made}.durable`])
      expect((await fs.stat(path)).uid).toBe(uid);
    await files.rename(made, join(data, 'moved'));
    expect(await files.readdir(join(data, 'base', 'deep'))).toEqual(['made.durable']);
    await files.rm(join(data, 'base'), { recursive: true });
    expect(await files.exists(join(data, 'base'))).toBe(false);
    expect(await fs.readFile(join(secret, 'file'), 'utf8')).toBe('secret');
  });

  const ways: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
    readFile: (path) => files.readFile(path),
    open: (path) => files.open(path, 'r+'),
    writeFile: (path) => files.writeFile(path, 'changed'),
    copyFile: (path) => files.copyFile(path, join(dir, 'copy'), constants.COPYFILE_FICLONE),
    syncPath: (path) => files.syncPath(path),
  };

  it.each(Object.entries(ways))(
    '%s follows no link, neither in its way nor at its end',
    async (_name, way) => {
      for (const path of [join(data, 'away', 'file'), join(data, 'base', 'link')])
        await expect(way(path)).rejects.toMatchObject(refused);
      expect(await fs.readFile(join(secret, 'file'), 'utf8')).toBe('secret');
    },
  );

  it('nothing is made, listed, renamed or removed behind a link; the link itself is', async () => {
    const away = join(data, 'away');
    const works = [
      () => files.writeFile(join(away, 'made'), 'made'),
      () => files.writeDurably(join(away, 'file'), 'changed'),
      () => files.mkdir(join(away, 'made')),
      () => files.readdir(away),
      () => files.readEntries(away),
      () => files.rename(join(away, 'file'), join(data, 'got')),
      () => files.rename(join(data, 'base', 'file'), join(away, 'put')),
      () => files.rm(join(away, 'file')),
    ];
    for (const work of works) await expect(work()).rejects.toMatchObject(refused);
    expect((await files.lstat(away)).isSymbolicLink()).toBe(true);
    expect((await files.stat(away)).isSymbolicLink()).toBe(true);
    await files.rm(data, { recursive: true });
    expect(await fs.readdir(secret)).toEqual(['file']);
  });

  it('a pipe is no file, and is not waited for', async () => {
    spawnSync('mkfifo', [join(data, 'pipe')]);
    await expect(files.readFile(join(data, 'pipe'))).rejects.toMatchObject(refused);
  });

  it('a file keeps its owner behind a link, and where it has another name', async () => {
    await handOver(launchUser(), data);
    expect((await fs.stat(join(secret, 'file'))).uid).toBe(0);
    await fs.link(join(secret, 'file'), join(data, 'name'));
    await expect(handOver(launchUser(), data)).rejects.toThrow(
      /cannot be changed: name has more than one name/,
    );
    expect((await fs.stat(join(secret, 'file'))).uid).toBe(0);
  });

  it('change hands once for each directory', async () => {
    await handOverOnce(launchUser(), data);
    const path = join(data, 'base', 'roots');
    await fs.writeFile(path, '');
    await handOverOnce(launchUser(), data);
    expect((await fs.stat(path)).uid).toBe(0);
    await fs.rename(data, join(dir, 'before'));
    await fs.cp(join(dir, 'before'), data, { recursive: true });
    await handOverOnce(launchUser(), data);
    expect((await fs.stat(path)).uid).not.toBe(0);
  });

  it('are told by their own names in errors', async () => {
    const path = join(data, 'base', 'gone');
    const error = await files.readFile(path).catch((caught: unknown) => caught);
    const message = expect.stringContaining(`'${path}'`) as unknown;
    expect(error).toMatchObject({ code: 'ENOENT', path, message });
  });
});

it('in directories of this process’s own account links are followed', async () => {
  await fs.symlink(secret, join(data, 'away'));
  expect(await files.readFile(join(data, 'away', 'file'), 'utf8')).toBe('secret');
  expect((await files.stat(join(data, 'away'))).isDirectory()).toBe(true);
  await files.writeFile(join(data, 'away', 'made'), 'made');
  expect((await files.readdir(join(data, 'away'))).toSorted()).toEqual(['file', 'made']);
});
