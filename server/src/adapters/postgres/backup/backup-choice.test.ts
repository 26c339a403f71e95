import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { Lsn } from '../../../wal/lsn.ts';
import { CopyError } from '../../../ports/copy.ts';
import { backupsFor, fromNearest } from './backup-choice.ts';
import { writeBackup } from './backup-file.ts';
import { type RestoreTarget, TargetError } from './recovery.ts';
import { inPieces, sealed, smallPosition } from './testing/small-backup.ts';

let root: string;
let directory: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-choice-'));
  directory = root;
  // The clock went back between the second and the third.
  await take('a', 10, 100, '2026-05-01T00:00:00Z');
  await take('b', 20, 200, '2026-05-03T00:00:00Z');
  await take('c', 30, 300, '2026-05-02T00:00:00Z');
  await writeFile(join(root, 'd.barista'), 'cut off');
  await writeFile(join(root, 'e.barista.partial'), '');
});
afterAll(async () => {
  vi.useRealTimers();
  await rm(root, { recursive: true, force: true });
});

async function take(name: string, slot: number, end: number, at: string, cluster = 'c1'): Promise<void> {
  const bytes = await sealed();
  const position = { ...smallPosition.position, slot: slot as Slot, end: end as Lsn };
  const begun = { ...smallPosition, position };
  const source = {
    open: () => Promise.resolve({ bytesTotal: 1, begun, stream: Readable.from(inPieces(bytes, 5000)) }),
  };
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(at) });
  await writeBackup({
    source,
    out: join(directory, `${name}.barista`),
    header: { group: 'main', cluster, postgresVersion: '18.4' },
  });
  vi.useRealTimers();
}

const chosen = async (target: RestoreTarget): Promise<string[]> =>
  (await backupsFor(root, target)).map((path) => basename(path, '.barista'));
const time = (at: string): RestoreTarget => ({ kind: 'time', at: new Date(at) });

it('of a directory the newest whole backup is restored, and for a point in time those from before it, the nearest first', async () => {
  expect(await chosen({ kind: 'end' })).toEqual(['c']);
  expect(await chosen(time('2026-05-02T12:00:00Z'))).toEqual(['c', 'a']);
  expect(await chosen({ kind: 'position', at: 250 as Lsn })).toEqual(['b', 'a']);
  expect(await chosen({ kind: 'label', name: 'x' })).toEqual(['c', 'b', 'a']);
  expect(await backupsFor(join(root, 'd.barista'), { kind: 'end' })).toEqual([join(root, 'd.barista')]);
});

it('what lies before the oldest backup is refused, with its time; so are a directory without backups and one of two groups', async () => {
  const refused = (message: RegExp) => ({
    code: 'copyInvalid',
    message: expect.stringMatching(message) as string,
  });
  await expect(chosen(time('2026-04-30T00:00:00Z'))).rejects.toMatchObject(
    refused(/2026-04-30T.* lies before the oldest backup in .*begun at 2026-05-01T00:00:00/),
  );
  await expect(chosen({ kind: 'position', at: 99 as Lsn })).rejects.toMatchObject(refused(/begun at 0\/64/));
  directory = await mkdtemp(join(root, 'none-'));
  await expect(backupsFor(directory, { kind: 'end' })).rejects.toMatchObject(
    refused(/there is no backup in/),
  );
  await take('a', 10, 100, '2026-05-01T00:00:00Z');
  await take('b', 10, 100, '2026-05-01T00:00:00Z', 'c2');
  await expect(backupsFor(directory, { kind: 'end' })).rejects.toMatchObject(
    refused(/backups of 2 groups \(clusters c\d, c\d\): name the file/),
  );
  expect(await backupsFor(directory, { kind: 'end' }, 'c2')).toEqual([join(directory, 'b.barista')]);
  await expect(backupsFor(directory, { kind: 'end' }, 'c3')).rejects.toMatchObject(
    refused(/no backup in .* of cluster c3/),
  );
  await expect(backupsFor(join(root, 'nowhere'), { kind: 'end' })).rejects.toThrow(/ENOENT/);
});

it('the one before is tried where the target lies before the end of the nearest, or a label is not behind it, and for no other reason', async () => {
  directory = await mkdtemp(join(root, 'nearest-'));
  for (const [name, slot] of [
    ['a', 10],
    ['b', 20],
    ['c', 30],
  ] as const)
    await take(name, slot, slot * 10, `2026-05-04T10:0${slot / 10}:00Z`);
  const tried: string[] = [];
  const from = (
    target: RestoreTarget,
    ends: Readonly<Record<string, Error>>,
  ): Promise<{ readonly name: string; readonly file: string }> => {
    tried.length = 0;
    return fromNearest(directory, target, (file) => {
      const name = basename(file, '.barista');
      tried.push(name);
      const error = ends[name];
      return error === undefined ? Promise.resolve({ name }) : Promise.reject(error);
    });
  };
  const before = new TargetError('before', 'lies before the end');
  const beyond = new TargetError('beyond', 'lies beyond the end');
  const time: RestoreTarget = { kind: 'time', at: new Date('2026-05-04T10:03:00.100Z') };
  const label: RestoreTarget = { kind: 'label', name: 'x' };
  expect(await from(time, { c: before })).toEqual({ name: 'b', file: join(directory, 'b.barista') });
  await expect(from(time, { c: beyond })).rejects.toBe(beyond);
  expect(tried).toEqual(['c']);
  expect(await from(label, { c: beyond, b: before })).toMatchObject({ name: 'a' });
  await expect(from(label, { c: beyond, b: beyond, a: beyond })).rejects.toBe(beyond);
  expect(tried).toEqual(['c', 'b', 'a']);
  const altered = new CopyError('copyInvalid', 'was altered');
  await expect(from(label, { c: altered })).rejects.toBe(altered);
  expect(tried).toEqual(['c']);
});
