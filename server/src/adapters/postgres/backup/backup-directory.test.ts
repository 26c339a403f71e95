import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mountSmallDisk } from '../../testing/small-disk.ts';
import { createBackupDirectory, type BackupDirectoryOptions } from './backup-directory.ts';
import { inPieces, sealed, smallPosition } from './testing/small-backup.ts';

let root: string;
let count = 0;
let nowMs = Date.UTC(2026, 4, 4, 10, 30);
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-backups-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function* bytes(fails: boolean, filler = 0): AsyncGenerator<Buffer> {
  yield* inPieces(await sealed(), 1000);
  // What cannot be squeezed.
  for (let n = 0; n < filler; n += 1) yield randomBytes(65_536);
  if (fails) throw new Error('the source is gone');
}

function store(changes: Partial<BackupDirectoryOptions> & { fails?: boolean; filler?: number } = {}) {
  const { fails = false, filler = 0, ...given } = changes;
  const options: BackupDirectoryOptions = {
    directory: join(root, `d${count}`),
    group: 'main',
    replica: 'r1',
    cluster: 'c1',
    source: {
      open: () =>
        Promise.resolve({ bytesTotal: 1, begun: smallPosition, stream: Readable.from(bytes(fails, filler)) }),
    },
    header: () => ({ group: 'main', cluster: given.cluster ?? 'c1', postgresVersion: '18.4' }),
    wallMs: () => nowMs,
    ...given,
  };
  return { directory: options.directory, store: createBackupDirectory(options) };
}
const never = new AbortController().signal;
const name = 'main.20260504T103000Z.r1.barista';

it('a pipe or a directory with the name of a backup is none, and keeps nobody waiting', async () => {
  count += 1;
  const { store: own, directory } = store();
  await own.take(never);
  execFileSync('mkfifo', [
    join(directory, 'main.20260507T000000Z.r9.barista'),
    join(directory, `${name}.test.json`),
  ]);
  await mkdir(join(directory, 'main.20260508T000000Z.r9.barista'));
  expect((await own.list()).map((each) => each.name)).toEqual([name]);
});

it('a backup is listed with its position when it is whole; what is not, or of another cluster, is not', async () => {
  count += 1;
  const { store: own, directory } = store();
  expect(await own.list()).toEqual([]);
  await own.take(never);
  const [kept] = await own.list();
  expect(kept).toMatchObject({ name, slot: 41, end: 0x3000060, test: null });
  expect(kept!.bytes).toBeGreaterThan(1000);
  expect(await readdir(directory)).toEqual([name]);
  await copyFile(join(directory, name), join(directory, 'main.20260505T000000Z.r2.barista'));
  await truncate(join(directory, 'main.20260505T000000Z.r2.barista'), kept!.bytes - 1);
  await writeFile(join(directory, 'main.20260506T000000Z.r2.barista'), 'nothing');
  await copyFile(join(directory, name), join(directory, 'mine.barista'));
  await store({ directory, replica: 'r3', cluster: 'c2' }).store.take(never);
  expect((await own.list()).map((each) => each.name)).toEqual([name]);
  expect((await store({ directory, cluster: 'c2' }).store.list()).map((each) => each.name)).toEqual([
    'main.20260504T103000Z.r3.barista',
  ]);
  expect(await store({ directory, group: 'other' }).store.list()).toEqual([]);
  await own.remove(name);
  await own.remove(name);
  expect(await own.list()).toEqual([]);
  // Not its business.
  expect((await readdir(directory)).length).toBe(4);
});

it('what a restore test has found stays with the backup, and goes with it', async () => {
  count += 1;
  const { store: own, directory } = store();
  await own.take(never);
  const result = { ok: false, at: '2026-05-04T11:00:00.000Z', message: 'a page is damaged' };
  await own.noteTest(name, result);
  expect((await own.list())[0]?.test).toEqual(result);
  await writeFile(join(directory, `${name}.test.json`), '{"ok":');
  expect((await own.list())[0]?.test).toBeNull();
  await own.remove(name);
  expect(await readdir(directory)).toEqual([]);
});

it('one that fails leaves nothing, and what a crash has left of an own one goes with the next', async () => {
  count += 1;
  const { store: own, directory } = store();
  await own.take(never);
  nowMs += 60_000;
  await expect(store({ directory, fails: true }).store.take(never)).rejects.toThrow('the source is gone');
  const control = new AbortController();
  control.abort(new Error('enough'));
  await expect(own.take(control.signal)).rejects.toThrow('enough');
  expect(await readdir(directory)).toEqual([name]);
  for (const left of [
    'r1.barista.partial',
    'r1.barista.partial.partial',
    'r2.barista.partial',
    'r3.barista.partial',
  ])
    await writeFile(join(directory, `main.20260101T000000Z.${left}`), 'half');
  await utimes(join(directory, 'main.20260101T000000Z.r3.barista.partial'), 1, 1);
  nowMs = Date.now();
  await own.take(never);
  const left = await readdir(directory);
  expect(left.filter((each) => each.includes('partial'))).toEqual([
    'main.20260101T000000Z.r2.barista.partial',
  ]);
  expect(await own.list()).toHaveLength(2);
  nowMs = Date.UTC(2026, 4, 4, 10, 30);
});

it('one that the disk gives back otherwise than it was written is none', async () => {
  count += 1;
  const directory = join(root, `d${count}`);
  async function* altering(): AsyncGenerator<Buffer> {
    yield* bytes(false, 20);
    const [partial] = await readdir(directory);
    const path = join(directory, partial!);
    await expect.poll(async () => (await stat(path)).size).toBeGreaterThan(100_000);
    const file = await open(path, 'r+');
    await file.write(Buffer.from('?????'), 0, 5, 50_000);
    await file.close();
  }
  const source = {
    open: () => Promise.resolve({ bytesTotal: 1, begun: smallPosition, stream: Readable.from(altering()) }),
  };
  await expect(store({ source }).store.take(never)).rejects.toThrow(/was altered/);
  expect(await readdir(directory)).toEqual([]);
});

it('of two that want to make one at the same time one is told who does', async () => {
  count += 1;
  const { store: one, directory } = store();
  const two = store({ directory, replica: 'r2' }).store;
  await one.list();
  const [first, second] = await Promise.all([one.claim(), two.claim()]);
  const held = [first, second].flatMap((outcome) => (outcome.kind === 'held' ? [outcome.claim] : []));
  const taken = [first, second].flatMap((outcome) => (outcome.kind === 'taken' ? [outcome.heldBy] : []));
  expect([held.length, taken.length]).toEqual([1, 1]);
  await held[0]!.beat();
  const seen = await two.claim();
  expect(seen).toMatchObject({ kind: 'taken', heldBy: expect.stringContaining('"beats":1') as string });
  // It lives: what was seen before is not so any more.
  await two.breakClaim(taken[0]!);
  expect((await two.claim()).kind).toBe('taken');
  if (seen.kind === 'taken') await two.breakClaim(seen.heldBy);
  const other = await two.claim();
  expect(other.kind).toBe('held');
  // Its own is gone: it touches nobody else's.
  await held[0]!.beat();
  await held[0]!.release();
  expect((await one.claim()).kind).toBe('taken');
  if (other.kind === 'held') await other.claim.release();
  expect(await readdir(directory)).toEqual([]);
});

const disk = mountSmallDisk();
afterAll(disk.remove);

it.skipIf(!disk.isMounted)('a disk that fills up in the middle costs no backup that is there', async () => {
  const directory = join(disk.path, 'backups');
  const { store: own } = store({ directory });
  await own.take(never);
  const before = await readFile(join(directory, name));
  nowMs += 60_000;
  await expect(store({ directory, filler: 64 }).store.take(never)).rejects.toThrow(/ENOSPC/);
  expect(await readdir(directory)).toEqual([name]);
  expect((await readFile(join(directory, name))).equals(before)).toBe(true);
  nowMs += 60_000;
  await own.take(never);
  expect(await own.list()).toHaveLength(2);
  await rm(directory, { recursive: true });
});
