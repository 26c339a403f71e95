/** A group whose PostgreSQLs take away what nobody sees any more: nothing that somebody sees goes with it, whoever crashes, is copied or leads meanwhile. */
import { afterEach, describe, expect, it } from 'vitest';
import type { ModelClient } from '../../payload/wal/testing/model-client.ts';
import type { Request } from '../../payload/wal/testing/model-session.ts';
import { Random } from '../../ports/testing/random.ts';
import { segmentBytes } from '../../wal/lsn.ts';
import { MemoryClient, type Transaction, type Write } from './memory-client.ts';
import { MemoryGroup } from './memory-group.ts';
import type { MemoryMember } from './memory-member.ts';

const keeps = { outcomes: 20n, commitsBytes: 0, walBytes: 0 };
/** Whoever is in a hurry beside others finds out nothing more. */
const timeout = 180_000;
const tables = ['a', 'b', 'c', 'd', 'e'];

const groups: MemoryGroup[] = [];
afterEach(async () => {
  for (const group of groups.splice(0)) await group.stop();
});

async function begin(seed: number): Promise<MemoryGroup> {
  const group = new MemoryGroup({ replicas: 3, seed, keeps });
  groups.push(group);
  await group.begin();
  return group;
}

type Lists = ReadonlyMap<string, readonly string[]>;

function after(lists: Lists, { writes }: Transaction): Lists {
  const next = new Map(lists);
  for (const { key, value } of writes) next.set(key, value === null ? [] : [...(next.get(key) ?? []), value]);
  return next;
}

const textOf = (lists: Lists): string =>
  tables.map((key) => `${key}: ${(lists.get(key) ?? []).join()}`).join('\n');

function listsAt({ postgres }: MemoryMember): string {
  const buffers = postgres.run!.buffers;
  return textOf(new Map(tables.map((key) => [key, buffers.list(key, () => true)])));
}

async function read(group: MemoryGroup, client: MemoryClient): Promise<string> {
  for (;;) {
    const end = await group.time.until(client.transact({ reads: tables, writes: [] }), 120_000);
    if (end.kind === 'done') return textOf(new Map(tables.map((key, n) => [key, end.lists[n]!])));
    await group.time.pass(100);
  }
}

function changes(random: Random, number: number): readonly Write[] {
  return tables
    .filter(() => random.chance(0.4))
    .map((key) => ({ key, value: random.chance(0.2) ? null : String(number) }));
}

/** Somebody writes, and takes it back. */
async function takeBack(group: MemoryGroup, writes: readonly Write[]): Promise<void> {
  const client = await group.serving()?.process?.server.connect();
  for (const { key, value } of writes)
    await client?.ask(value === null ? { kind: 'drop', key } : { kind: 'append', key, value });
  await client?.ask({ kind: 'rollback' });
  client?.close();
}

/** So that segments are filled, and removed. */
function writeMuch(group: MemoryGroup): void {
  group.serving()?.postgres.run?.primary?.writer.insert({ kind: 'filler', bytes: 1024 * 1024 });
}

/** While somebody else lets time pass. */
function rest(group: MemoryGroup, ms: number): Promise<void> {
  return new Promise((resolve) => group.time.after(ms, resolve));
}

/** Somebody dies in the middle of a transaction, or between two, and comes back; some with an empty disk. */
async function breakOne(group: MemoryGroup, random: Random): Promise<void> {
  const member = random.pick(group.members);
  // What a majority has lost is lost.
  const mayLose = group.isHealthy() && member !== group.serving();
  if (random.chance(0.5)) member.crash();
  else member.crashMachine();
  await rest(group, random.below(3_000));
  if (mayLose && random.chance(0.5)) member.lose(random.chance(0.5) ? 'database' : 'both');
  await member.start();
}

describe('a group that takes away what nobody sees any more', () => {
  it.each([1, 2, 3])('has everything that somebody sees (seed %i)', { timeout }, async (seed) => {
    const group = await begin(seed);
    const random = new Random(seed);
    const client = new MemoryClient(group);
    let lists: Lists = new Map();
    for (let number = 1; number <= 100; number++) {
      const transaction = { reads: [], writes: changes(random, number) };
      const working = client.transact(transaction);
      const breaking = random.chance(0.06) ? breakOne(group, random) : Promise.resolve();
      const end = await group.time.until(working, 120_000);
      await group.time.until(breaking, 120_000);
      const written = after(lists, transaction);
      const possible = end.kind === 'done' ? [written] : [lists, written];
      const found = await read(group, client);
      expect(possible.map(textOf)).toContain(found);
      lists = possible.find((one) => textOf(one) === found)!;
      if (random.chance(0.1)) await group.time.until(takeBack(group, changes(random, number)), 60_000);
      // It takes long, and once is enough.
      if (seed === 1 && random.chance(0.2)) writeMuch(group);
      // Checkpoints come by themselves.
      if (random.chance(0.1)) await group.time.pass(random.below(8_000));
      expect(await read(group, client)).toBe(textOf(lists));
    }
    await group.healthy(120_000);
    const answer = await group.time.until(group.serving()!.replica!.admin.verify({ repair: false }), 60_000);
    if (!answer.ok) throw new Error(answer.error.message);
    expect(answer.answer.replicas.map(({ outcome }) => outcome)).toEqual(['equal', 'equal', 'equal']);
    await group.time.pass(10_000);
    expect(group.members.map(listsAt)).toEqual(Array.from({ length: 3 }, () => textOf(lists)));
  });

  it('keeps what is dropped by transactions that are open, or prepared, or not seen by others yet', {
    timeout,
  }, async () => {
    const group = await begin(8);
    const client = new MemoryClient(group);
    const ask = async (session: ModelClient, ...requests: readonly Request[]): Promise<void> => {
      for (const request of requests) await group.time.until(session.ask(request), 60_000);
    };
    const connect = (): Promise<ModelClient> =>
      group.time.until(group.serving()!.process!.server.connect(), 60_000);
    const vacuums = async (): Promise<void> => {
      for (let number = 0; number < 30; number++) {
        const writes = [{ key: 'e', value: number % 2 === 0 ? null : String(number) }];
        await group.time.until(client.transact({ reads: [], writes }), 60_000);
        await group.time.pass(500);
      }
    };
    const shown = (): readonly string[] =>
      group.members.map(({ postgres }) =>
        ['a', 'b', 'c'].map((key) => postgres.run!.buffers.list(key, () => true).join()).join('/'),
      );
    const first = tables.map((key) => ({ key, value: '1' }));
    await group.time.until(client.transact({ reads: [], writes: first }), 60_000);
    const [open, preparing, unseen] = [await connect(), await connect(), await connect()];
    await ask(open, { kind: 'drop', key: 'a' });
    await ask(preparing, { kind: 'drop', key: 'b' }, { kind: 'append', key: 'b', value: '2' });
    await ask(preparing, { kind: 'prepare', name: 'p' });
    await ask(unseen, { kind: 'drop', key: 'c' });
    const primary = group.serving()!.postgres.run!.primary!;
    const { xid } = unseen;
    await ask(unseen, { kind: 'commit' });
    primary.hidden.add(xid!);
    await vacuums();
    expect(shown()).toEqual(['1/1/', '1/1/', '1/1/']);
    await ask(open, { kind: 'rollback' });
    await ask(preparing, { kind: 'commitPrepared', name: 'p' });
    await vacuums();
    expect(shown()).toEqual(['1/2/', '1/2/', '1/2/']);
    expect(primary.list('c')).toEqual(['1']);
    primary.hidden.delete(xid!);
    await vacuums();
    expect(primary.list('c')).toEqual([]);
  });

  it('holds no more after many transactions than after some', { timeout }, async () => {
    const group = await begin(7);
    const client = new MemoryClient(group);
    for (let number = 1; number <= 112; number++) {
      const writes = [{ key: tables[number % 5]!, value: number % 7 === 0 ? null : String(number) }];
      await group.time.until(client.transact({ reads: [], writes }), 60_000);
      if (number % 4 === 0) writeMuch(group);
      await group.time.pass(50);
    }
    await group.time.pass(15_000);
    for (const { postgres } of group.members) {
      const { disk } = postgres;
      expect(disk.outcomes.size).toBeLessThan(100);
      expect([...disk.pages.values()].reduce((sum, { rows }) => sum + rows.length, 0)).toBeLessThan(90);
      expect(disk.wal.bytes).toBeLessThan(segmentBytes);
      expect(postgres.run!.buffers.commits().length).toBeLessThan(50);
      expect(postgres.run!.buffers.endedTransactions).toBeGreaterThanOrEqual(112);
    }
  });
});
