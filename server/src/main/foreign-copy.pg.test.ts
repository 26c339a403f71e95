/** A data directory in which an earlier life, in another group, left a copy of a database behind. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { foundReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';

let root = '';
let old: RealGroup;
let cluster = '';
const groups: RealGroup[] = [];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-foreign-'));
  old = await group('old', ['r1']);
  ({ cluster } = await foundReplica(old.configOf('r1')));
  await old.start('r1');
  await old.healthy();
  await old.sql('CREATE TABLE drinks (name text)');
  for (let i = 0; i < 40; i += 1) await old.sql("INSERT INTO drinks VALUES ('of the old group')");
  await old.stopAll();
}, 240_000);
afterAll(async () => {
  await Promise.all(groups.map((each) => each.stopAll()));
  rmSync(root, { recursive: true, force: true });
}, 60_000);

async function group(name: string, ids: readonly string[]): Promise<RealGroup> {
  const made = await RealGroup.in(join(root, name), ids);
  groups.push(made);
  return made;
}

/** A group of r1 alone that serves and expects r2; its data is far shorter than the old group's. */
async function founded(name: string): Promise<{ young: RealGroup; cluster: string }> {
  const young = await group(name, ['r1', 'r2']);
  const identity = await foundReplica(young.configOf('r1'));
  await young.start('r1');
  await vi.waitFor(() => expect(young.statusOf('r1').state).toBe('serving'), { timeout: 60_000 });
  await young.sql('CREATE TABLE drinks (name text)');
  await young.sql("INSERT INTO drinks VALUES ('of the young group')");
  return { young, ...identity };
}

/** The old group's data, whole, as a stop just before it was put in place leaves it. */
async function leaveCopy(young: RealGroup, of: string): Promise<string> {
  const { dataDir } = young.configOf('r2');
  const incoming = join(dataDir, 'incoming');
  await mkdir(incoming, { recursive: true });
  await cp(join(old.configOf('r1').dataDir, 'postgres', 'data'), join(incoming, 'data'), { recursive: true });
  await writeFile(join(incoming, 'received.json'), JSON.stringify({ group: 'main', cluster: of }));
  return dataDir;
}

it('a copy of another group is set aside by a replica that joins, and it is given its own group’s data', async () => {
  const { young } = await founded('young');
  const dataDir = await leaveCopy(young, cluster);
  await young.start('r2');
  await young.healthy();
  expect(await young.contentsOf('drinks')).toEqual([expect.stringMatching(/^1 /)]);
  expect(readdirSync(dataDir)).toContainEqual(expect.stringMatching(/^incoming\.lost-/));
  expect(readdirSync(young.configOf('r1').dataDir)).not.toContainEqual(expect.stringContaining('lost'));
}, 240_000);

it('a member with the data of another group, had it got in all the same, does no harm to the leader or its data', async () => {
  const { young, cluster: own } = await founded('other');
  await leaveCopy(young, own);
  await young.start('r2');
  // It believes so itself.
  await vi.waitFor(() => expect(young.statusOf('r2').commitPoint).toBeGreaterThan(30), { timeout: 60_000 });
  // Longer than a replica waits before it takes a copy, and than the leader takes to promote a learner that keeps up.
  const until = Date.now() + 8_000;
  let written = 1;
  for (; Date.now() < until; written += 1)
    await young.sql("INSERT INTO drinks VALUES ('of the young group')");
  expect(young.statusOf('r1').commitPoint).toBeGreaterThan(50);
  expect(young.statusOf('r1')).toMatchObject({ role: 'leader', state: 'serving', recovery: null });
  expect(readdirSync(young.configOf('r1').dataDir)).not.toContainEqual(expect.stringContaining('lost'));
  const rows = await young.sql('SELECT name, count(*) FROM drinks GROUP BY name');
  expect(rows).toEqual([['of the young group', String(written)]]);
  const r2 = young.statusOf('r1').membership.members.find(({ replica }) => replica === 'r2');
  expect(r2?.role).toBe('learner');
}, 240_000);
