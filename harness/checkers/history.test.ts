import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pairCalls, readHistory, writeHistory, type HistoryHeader, type Operation } from './history.ts';

const header: HistoryHeader = {
  format: 'barista-history-1',
  workload: 'set',
  seed: 7,
  replicas: 3,
  startedAt: '2026-01-01T00:00:00.000Z',
  options: {},
};
const operations: readonly Operation[] = [
  { process: 1, type: 'invoke', f: 'add', value: 1, timeUs: 10 },
  { process: 2, type: 'invoke', f: 'add', value: 2, timeUs: 11 },
  { process: 2, type: 'info', f: 'add', value: 2, timeUs: 12, error: '08007' },
  { process: 1, type: 'ok', f: 'add', value: 1, timeUs: 13 },
];

describe('a history file', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'history-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const written = async (): Promise<string> => {
    const path = join(directory, 'set.ndjson');
    const writer = writeHistory(path, header);
    for (const operation of operations) writer.write(operation);
    await writer.close();
    return path;
  };

  it('is read as it was written', async () => {
    expect(await readHistory(await written())).toEqual({ header, operations });
  });

  it('loses only its last line when it was cut off there', async () => {
    const path = await written();
    await appendFile(path, '{"process":3,"ty');
    expect((await readHistory(path)).operations).toEqual(operations);
  });

  it('is refused when a line in its middle is damaged', async () => {
    const path = await written();
    await appendFile(path, '{"process":3,"ty\n{}\n');
    await expect(readHistory(path)).rejects.toThrow('line 6 is not JSON');
  });

  it('says that it cannot be written', async () => {
    await expect(writeHistory(join(directory, 'no', 'where'), header).close()).rejects.toThrow('ENOENT');
  });
});

describe('pairing', () => {
  it('gives an operation that nobody knows of no end', () => {
    const [first, second] = pairCalls(operations);
    expect(first).toMatchObject({ process: 1, outcome: 'ok', begin: 0, end: 3 });
    expect(second).toMatchObject({ process: 2, outcome: 'info', end: Infinity, error: '08007' });
  });

  it('takes an operation that was under way when the history stopped for one that nobody knows of', () => {
    expect(pairCalls(operations.slice(0, 2)).map(({ outcome }) => outcome)).toEqual(['info', 'info']);
  });

  it('refuses a process that does two things at once, or goes on after what nobody knows', () => {
    const [first] = operations;
    expect(() => pairCalls([first!, first!])).toThrow('under way already');
    const again: Operation = { process: 2, type: 'invoke', f: 'add', value: 3, timeUs: 20 };
    expect(() => pairCalls([...operations, again])).toThrow('under way already');
    expect(() => pairCalls(operations.slice(2))).toThrow('none under way');
  });
});
