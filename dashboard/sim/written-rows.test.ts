import { afterEach, beforeEach, expect, it } from 'vitest';
import type { LoadStatus } from '../../server/src/api/load.ts';
import { MemoryClient, type TransactionEnd } from '../../server/src/replica/testing/memory-client.ts';
import { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import { WrittenRows } from './written-rows.ts';

const settings = { isRunning: true, clients: 1, perSecond: 1, readShare: 0 };

let group: MemoryGroup;
let rows: WrittenRows;

beforeEach(async () => {
  group = new MemoryGroup({ replicas: 3, seed: 5 });
  rows = new WrittenRows(group);
  await group.begin();
});
afterEach(() => group.stop());

async function write(times: number): Promise<void> {
  const client = new MemoryClient(group);
  for (let n = 0; n < times; n += 1) {
    const row = rows.begins();
    rows.ends(row, await group.time.until(client.transact({ reads: [], writes: row.writes }), 60_000));
  }
}

/** After two looks each replica was looked into behind all that was written before. */
async function looked(): Promise<LoadStatus> {
  for (let n = 0; n < 6; n += 1) {
    rows.look();
    await group.time.pass(500);
  }
  return rows.status(settings);
}

it('finds everything at every replica, in as many lists as it takes', async () => {
  await write(250);
  const { counts, lost, risen, replicas } = await looked();
  expect({ lost, risen, acknowledged: counts.acknowledged }).toEqual({
    lost: 0,
    risen: 0,
    acknowledged: 250,
  });
  expect(replicas.map(({ checkedAgoMs, problem }) => [checkedAgoMs !== null, problem])).toEqual(
    Array.from({ length: 3 }, () => [true, null]),
  );
});

it('counts a write by what its client was told, or by what the group said of it when it was asked', () => {
  const ends: readonly TransactionEnd[] = [
    { kind: 'done', lists: [] },
    { kind: 'asked', outcome: 'committed' },
    { kind: 'asked', outcome: 'notCommitted' },
    { kind: 'asked', outcome: 'unknown' },
    { kind: 'refused', reason: 'nobody serves' },
  ];
  const countsOf = (end: TransactionEnd) => {
    const of = new WrittenRows(group);
    of.ends(of.begins(), end);
    const { acknowledged, refused, unknown } = of.status(settings).counts;
    return { acknowledged, refused, unknown };
  };
  expect(ends.map(countsOf)).toEqual([
    { acknowledged: 1, refused: 0, unknown: 0 },
    { acknowledged: 1, refused: 0, unknown: 0 },
    { acknowledged: 0, refused: 1, unknown: 0 },
    { acknowledged: 0, refused: 0, unknown: 1 },
    { acknowledged: 0, refused: 1, unknown: 0 },
  ]);
});

it('drops the lists of rows that are judged no more, once each, and again if that was refused', () => {
  const of = new WrittenRows(group);
  const dropped: (string | null)[] = [];
  const write = (times: number, end: TransactionEnd): void => {
    for (let n = 0; n < times; n += 1) {
      const row = of.begins();
      dropped.push(...row.writes.filter(({ value }) => value === null).map(({ key }) => key));
      of.ends(row, end);
    }
  };
  write(2_090, { kind: 'done', lists: [] });
  expect(dropped).toEqual([]);
  write(20, { kind: 'refused', reason: 'nobody serves' });
  expect(dropped).toEqual(['written_0']);
  write(290, { kind: 'done', lists: [] });
  expect(dropped).toEqual(['written_0', 'written_0', 'written_1', 'written_2', 'written_3']);
});

it('finds the row that one replica does not have', async () => {
  await write(20);
  expect((await looked()).lost).toBe(0);
  group.member(group.ids[1]!).postgres.run!.buffers.alter('written_0', 'gone');
  const { lost, lostIds, replicas } = await looked();
  expect({ lost, lostIds }).toEqual({ lost: 1, lostIds: [20] });
  expect(replicas.map(({ missing }) => missing)).toEqual([0, 1, 0]);
});

it('says of the first row that is missing when it was acknowledged, where it is missing, and when that was found', async () => {
  await write(20);
  const beforeMs = group.time.nowMs();
  expect((await looked()).findings).toEqual([]);
  group.member(group.ids[1]!).postgres.run!.buffers.alter('written_0', 'gone');
  const { findings } = await looked();
  expect(findings).toMatchObject([{ kind: 'lost', row: 20, replica: group.ids[1] }]);
  const { acknowledgedAtMs, foundAtMs } = findings![0]!;
  expect(acknowledgedAtMs).toBeLessThanOrEqual(beforeMs);
  expect(foundAtMs).toBeGreaterThan(beforeMs);
});

it('counts a read that does not show what was acknowledged before it began', async () => {
  await write(3);
  const read = async (): Promise<number | undefined> => {
    const judged = rows.beginsRead();
    const transaction = { reads: ['orders', ...judged.keys], writes: [] };
    const end = await group.time.until(new MemoryClient(group).transact(transaction), 60_000);
    rows.endsRead(judged, end, group.serving()!.id);
    return rows.status(settings).stale;
  };
  expect(await read()).toBe(0);
  group.serving()!.postgres.run!.buffers.alter('written_0', 'gone');
  expect(await read()).toBe(1);
});

it('says of a replica that is away that it was not asked, and asks it when it is back', async () => {
  await write(5);
  await looked();
  const away = group.members.find((member) => member !== group.serving())!;
  away.crash();
  await write(5);
  const at = ({ replicas }: LoadStatus) => replicas.find(({ id }) => id === away.id)!;
  expect(at(await looked()).problem).toContain('does not answer');
  await group.time.until(away.start(), 60_000);
  await group.time.pass(5_000);
  const status = await looked();
  expect(at(status)).toMatchObject({ missing: 0, problem: null });
  expect(status.lost).toBe(0);
});

it('does not look for what was acknowledged at one that has yet to apply it, though whoever knew that it was chosen is gone', async () => {
  const leader = group.serving()!;
  await write(20);
  rows.look();
  await group.time.pass(500);
  await write(1);
  leader.crash();
  // The others have voted for it, and learn that it is chosen only by the next leader.
  for (let n = 0; n < 40; n += 1) {
    rows.look();
    const { lost } = rows.status(settings);
    expect(lost).toBe(0);
    await group.time.pass(100);
  }
  expect(group.serving()?.id).not.toBe(leader.id);
  expect((await looked()).lost).toBe(0);
});
