/** A log is created whole or not at all; its header carries what must outlive its segments. */
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Member } from '../../multipaxos/types/members.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import {
  ballotOf,
  configurationOf,
  newLogOf,
  slotOf,
  voteOf,
} from '../../ports/testing/log-store-contract.ts';
import type { LogStore } from '../../ports/log-store.ts';
import { segmentName } from './layout.ts';
import { createFaultyDirectory } from './testing/faulty-directory.ts';
import { create, open } from './testing/small-segments.ts';

describe('creating a log', () => {
  it('leaves a whole log or none, wherever it is cut short', async () => {
    const newLog = newLogOf(11, ballotOf(5));
    const outcomes: string[] = [];
    const all = `${JSON.stringify(newLog.promised)} above ${newLog.base}`;
    const outcomeOf = async (attempt: Promise<LogStore>, done: string): Promise<string> => {
      const log = await attempt.catch((error: { code: string }) => error.code);
      if (typeof log === 'string') return log;
      const { promised, purgedTo } = log.recovered;
      const found = `${JSON.stringify(promised)} above ${purgedTo}`;
      return found === all ? done : `${done} with ${found}`;
    };
    for (let stopAt = 0; stopAt <= 3; stopAt++) {
      const directory = createFaultyDirectory();
      let writes = 0;
      directory.delay = () => (writes++ === stopAt ? new Promise(() => undefined) : Promise.resolve());
      void create(directory, undefined, newLog);
      await new Promise((resolve) => setTimeout(resolve, 10));
      const survivor = directory.crashed((sector) => sector % 2 === 0);
      outcomes.push(await outcomeOf(open(survivor), 'whole'));
      // What an interrupted creation leaves is no obstacle to the next.
      outcomes.push(await outcomeOf(create(survivor, undefined, newLog), 'created'));
    }
    expect(outcomes.join(' ')).toBe('logMissing created logMissing created whole logExists whole logExists');
  });

  it('fails with logFull on a full disk, leaves none, and works once there is space', async () => {
    const directory = createFaultyDirectory();
    directory.freeBytes = 1000;
    await expect(create(directory)).rejects.toMatchObject({ code: 'logFull' });
    expect(directory.files.size).toBe(0);
    directory.freeBytes = 1e9;
    expect((await create(directory)).identity).toEqual(newLogOf().identity);
  });

  it('with more members than one block of a header holds', async () => {
    const directory = createFaultyDirectory();
    const members = Array.from({ length: 60 }, (_, i) => ({
      ...(newLogOf().configuration.members[0] as Member),
      replica: `replica-${i}` as ReplicaId,
    }));
    const configuration = { ...configurationOf(7), members };
    const store = await create(directory);
    await store.append([{ kind: 'configuration', configuration }]);
    for (let slot = 1; slot <= 100; slot++) await store.append([voteOf(slot)]);
    await store.purge(slotOf(100));
    const again = await open(directory.crashed(() => false));
    expect(again.recovered.configuration).toEqual(configuration);
    const tooMany = { ...configuration, members: Array.from({ length: 100 }, () => members).flat() };
    await expect(store.append([{ kind: 'configuration', configuration: tooMany }])).rejects.toThrow(
      RangeError,
    );
  });
});

describe('a log of another format', () => {
  it('is refused by its version, not taken for corrupt', async () => {
    const directory = createFaultyDirectory();
    await create(directory);
    const bytes = directory.files.get(segmentName(1))?.bytes ?? Buffer.alloc(0);
    const length = bytes.readUInt32LE(8);
    const body = Buffer.from(bytes.toString('utf8', 16, 16 + length).replace('"version":2', '"version":1'));
    bytes.writeUInt32LE(crc32(body), 12);
    body.copy(bytes, 16);
    const opening = open(directory);
    await expect(opening).rejects.toMatchObject({ code: 'logFailed' });
    await expect(opening).rejects.toThrow('format version 1; this Barista reads and writes version 2 only');
  });
});
