import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { endOfTar, entry, inPieces, reseal, sealed, soundEntries, tarOf } from './testing/small-backup.ts';
import { decodeHeader } from './tar-header.ts';
import { readTar } from './tar-reader.ts';
import { unpackBackup } from './unpack.ts';

async function isThere(directory: string): Promise<boolean> {
  return stat(directory).then(
    () => true,
    () => false,
  );
}

let root: string;
let count = 0;
const fresh = (): string => join(root, `unpacked-${(count += 1)}`);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-unpack-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function receive(bytes: Buffer, directory: string, size = 1_000): Promise<void> {
  await unpackBackup({
    stream: Readable.from(inPieces(bytes, size)),
    directory,
    majorVersion: 18,
  });
}

it.each([1, 511, 512, 513, 100_000])('a backup is taken in, in pieces of %i bytes', async (size) => {
  const directory = fresh();
  await receive(await sealed(), directory, size);
  expect(await isThere(directory)).toBe(true);
  expect((await readdir(join(directory, 'data'))).sort()).toEqual([
    'PG_VERSION',
    'backup_label',
    'base',
    'empty',
    'global',
  ]);
  expect(await readFile(join(directory, 'data', 'base', '1', '1259'))).toEqual(Buffer.alloc(1300, 7));
  expect((await stat(join(directory, 'data', 'empty'))).size).toBe(0);
  expect((await stat(join(directory, 'data'))).mode & 0o777).toBe(0o700);
  expect((await stat(join(directory, 'data', 'PG_VERSION'))).mode & 0o777).toBe(0o600);
});

it('progress counts every byte of it up to its end', async () => {
  const bytes = await sealed();
  const seen: number[] = [];
  const stream = Readable.from(inPieces(bytes, 1_000));
  await unpackBackup({
    stream,
    directory: fresh(),
    majorVersion: 18,
    onProgress: (n) => seen.push(n),
  });
  expect(seen.at(-1)).toBe(bytes.length - endOfTar.length);
});

it('a backup that was cut off anywhere is refused, and nothing of it is left', async () => {
  const bytes = await sealed();
  for (let length = 0; length < bytes.length; length += 1_531) {
    const directory = fresh();
    await expect(receive(bytes.subarray(0, length), directory)).rejects.toMatchObject({
      code: 'copyInvalid',
    });
    expect(await isThere(directory)).toBe(false);
  }
});

it('a backup with any one byte altered is refused', async () => {
  const bytes = await sealed();
  // Above all the trailer and the blocks of zeros at the end, which no checksum covers.
  for (let at = 0; at < bytes.length; at += at < bytes.length - 2_100 ? 1_009 : 61) {
    const altered = Buffer.from(bytes);
    altered[at] = (altered[at] ?? 0) ^ 1;
    const directory = fresh();
    await expect(receive(altered, directory)).rejects.toMatchObject({
      code: 'copyInvalid',
    });
    expect(await isThere(directory)).toBe(false);
  }
});

it('names and kinds that could lead out of the directory are refused', async () => {
  const outside = join(root, 'outside');
  for (const name of [
    '../outside',
    '/etc/x',
    'a/../../outside',
    'a//b',
    './../x',
    '.',
    'a/./b',
    'a\\b',
    'a\u0001b',
  ]) {
    const tar = tarOf([...soundEntries, [name, 'x']]);
    await expect(receive(await sealed(tar), fresh())).rejects.toMatchObject({ code: 'copyInvalid' });
  }
  for (const type of ['1', '2', '3', '6', 'x', 'g', 'L', 'S']) {
    const tar = Buffer.concat([
      ...soundEntries.map(([path, body]) => entry(path, body)),
      entry('odd', '', type),
      endOfTar,
    ]);
    await expect(receive(await sealed(tar), fresh())).rejects.toMatchObject({ code: 'copyInvalid' });
  }
  await expect(stat(outside)).rejects.toMatchObject({ code: 'ENOENT' });
});

it('a name that comes twice, a backup of another version and one that lacks a file are refused', async () => {
  const twice = tarOf([...soundEntries, ['PG_VERSION', '18\n']]);
  await expect(receive(await sealed(twice), fresh())).rejects.toMatchObject({ name: 'CopyError' });
  const other = tarOf(soundEntries.map(([path, body]) => [path, path === 'PG_VERSION' ? '15\n' : body]));
  await expect(receive(await sealed(other), fresh())).rejects.toThrow(/PostgreSQL 15.*PostgreSQL 18/);
  const lacking = tarOf(soundEntries.filter(([path]) => path !== 'global/pg_control'));
  await expect(receive(await sealed(lacking), fresh())).rejects.toThrow(/lacks global\/pg_control/);
  await expect(receive(tarOf(soundEntries), fresh())).rejects.toThrow(/no trailer/);
});

it('a source that dies midway, and a receiver that gives up, leave nothing', async () => {
  const bytes = await sealed();
  async function* dying(): AsyncGenerator<Buffer> {
    yield* inPieces(bytes.subarray(0, 5_000), 1_000);
    throw new Error('the source is gone');
  }
  const directory = fresh();
  await expect(
    unpackBackup({ stream: Readable.from(dying()), directory, majorVersion: 18 }),
  ).rejects.toMatchObject({ code: 'transferFailed', message: 'the source is gone' });
  expect(await isThere(directory)).toBe(false);

  const control = new AbortController();
  const endless = new Readable({ read() {} });
  endless.push(bytes.subarray(0, 5_000));
  setTimeout(() => control.abort(new Error('enough')), 20);
  await expect(
    unpackBackup({ stream: endless, directory, majorVersion: 18, signal: control.signal }),
  ).rejects.toThrow('enough');
  expect(endless.destroyed).toBe(true);
  expect(await isThere(directory)).toBe(false);
});

it('a receiver that is told to stop while it makes a backup durable, up to the last moment, leaves nothing', async () => {
  const some = await open(join(root, 'some'), 'w');
  const handles = Object.getPrototypeOf(some) as typeof some;
  await some.close();
  const sync = vi.spyOn(handles, 'sync');
  /** Told by the `stopAt`th thing that is made durable: the directories, that of `data` last. */
  const receiveUntil = async (stopAt: number): Promise<string> => {
    const control = new AbortController();
    let syncs = 0;
    sync.mockImplementation(() => {
      syncs += 1;
      if (syncs === stopAt) control.abort(new Error('enough'));
      return Promise.resolve();
    });
    const { signal } = control;
    const directory = fresh();
    const stream = Readable.from(inPieces(await sealed(), 1_000));
    const outcome = await unpackBackup({ stream, directory, majorVersion: 18, signal }).then(
      () => 'received',
      (error: Error) => error.message,
    );
    return `${outcome} after ${syncs}, ${(await isThere(directory)) ? 'complete' : 'none'}`;
  };
  try {
    // data, base, base/1, global; the directory that holds them.
    expect(await receiveUntil(Number.POSITIVE_INFINITY)).toBe('received after 5, complete');
    for (const at of [1, 2, 3, 4, 5]) expect(await receiveUntil(at)).toMatch(/^enough after \d, none$/);
  } finally {
    sync.mockRestore();
  }
});

it('a backup with a file that the disk does not take is refused, and nothing of it is left', async () => {
  const directory = fresh();
  const some = await open(join(root, 'some'), 'w');
  const handles = Object.getPrototypeOf(some) as typeof some;
  await some.close();
  const datasync = vi.spyOn(handles, 'datasync').mockRejectedValueOnce(new Error('the disk fails'));
  try {
    await expect(receive(await sealed(), directory)).rejects.toMatchObject({
      code: 'transferFailed',
      message: 'the disk fails',
    });
    expect(datasync.mock.calls.length).toBeGreaterThan(0);
    await expect(readdir(directory)).rejects.toMatchObject({ code: 'ENOENT' });
  } finally {
    datasync.mockRestore();
  }
});

it('what an earlier attempt left is replaced, and links in it are not followed', async () => {
  const directory = fresh();
  await mkdir(join(directory, 'data'), { recursive: true });
  await writeFile(join(directory, 'data', 'stale'), 'x');
  await symlink(root, join(directory, 'data', 'base'));
  await receive(await sealed(), directory);
  expect((await stat(join(directory, 'data', 'base'))).isDirectory()).toBe(true);
  expect(await readdir(join(directory, 'data'))).not.toContain('stale');
  expect(await readdir(root)).not.toContain('1');
});

it('files that are added behind the archive are unpacked, too, and summed up', async () => {
  const directory = fresh();
  const bytes = await sealed(tarOf(soundEntries), [
    ['pg_wal/000000010000000000000003', Buffer.alloc(900, 5)],
  ]);
  await receive(bytes, directory);
  const file = join(directory, 'data', 'pg_wal', '000000010000000000000003');
  expect((await readFile(file)).equals(Buffer.alloc(900, 5))).toBe(true);
});

it('sizes beyond octal are read, those beyond a safe integer refused', () => {
  const header = entry('large', '').subarray(0, 512);
  header.fill(0, 124, 136);
  header[124] = 0x80;
  header.writeUInt32BE(3, 128);
  reseal(header);
  expect(decodeHeader(header).size).toBe(3 * 2 ** 32);
  header.fill(0xff, 125, 136);
  reseal(header);
  expect(() => decodeHeader(header)).toThrow(/out of bounds/);
});

it('a tar made by the system is read, and what is sent is a tar to the system', async () => {
  const place = join(root, 'system');
  await mkdir(join(place, 'in'), { recursive: true });
  await writeFile(join(place, 'in', 'a.txt'), 'some text');
  await writeFile(join(place, 'sent.tar'), await sealed());
  const run = promisify(execFile);
  const { stdout } = await run('tar', ['-tf', join(place, 'sent.tar')]);
  expect(stdout.trim().split('\n')).toEqual([...soundEntries.map(([path]) => path), 'barista-backup.json']);
  await run('tar', ['--format=ustar', '-b', '1', '-cf', join(place, 'made.tar'), '-C', place, 'in']);
  const made = await readFile(join(place, 'made.tar'));
  const found: string[] = [];
  for await (const piece of readTar(inPieces(made, 100)))
    if (piece.kind === 'header') found.push(piece.header.path);
  expect(found).toEqual(['in', 'in/a.txt']);
});
