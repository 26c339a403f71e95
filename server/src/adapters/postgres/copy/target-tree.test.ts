import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { TargetTree } from './target-tree.ts';

let root: string;
let data: string;
let count = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-tree-'));
});
beforeEach(async () => {
  count += 1;
  data = join(root, `data-${count}`);
  await mkdir(join(data, 'base', '5'), { recursive: true });
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function write(path: string, text = 'x'): Promise<void> {
  await mkdir(join(data, path, '..'), { recursive: true });
  await writeFile(join(data, path), text);
}

it('what the source does not name goes, and what it names stays as it is', async () => {
  for (const path of [
    'base/5/1',
    'base/5/2',
    'base/5/pg_internal.init',
    'base/6/1',
    'base/stray',
    'global/1',
  ])
    await write(path);
  const tree = new TargetTree(data);
  await tree.beginDirectory('base', ['5', '7']);
  await tree.endDirectory();
  await tree.beginDirectory('base/5', []);
  expect(await tree.name('1')).toBe('base/5/1');
  expect(await tree.name('3')).toBe('base/5/3');
  await tree.endDirectory();
  await tree.beginDirectory('base/7', []);
  await tree.endDirectory();
  expect((await readdir(join(data, 'base'))).sort()).toEqual(['5', '7']);
  expect(await readdir(join(data, 'base', '5'))).toEqual(['1']);
  expect(await readFile(join(data, 'base', '5', '1'), 'utf8')).toBe('x');
  expect(await readdir(join(data, 'global'))).toEqual(['1']);
  await tree.sync();
});

it('in the root only what would lead a PostgreSQL astray goes', async () => {
  for (const path of [
    'postgresql.conf',
    'PG_VERSION',
    'backup_label',
    'standby.signal',
    'tablespace_map',
    'notes.txt',
  ])
    await write(path);
  const tree = new TargetTree(data);
  await tree.removeLeftovers();
  await tree.beginDirectory('', ['base']);
  expect(await tree.name('PG_VERSION')).toBe('PG_VERSION');
  await tree.endDirectory();
  expect((await readdir(data)).sort()).toEqual(['PG_VERSION', 'base', 'notes.txt', 'postgresql.conf']);
});

it('links are removed and never followed, whatever they stand for', async () => {
  const outside = join(root, `outside-${count}`);
  await mkdir(outside);
  await writeFile(join(outside, 'precious'), 'x');
  await mkdir(join(data, 'pg_tblspc'));
  await symlink(outside, join(data, 'pg_tblspc', '16400'));
  await symlink(outside, join(data, 'global'));
  await symlink(join(outside, 'precious'), join(data, 'base', '5', '1'));
  await symlink(outside, join(data, 'base', '6'));
  const tree = new TargetTree(data);
  for (const [path, directories] of [
    ['pg_tblspc', []],
    ['global', []],
    ['base', ['5', '6']],
  ] as const) {
    await tree.beginDirectory(path, directories);
    await tree.endDirectory();
  }
  await tree.beginDirectory('base/5', []);
  await tree.name('1');
  await tree.endDirectory();
  await tree.beginDirectory('base/6', []);
  await tree.endDirectory();
  expect(await readFile(join(outside, 'precious'), 'utf8')).toBe('x');
  expect(await readdir(join(data, 'pg_tblspc'))).toEqual([]);
  for (const path of ['global', 'base/6']) expect((await lstat(join(data, path))).isDirectory()).toBe(true);
  expect(await readdir(join(data, 'base', '5'))).toEqual([]);
});

it('a directory in the place of a file gives way, and so does a file in the place of a directory', async () => {
  await write('base/5/1/inner');
  await write('base/8');
  const tree = new TargetTree(data);
  await tree.beginDirectory('base', ['5', '8']);
  await tree.endDirectory();
  await tree.beginDirectory('base/8', []);
  await tree.endDirectory();
  await tree.beginDirectory('base/5', []);
  await tree.name('1');
  await tree.endDirectory();
  expect((await lstat(join(data, 'base', '8'))).isDirectory()).toBe(true);
  expect(await readdir(join(data, 'base', '5'))).toEqual([]);
});

it('names that do not belong to a copy, or come out of place, are refused', async () => {
  const tree = new TargetTree(data);
  for (const path of ['../x', 'other', 'base/../..', '/tmp']) {
    await expect(tree.beginDirectory(path, [])).rejects.toMatchObject({ code: 'copyInvalid' });
  }
  await expect(tree.name('1')).rejects.toMatchObject({ code: 'copyInvalid' });
  await expect(tree.endDirectory()).rejects.toMatchObject({ code: 'copyInvalid' });
  await tree.beginDirectory('base/5', []);
  await expect(tree.beginDirectory('base', [])).rejects.toMatchObject({ code: 'copyInvalid' });
  for (const name of ['../../x', '..', 'a/../../b', '']) {
    await expect(tree.name(name)).rejects.toMatchObject({ code: 'copyInvalid' });
  }
  await tree.endDirectory();
  await tree.beginDirectory('', []);
  await expect(tree.name('postgresql.conf')).rejects.toMatchObject({ code: 'copyInvalid' });
});
