import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ReplicaId } from '../multipaxos/types.ts';
import type { DatabaseDirectory, Loss } from '../replica/database-keeper.ts';
import { databaseDirectory } from './replica-database.ts';
import { configOfOne } from './testing/config-of-one.ts';

let root = '';
let directory: DatabaseDirectory;
let lines: { readonly msg: string; readonly [key: string]: unknown }[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'barista-directory-'));
  const config = configOfOne(root);
  lines = [];
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  directory = databaseDirectory(config, 'cluster', logger);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('a database is condemned until it is acquitted, with all that is known of its loss', async () => {
  const loss: Loss = { cause: 'diverged', reason: 'a row differs', equal: ['r2', 'r3'] as ReplicaId[] };
  expect(await directory.condemned()).toBeNull();
  await directory.condemn(loss);
  expect(await directory.condemned()).toEqual(loss);
  expect(await directory.inspect()).toEqual({ kind: 'missing' });
  await directory.acquit();
  await directory.acquit();
  expect(await directory.condemned()).toBeNull();
  expect(readdirSync(root)).toEqual([]);
});

/** As a receiver leaves it when it is cut short before the copy is put in place. */
function leaveIncoming(marker: object): void {
  mkdirSync(join(root, 'incoming', 'data'), { recursive: true });
  writeFileSync(join(root, 'incoming', 'data', 'which'), 'the copy');
  writeFileSync(join(root, 'incoming', 'received.json'), JSON.stringify(marker));
}

it('a complete copy that waits is put in place if it is of this very cluster', async () => {
  leaveIncoming({ group: 'main', cluster: 'cluster' });
  await directory.condemn({ cause: 'databaseLost', reason: 'a test' });
  expect(await directory.condemned()).toBeNull();
  await directory.inspect();
  expect(readdirSync(root)).toEqual(['postgres']);
  expect(readFileSync(join(root, 'postgres', 'data', 'which'), 'utf8')).toBe('the copy');
  expect(readFileSync(join(root, 'postgres', 'cluster'), 'utf8')).toBe('cluster\n');
});

it.each([
  ['one that was used is set aside', 'setAside', 1],
  ['a copy that was of no use is removed', 'removed', 0],
] as const)('when a copy takes its place %s', async (_, old, asideCount) => {
  mkdirSync(join(root, 'postgres', 'data'), { recursive: true });
  leaveIncoming({ group: 'main', cluster: 'cluster' });
  await directory.install(old);
  expect(readFileSync(join(root, 'postgres', 'data', 'which'), 'utf8')).toBe('the copy');
  expect(readdirSync(root).filter((name) => name.startsWith('postgres.lost-'))).toHaveLength(asideCount);
});

it('how much space there is for a copy is told with where', async () => {
  const { bytes, path } = await directory.freeSpace();
  expect(path).toBe(root);
  expect(bytes).toBeGreaterThan(1_000_000);
});

it('a data directory that is not there, its log being elsewhere, can take a copy', async () => {
  rmSync(root, { recursive: true });
  expect(await directory.inspect()).toEqual({ kind: 'missing' });
  expect((await directory.freeSpace()).bytes).toBeGreaterThan(1_000_000);
  await directory.acquit();
});

it('what is set aside stays to be looked at, and nothing is here then', async () => {
  await directory.setAside();
  expect(readdirSync(root)).toEqual([]);
  mkdirSync(join(root, 'postgres', 'data'), { recursive: true });
  await directory.setAside();
  expect(await directory.inspect()).toEqual({ kind: 'missing' });
  expect(readdirSync(root)).toEqual([expect.stringMatching(/^postgres\.lost-/)]);
});

it.each([
  ['of another cluster', { group: 'main', cluster: 'another' }, 'the database of cluster another'],
  ['of another group', { group: 'other', cluster: 'cluster' }, 'group other'],
  ['that does not say of whom', {}, 'does not say of which cluster'],
])('a complete copy %s is set aside, said so, and not used', async (_what, marker, said) => {
  leaveIncoming(marker);
  const loss: Loss = { cause: 'diverged', reason: 'a row differs' };
  await directory.condemn(loss);
  expect(await directory.condemned()).toEqual(loss);
  await expect(directory.install('setAside')).rejects.toThrow(/not that of cluster cluster/);
  expect(await directory.inspect()).toEqual({ kind: 'missing' });
  expect(existsSync(join(root, 'postgres'))).toBe(false);
  const aside = readdirSync(root).find((name) => name.startsWith('incoming.lost-'));
  expect(existsSync(join(root, aside ?? '', 'data', 'which'))).toBe(true);
  expect(lines).toEqual([
    expect.objectContaining({ path: join(root, aside ?? '') }),
    expect.objectContaining({ msg: expect.stringContaining(said) }),
  ]);
});

it('what is set aside is told with its path, and so is what is removed for it', async () => {
  for (let times = 1; times <= 4; times += 1) {
    mkdirSync(join(root, 'postgres', 'data'), { recursive: true });
    // One by itself, the next by a copy that takes its place.
    if (times % 2 === 0) leaveIncoming({ group: 'main', cluster: 'cluster' });
    await (times % 2 === 0 ? directory.install('setAside') : directory.setAside());
    rmSync(join(root, 'postgres'), { recursive: true, force: true });
  }
  const pathsOf = (what: string): unknown[] =>
    lines.filter(({ msg }) => msg.includes(what)).map(({ path }) => path);
  const kept = pathsOf('is kept in');
  expect(kept).toHaveLength(4);
  expect(pathsOf('was removed')).toEqual(kept.slice(0, 2));
  expect(readdirSync(root).map((name) => join(root, name))).toEqual(kept.slice(2));
});
