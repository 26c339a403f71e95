import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSegmentLog, openSegmentLog } from '../../server/src/adapters/segment-log/segment-log.ts';
import { commandOf, group, newLog, voteOf } from '../../server/src/adapters/segment-log/testing/records.ts';
import { flipByte, tearTail } from './damage-log.ts';

let directory: string;
let original: string;
const entries = 12;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'damage-log-'));
  original = join(directory, 'log');
  const log = await createSegmentLog({ directory: original, group, segmentBytes: 64 * 1024 }, newLog);
  for (let slot = 1; slot <= entries; slot++)
    await log.append([voteOf(slot, 1, commandOf(slot, Buffer.alloc(200, slot)))]);
  await log.close();
});
afterAll(() => rm(directory, { recursive: true }));

async function damaged(name: string, damage: (copy: string) => Promise<string>): Promise<string> {
  const copy = join(directory, name);
  await cp(original, copy, { recursive: true });
  await damage(copy);
  return copy;
}

it.each([0, 0.13, 0.37, 0.58, 0.81, 0.99])(
  'a flipped bit (%f) is always in what the log refuses to lose',
  async (choice) => {
    const copy = await damaged(`flipped-${choice}`, (at) => flipByte(at, choice));
    await expect(openSegmentLog({ directory: copy, group })).rejects.toMatchObject({ code: 'logCorrupt' });
  },
);

it('a torn tail takes nothing away', async () => {
  const copy = await damaged('torn', tearTail);
  const log = await openSegmentLog({ directory: copy, group });
  expect(log.recovered.tail.map(({ slot }) => slot)).toEqual(
    Array.from({ length: entries }, (_, index) => index + 1),
  );
  await log.close();
});

it('a directory without a segment cannot be damaged', async () => {
  await expect(tearTail(directory)).rejects.toThrow('no segment');
});
