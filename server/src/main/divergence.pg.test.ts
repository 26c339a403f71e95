/** Three real replicas in this process: the data of some is altered on their disks, is found to differ, and comes right again. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { VerifyResult } from '../api/status.ts';
import { foundReplica } from './found-replica.ts';
import { RealGroup } from './testing/real-group.ts';
import { tamper } from './testing/tamper.ts';
import { eventually } from '../ports/testing/eventually.ts';

const ids = ['r1', 'r2', 'r3'];
/** In a file it is a minute at least. */
const changes = { verify: { everyMinutes: 0.1, timeoutMinutes: 2 } };
let root = '';
let group: RealGroup;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'barista-divergence-'));
  group = await RealGroup.in(root, ids);
  await foundReplica(group.configOf('r1'));
  for (const id of ids) await group.start(id, changes);
  await group.healthy();
  await group.sql('CREATE TABLE drinks (id serial PRIMARY KEY, name text)');
  await group.sql("INSERT INTO drinks (name) SELECT 'espresso' FROM generate_series(1, 100)");
  await group.sql('CREATE TABLE orders (drink text)');
  // Waits until everybody has them.
  await group.contentsOf('drinks');
});
afterAll(async () => {
  await group.stopAll();
  rmSync(root, { recursive: true, force: true });
});

const alter = (victim: string, to: string): Promise<void> =>
  tamper(group, victim, { table: 'drinks', from: 'espresso', to, changes });

/** Asked for again while replicas compare by themselves. */
const verify = (repair: boolean): Promise<VerifyResult> =>
  eventually(() => group.askLeader((admin) => admin.verify({ repair })), { interval: 500 });

const outcomesOf = ({ replicas }: VerifyResult): Record<string, string> =>
  Object.fromEntries(replicas.map(({ replica, outcome }) => [replica, outcome]));

const allEqual = Object.fromEntries(ids.map((id) => [id, 'equal']));

async function whole(): Promise<void> {
  await group.healthy();
  // One that has just come back may be on its way to the position of the comparison for longer than commits wait for it.
  await eventually(async () => expect(outcomesOf(await verify(false))).toEqual(allEqual), {
    interval: 1000,
  });
  expect(await group.contentsOf('drinks')).toHaveLength(1);
}

it('one that differs is found, stands apart, and is repaired when that is asked for; writes go on', async () => {
  const victim = group.followers()[0]!;
  const writer = group.keepWriting("INSERT INTO orders (drink) VALUES ('ristretto')");
  await alter(victim, 'americo!');
  // By itself.
  await eventually(() => expect(group.statusOf(victim).state).toBe('diverged'));
  expect(group.statusOf(victim).message).toMatch(
    /differed from the majority's: table public\.drinks of barista/,
  );
  expect(outcomesOf(await verify(true))).toEqual({ ...allEqual, [victim]: 'differs' });
  expect(await writer.stop()).toBeGreaterThan(0);
  await whole();
  // What differed is kept, for whoever wants to know why.
  expect(readdirSync(join(root, victim)).filter((name) => name.startsWith('postgres.'))).toHaveLength(1);
});

it('of two that differ in different ways none is touched, until an operator has decided as the advice says', async () => {
  const [one, other] = group.followers() as [string, string];
  await alter(one, 'mocha-31');
  await alter(other, 'latte-32');
  const torn = await verify(true);
  expect(Object.values(outcomesOf(torn))).toEqual(['differs', 'differs', 'differs']);
  expect(torn.advice[0]).toMatch(
    /contradict each other, .* nobody is told to stop, and nothing is repaired\.$/,
  );
  expect(torn.advice.at(-1)).toMatch(
    /Stop all others, move the folder "postgres" .* away, and start them again/,
  );
  expect(ids.map((id) => group.statusOf(id).state)).toEqual(['serving', 'serving', 'serving']);
  for (const id of [one, other]) await group.stop(id);
  for (const id of [one, other]) {
    await rename(join(root, id, 'postgres'), join(root, id, 'doubtful'));
    await group.start(id, changes);
  }
  await whole();
});
