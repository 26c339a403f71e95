import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { clearPartialIncoming, inspectIncoming, installSnapshot, setDatabaseAside } from './directories.ts';
import { receiveSnapshot } from './receive-snapshot.ts';
import { endOfTar, entry, inPieces, owner, reseal, sent, soundEntries, tarOf } from './testing/small-copy.ts';
import { decodeHeader } from './tar-header.ts';
import { readTar } from './tar-reader.ts';

let root: string;
let count = 0;
const fresh = (): string => join(root, `incoming-${(count += 1)}`);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-receive-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

function receive(bytes: Buffer, directory: string, size = 1_000): Promise<void> {
  return receiveSnapshot({
    stream: Readable.from(inPieces(bytes, size)),
    directory,
    majorVersion: 18,
    owner,
  });
}

it.each([1, 511, 512, 513, 100_000])(
  'a copy is taken in, in pieces of %i bytes, and marked',
  async (size) => {
    const directory = fresh();
    await receive(await sent(), directory, size);
    expect(await inspectIncoming(directory)).toBe('complete');
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
  },
);

it('progress counts every byte of the copy up to its end', async () => {
  const bytes = await sent();
  const seen: number[] = [];
  const stream = Readable.from(inPieces(bytes, 1_000));
  await receiveSnapshot({
    stream,
    directory: fresh(),
    majorVersion: 18,
    owner,
    onProgress: (n) => seen.push(n),
  });
  expect(seen.at(-1)).toBe(bytes.length - endOfTar.length);
});

it('a copy that was cut off anywhere is refused, and nothing of it is left', async () => {
  const bytes = await sent();
  for (let length = 0; length < bytes.length; length += 1_531) {
    const directory = fresh();
    await expect(receive(bytes.subarray(0, length), directory)).rejects.toMatchObject({
      code: 'snapshotInvalid',
    });
    expect(await inspectIncoming(directory)).toBe('none');
  }
});

it('a copy with any one byte altered is refused', async () => {
  const bytes = await sent();
  // Above all the trailer and the blocks of zeros at the end, which no checksum covers.
  for (let at = 0; at < bytes.length; at += at < bytes.length - 2_100 ? 1_009 : 61) {
    const altered = Buffer.from(bytes);
    altered[at] = (altered[at] ?? 0) ^ 1;
    const directory = fresh();
    await expect(receive(altered, directory)).rejects.toMatchObject({
      code: 'snapshotInvalid',
    });
    expect(await inspectIncoming(directory)).toBe('none');
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
    await expect(receive(await sent(tar), fresh())).rejects.toMatchObject({ code: 'snapshotInvalid' });
  }
  for (const type of ['1', '2', '3', '6', 'x', 'g', 'L', 'S']) {
    const tar = Buffer.concat([
      ...soundEntries.map(([path, body]) => entry(path, body)),
      entry('odd', '', type),
      endOfTar,
    ]);
    await expect(receive(await sent(tar), fresh())).rejects.toMatchObject({ code: 'snapshotInvalid' });
  }
  await expect(stat(outside)).rejects.toMatchObject({ code: 'ENOENT' });
});

it('a name that comes twice, a copy of another version and one that lacks a file are refused', async () => {
  const twice = tarOf([...soundEntries, ['PG_VERSION', '18\n']]);
  await expect(receive(await sent(twice), fresh())).rejects.toMatchObject({ name: 'SnapshotError' });
  const other = tarOf(soundEntries.map(([path, body]) => [path, path === 'PG_VERSION' ? '15\n' : body]));
  await expect(receive(await sent(other), fresh())).rejects.toThrow(/PostgreSQL 15.*PostgreSQL 18/);
  const lacking = tarOf(soundEntries.filter(([path]) => path !== 'global/pg_control'));
  await expect(receive(await sent(lacking), fresh())).rejects.toThrow(/lacks global\/pg_control/);
  await expect(receive(tarOf(soundEntries), fresh())).rejects.toThrow(/no trailer/);
});

it('a source that dies midway, and a receiver that gives up, leave nothing', async () => {
  const bytes = await sent();
  async function* dying(): AsyncGenerator<Buffer> {
    yield* inPieces(bytes.subarray(0, 5_000), 1_000);
    throw new Error('the source is gone');
  }
  const directory = fresh();
  await expect(
    receiveSnapshot({ stream: Readable.from(dying()), directory, majorVersion: 18, owner }),
  ).rejects.toMatchObject({ code: 'transferFailed', message: 'the source is gone' });
  expect(await inspectIncoming(directory)).toBe('none');

  const control = new AbortController();
  const endless = new Readable({ read() {} });
  endless.push(bytes.subarray(0, 5_000));
  setTimeout(() => control.abort(new Error('enough')), 20);
  await expect(
    receiveSnapshot({ stream: endless, directory, majorVersion: 18, owner, signal: control.signal }),
  ).rejects.toThrow('enough');
  expect(endless.destroyed).toBe(true);
  expect(await inspectIncoming(directory)).toBe('none');
});

it('a receiver that is told to stop while it makes a copy durable, up to the last moment, leaves nothing', async () => {
  const some = await open(join(root, 'some'), 'w');
  const handles = Object.getPrototypeOf(some) as typeof some;
  await some.close();
  const sync = vi.spyOn(handles, 'sync');
  /** Told by the `stopAt`th thing that is made durable: directories, then the marker and the names around it. */
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
    const stream = Readable.from(inPieces(await sent(), 1_000));
    const outcome = await receiveSnapshot({ stream, directory, majorVersion: 18, owner, signal }).then(
      () => 'received',
      (error: Error) => error.message,
    );
    return `${outcome} after ${syncs}, ${await inspectIncoming(directory)}`;
  };
  try {
    // data, base, base/1, global; the directory, the marker, the directory and its parent.
    expect(await receiveUntil(Number.POSITIVE_INFINITY)).toBe('received after 8, complete');
    for (const at of [1, 2, 3, 4]) expect(await receiveUntil(at)).toBe(`enough after ${at}, none`);
    for (const at of [5, 6, 7, 8]) expect(await receiveUntil(at)).toMatch(/^enough after \d, none$/);
  } finally {
    sync.mockRestore();
  }
});

it('a copy with a file that the disk does not take is refused, and nothing of it is left', async () => {
  const directory = fresh();
  const some = await open(join(root, 'some'), 'w');
  const handles = Object.getPrototypeOf(some) as typeof some;
  await some.close();
  const datasync = vi.spyOn(handles, 'datasync').mockRejectedValueOnce(new Error('the disk fails'));
  try {
    await expect(receive(await sent(), directory)).rejects.toMatchObject({
      code: 'transferFailed',
      message: 'the disk fails',
    });
    expect(datasync.mock.calls.length).toBeGreaterThan(0);
    await expect(readdir(directory)).rejects.toMatchObject({ code: 'ENOENT' });
  } finally {
    datasync.mockRestore();
  }
});

it('what an earlier attempt left is replaced, and removed at the next start unless it is complete', async () => {
  const directory = fresh();
  await mkdir(join(directory, 'data'), { recursive: true });
  await writeFile(join(directory, 'data', 'stale'), 'x');
  expect(await clearPartialIncoming(directory)).toBe('partial');
  expect(await clearPartialIncoming(directory)).toBe('none');
  await mkdir(join(directory, 'data'), { recursive: true });
  await symlink(root, join(directory, 'data', 'base'));
  await receive(await sent(), directory);
  expect((await stat(join(directory, 'data', 'base'))).isDirectory()).toBe(true);
  expect(await readdir(root)).not.toContain('1');
  expect(await clearPartialIncoming(directory)).toBe('complete');
});

it('a complete copy takes the place of the database, which is set aside; the newest two of those are kept', async () => {
  const place = join(root, 'replica');
  const dataDirectory = join(place, 'postgres');
  const incoming = join(place, 'incoming');
  await mkdir(place);
  await receive(await sent(), incoming);
  expect(await installSnapshot({ incoming, dataDirectory, owner })).toEqual({ setAside: null, removed: [] });
  const olds: string[] = [];
  for (let i = 1; i <= 4; i += 1) {
    await writeFile(join(dataDirectory, 'which'), String(i));
    await receive(await sent(), incoming);
    const { setAside, removed } = await installSnapshot({ incoming, dataDirectory, owner });
    olds.push(setAside ?? '');
    expect(setAside).toMatch(/postgres\.lost-\d{8}T\d{6}\.\d{3}Z$/);
    expect(removed).toEqual(i <= 2 ? [] : [olds[i - 3]]);
    expect(await readFile(join(setAside ?? '', 'which'), 'utf8')).toBe(String(i));
  }
  expect(await readdir(place)).toHaveLength(3);
  await expect(installSnapshot({ incoming, dataDirectory, owner })).rejects.toThrow(
    /does not hold a complete copy/,
  );
  await mkdir(join(incoming, 'data'), { recursive: true });
  await expect(installSnapshot({ incoming, dataDirectory, owner })).rejects.toThrow(/partial/);
  expect(await readFile(join(dataDirectory, 'data', 'PG_VERSION'), 'utf8')).toBe('18\n');
  expect(await setDatabaseAside(join(place, 'nothing'))).toEqual({ setAside: null, removed: [] });
});

it('two databases set aside within the same moment get different names', async () => {
  const place = join(root, 'hasty');
  const now = new Date('2026-11-20T19:00:00.000Z');
  const names: (string | null)[] = [];
  for (let i = 0; i < 2; i += 1) {
    await mkdir(join(place, 'postgres'), { recursive: true });
    names.push((await setDatabaseAside(join(place, 'postgres'), now)).setAside);
  }
  expect(names).toEqual([
    join(place, 'postgres.lost-20261120T190000.000Z'),
    join(place, 'postgres.lost-20261120T190000.000Z.2'),
  ]);
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
  await writeFile(join(place, 'sent.tar'), await sent());
  const run = promisify(execFile);
  const { stdout } = await run('tar', ['-tf', join(place, 'sent.tar')]);
  expect(stdout.trim().split('\n')).toEqual([...soundEntries.map(([path]) => path), 'barista-copy.json']);
  await run('tar', ['--format=ustar', '-b', '1', '-cf', join(place, 'made.tar'), '-C', place, 'in']);
  const made = await readFile(join(place, 'made.tar'));
  const found: string[] = [];
  for await (const piece of readTar(inPieces(made, 100)))
    if (piece.kind === 'header') found.push(piece.header.path);
  expect(found).toEqual(['in', 'in/a.txt']);
});
