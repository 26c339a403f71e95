import { describe, expect, it } from 'vitest';
import type { RelationName } from '../../api/wal-summary.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { Timeline } from '../../wal/lsn.ts';
import { readGolden } from '../../wal/record/testing/golden.ts';
import { fileKey } from '../../payload/wal/summary/name-relations.ts';
import { encodeRange } from '../../payload/wal/wal-entry.ts';
import { createSlotReader, type SlotReaderOptions } from './slot-reader.ts';

const group = 'main' as GroupId;
const slot = (n: number): Slot => n as Slot;

/** Slots 1 and 2 are purged, 3 holds WAL, 4 nothing; 5 is not chosen. */
function reader(changes: Partial<SlotReaderOptions> = {}) {
  const { start, bytes } = readGolden('postgres-18');
  const leadership = { round: 1, replica: 'r1' as ReplicaId };
  const payload = encodeRange({ leadership, timeline: 1 as Timeline, start }, [bytes.subarray(0, 60_000)]);
  const entries: readonly Entry[] = [
    { kind: 'command', group, proposal: { client: 'r1', request: 9 }, payload },
    { kind: 'noop', group },
  ];
  return createSlotReader({
    read: (from) => Promise.resolve(entries.slice(from - 3, from - 2)),
    commitPoint: () => slot(4),
    purgedTo: () => slot(2),
    names: () => Promise.resolve(new Map()),
    ...changes,
  });
}

describe('the reader of a slot', () => {
  it('tells what is in it, with the names that are known', async () => {
    const orders: RelationName = { name: 'orders', kind: 'table', table: null, isSystem: false };
    const read = reader({ names: (files) => Promise.resolve(new Map([[fileKey(files[0]!), orders]])) });
    const answer = await read(slot(3));
    expect(answer).toMatchObject({ slot: 3, label: 'r1/9', content: { kind: 'range', timeline: 1 } });
    expect(JSON.stringify(answer)).toContain('"name":"orders"');
    expect(await read(slot(4))).toEqual({ slot: 4, label: 'noop', content: { kind: 'noop' } });
  });

  it('tells nothing of what is not chosen, or purged', async () => {
    expect(await reader()(slot(5))).toMatchObject({ error: { code: 'notChosen' } });
    expect(await reader()(slot(2))).toMatchObject({ error: { code: 'purged' } });
    // Purged between the look and the reading.
    let purgedTo = slot(2);
    const purging = reader({
      purgedTo: () => purgedTo,
      read: () => {
        purgedTo = slot(3);
        return Promise.resolve([]);
      },
    });
    expect(await purging(slot(3))).toMatchObject({ error: { code: 'purged' } });
  });

  it('does not call purged what the log does not have yet', async () => {
    const early = reader({ read: () => Promise.resolve([]) });
    expect(await early(slot(4))).toMatchObject({ error: { code: 'unavailable' } });
  });

  it('says why it cannot read one', async () => {
    const read = reader({ read: () => Promise.reject(new Error('the disk is gone')) });
    expect(await read(slot(3))).toEqual({
      error: { code: 'failed', message: 'Slot 3 cannot be read: the disk is gone' },
    });
  });

  it('reads only some at a time', async () => {
    const waiting: (() => void)[] = [];
    const read = reader({ read: () => new Promise((resolve) => waiting.push(() => resolve([]))) });
    const answers = [1, 2, 3, 4].map(() => read(slot(3)));
    expect(await read(slot(3))).toMatchObject({ error: { code: 'unavailable' } });
    for (const go of waiting) go();
    await Promise.all(answers);
    expect(await reader()(slot(4))).toMatchObject({ content: { kind: 'noop' } });
  });
});
