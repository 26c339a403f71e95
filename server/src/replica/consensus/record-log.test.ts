/** Appends and purges that a full disk holds up, each for itself. */
import { expect, it } from 'vitest';
import { createMemoryDisk, createMemoryLog } from '../../adapters/memory-log/memory-log.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import { LogStoreError } from '../../ports/log-store.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { foundedBy, testGroup } from '../testing/configurations.ts';
import { RecordLog } from './record-log.ts';

const full = new LogStoreError('logFull', 'no room');
const promised = (slot: number): LogRecord => ({
  kind: 'slotPromise',
  slot: slot as Slot,
  ballot: { round: 1, replica: 'r2.1' as ReplicaId },
});

async function start() {
  const time = new SimulatedTime();
  const disk = createMemoryDisk(testGroup);
  const identity = { cluster: 'c', member: 'r1.1' as ReplicaId };
  const configuration = foundedBy(['r1' as ReplicaId]);
  const store = await createMemoryLog(disk, {
    identity,
    configuration,
    base: 0 as Slot,
    promised: ballotNone,
  });
  const fails = { append: null as Error | null, purge: null as Error | null };
  const told: (string | number)[] = [];
  const log = new RecordLog({
    retryMs: 500,
    log: {
      ...store,
      append: (records) => (fails.append === null ? store.append(records) : Promise.reject(fails.append)),
      purge: (upTo) => (fails.purge === null ? store.purge(upTo) : Promise.reject(fails.purge)),
    },
    timers: time,
    onDurable: (seq) => told.push(seq),
    onTrouble: (error) => told.push(error === null ? 'no trouble' : 'trouble'),
    onFailed: () => told.push('failed'),
  });
  return { time, disk, fails, told, log };
}

it('is told what is durable in order, and tries again while there is no room', async () => {
  const { time, disk, fails, told, log } = await start();
  log.persist(1, [promised(1)]);
  await time.pass(1);
  fails.append = full;
  log.persist(2, [promised(2)]);
  log.persist(3, [promised(3)]);
  await time.pass(1200);
  expect(told).toEqual([1, 'trouble']);
  expect(log.isBusy).toBe(true);
  fails.append = null;
  await time.pass(600);
  expect(told).toEqual([1, 'trouble', 'no trouble', 2, 3]);
  expect(log.isBusy).toBe(false);
  expect([...disk.slotPromises.keys()]).toEqual([1, 2, 3]);
});

it('a purge that succeeds says nothing of appends that have no room', async () => {
  const { time, fails, told, log } = await start();
  fails.append = full;
  log.persist(1, [promised(1)]);
  await time.pass(1);
  await log.purge(1 as Slot);
  expect(told).toEqual(['trouble']);
  expect(log.isBusy).toBe(true);
});

it('an append that succeeds says nothing of a purge that has no room, which holds up no votes', async () => {
  const { time, fails, told, log } = await start();
  fails.purge = full;
  void log.purge(1 as Slot);
  await time.pass(1);
  expect(log.isBusy).toBe(false);
  log.persist(1, [promised(2)]);
  await time.pass(1);
  expect(told).toEqual(['trouble', 1]);
  fails.purge = null;
  await time.pass(600);
  expect(told).toEqual(['trouble', 1, 'no trouble']);
});

it('any other error ends it', async () => {
  const { time, fails, told, log } = await start();
  fails.append = new LogStoreError('logFailed', 'broken');
  log.persist(1, [promised(1)]);
  await time.pass(1200);
  expect(told).toEqual(['failed']);
});
