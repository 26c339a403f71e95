/** Random histories against a simple model: what was acknowledged is recovered, or corruption is reported. Never wrong data. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import { LogStoreError, type LogStore } from '../../ports/log-store.ts';
import {
  ballotOf,
  commandOf,
  configurationOf,
  group,
  newLogOf,
  plain,
  slotOf,
} from '../../ports/testing/log-store-contract.ts';
import {
  crashMemoryDisk,
  createMemoryDisk,
  createMemoryLog,
  openMemoryLog,
} from '../memory-log/memory-log.ts';
import { createFaultyDirectory, type FaultyDirectory } from './testing/faulty-directory.ts';
import { create, open } from './testing/small-segments.ts';

const SLOTS = 12;

const record: fc.Arbitrary<LogRecord> = fc.oneof(
  fc
    .tuple(fc.nat(9), fc.constantFrom('r1', 'r2'))
    .map(([round, id]): LogRecord => ({ kind: 'promise', ballot: ballotOf(round, id) })),
  fc
    .record({
      slot: fc.integer({ min: 1, max: SLOTS }),
      round: fc.nat(9),
      request: fc.nat(),
      bytes: fc.nat(3000),
    })
    .map(({ slot, round, request, bytes }): LogRecord => {
      const entry = commandOf(request, new Uint8Array(bytes).fill(request % 256));
      return round === 0
        ? { kind: 'chosen', slot: slotOf(slot), entry }
        : { kind: 'vote', slot: slotOf(slot), ballot: ballotOf(round), entry };
    }),
  fc.integer({ min: 1, max: SLOTS }).map((slot): LogRecord => ({ kind: 'commitPoint', slot: slotOf(slot) })),
  fc
    .integer({ min: 2, max: 9 })
    .map((version): LogRecord => ({ kind: 'configuration', configuration: configurationOf(version) })),
  fc.tuple(fc.nat(4), fc.integer({ min: 2, max: 9 })).map(
    ([slot, version]): LogRecord => ({
      kind: 'base',
      slot: slotOf(slot),
      configuration: configurationOf(version),
    }),
  ),
);
const appends = fc.array(fc.array(record, { maxLength: 4 }), { maxLength: 12 });

/** What a log holds, for comparison. */
async function contents(store: LogStore): Promise<unknown> {
  const { tail, ...rest } = store.recovered;
  const slots: unknown[] = [];
  for (let slot = 1; slot <= SLOTS; slot++)
    slots.push(plain(await store.read(slotOf(slot), slotOf(slot), 1)));
  return { ...rest, identity: store.identity, tail: tail.map(({ slot, ballot }) => [slot, ballot]), slots };
}

async function expectedAfter(batches: readonly (readonly LogRecord[])[]): Promise<unknown> {
  const disk = createMemoryDisk(group);
  const store = await createMemoryLog(disk, newLogOf());
  for (const records of batches) await store.append(records);
  return contents(await openMemoryLog(crashMemoryDisk(disk)));
}

/** Appends one after another; the disk stops answering within the write of number `stopAt`. */
async function runUntil(
  directory: FaultyDirectory,
  batches: readonly (readonly LogRecord[])[],
  stopAt: number,
): Promise<void> {
  const store = await create(directory);
  for (const [i, records] of batches.entries()) {
    if (i < stopAt) {
      await store.append(records);
      continue;
    }
    directory.delay = () => new Promise(() => undefined);
    void store.append(records);
    await new Promise((resolve) => setTimeout(resolve, 1));
    return;
  }
}

describe('the segment log against a model', () => {
  it('recovers exactly what was acknowledged, and of the write in flight all or nothing, whichever sectors survive', async () => {
    await fc.assert(
      fc.asyncProperty(appends, fc.nat(12), fc.nat(), async (batches, stopAt, mask) => {
        const directory = createFaultyDirectory();
        await runUntil(directory, batches, stopAt);
        const survivor = directory.crashed((sector) => ((mask >> (sector % 30)) & 1) === 1);
        const found = await contents(await open(survivor));
        const acknowledged = await expectedAfter(batches.slice(0, stopAt));
        const withLast = await expectedAfter(batches.slice(0, stopAt + 1));
        expect([acknowledged, withLast]).toContainEqual(found);
        expect(await contents(await open(survivor.crashed(() => false)))).toEqual(found);
      }),
      { numRuns: 150 },
    );
  });

  it('after a clean close, any flipped bit and any cut is either harmless or reported as corruption', async () => {
    await fc.assert(
      fc.asyncProperty(
        appends,
        fc.nat(),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.boolean(),
        async (batches, pick, where, cut) => {
          const directory = createFaultyDirectory();
          const store = await create(directory);
          for (const records of batches) await store.append(records);
          await store.close();
          const expected = await expectedAfter(batches);
          damage(directory, pick, where, cut);
          const outcome = await open(directory).then(contents, (error: unknown) => error);
          const verdict = outcome instanceof LogStoreError ? outcome.code : outcome;
          expect([expected, 'logCorrupt']).toContainEqual(verdict);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('the damage of the test above is of both sorts', async () => {
    const outcomes = new Set<string>();
    for (let offset = 0; offset < 16_384; offset += 37) {
      const directory = createFaultyDirectory();
      const store = await create(directory);
      await store.append([{ kind: 'promise', ballot: ballotOf(1) }]);
      await store.close();
      damage(directory, 0, offset / 16_384, false);
      outcomes.add(
        await open(directory).then(
          () => 'harmless',
          () => 'reported',
        ),
      );
    }
    expect([...outcomes].sort()).toEqual(['harmless', 'reported']);
  });
});

/** Flips one bit or cuts one segment; half of the time near the front, where the records are. */
function damage(directory: FaultyDirectory, pick: number, where: number, cut: boolean): void {
  const names = [...directory.files.keys()].filter((name) => name.startsWith('segment-'));
  const stored = directory.files.get(names[pick % names.length] ?? '');
  if (stored === undefined || stored.bytes.length === 0) return;
  const reach = pick % 2 === 0 ? stored.bytes.length : Math.min(6000, stored.bytes.length);
  const offset = Math.min(stored.bytes.length - 1, Math.floor(where * reach));
  if (cut) stored.bytes = Buffer.from(stored.bytes.subarray(0, offset));
  else stored.bytes.writeUInt8(stored.bytes.readUInt8(offset) ^ (1 << (pick % 8)), offset);
}
