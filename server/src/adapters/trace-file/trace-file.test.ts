import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../api/events.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { Lsn } from '../../wal/lsn.ts';
import { openTraceFile, type TraceFile, type TraceFileOptions } from './trace-file.ts';

let dir = '';
let opened: TraceFile[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'barista-trace-'));
});
afterEach(async () => {
  for (const file of opened) await file.close();
  opened = [];
  rmSync(dir, { recursive: true });
});

const event = (seq: number): TraceEvent => ({
  seq,
  run: 'a',
  replica: 'r1' as ReplicaId,
  atUs: seq * 10,
  layer: 'apply',
  name: 'Release',
  slot: seq as Slot,
  start: (seq - 1) as Lsn,
  position: seq as Lsn,
  commits: [],
});
async function start(extra: Partial<TraceFileOptions> = {}): Promise<TraceFile> {
  const file = await openTraceFile({ dir, run: 'a', fileBytesMax: 1_000_000, filesMax: 3, ...extra });
  opened.push(file);
  return file;
}
const names = () => readdirSync(dir).sort();
const events = (): TraceEvent[] =>
  names().flatMap((name) =>
    readFileSync(join(dir, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as TraceEvent),
  );

describe('the trace file', () => {
  it('holds every event, one a line, in order', async () => {
    const file = await start();
    for (let seq = 1; seq <= 5000; seq += 1) file.write(event(seq));
    await file.flush();
    expect(events()).toEqual(Array.from({ length: 5000 }, (_, index) => event(index + 1)));
    expect(file.dropped).toBe(0);
  });

  it('stays within its size by starting new files and deleting the oldest', async () => {
    const file = await start({ fileBytesMax: 10_000, filesMax: 3 });
    for (let seq = 1; seq <= 2000; seq += 1) {
      file.write(event(seq));
      if (seq % 100 === 0) await file.flush();
    }
    await file.flush();
    expect(names().length).toBe(3);
    for (const name of names()) expect(statSync(join(dir, name)).size).toBeLessThan(11_000);
    expect(events().at(-1)).toEqual(event(2000));
  });

  it('rotates within one batch too', async () => {
    const file = await start({ fileBytesMax: 10_000, filesMax: 100 });
    for (let seq = 1; seq <= 1000; seq += 1) file.write(event(seq));
    await file.flush();
    expect(names().length).toBeGreaterThan(8);
    expect(events().map((item) => item.seq)).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1));
  });

  it('keeps the files of earlier runs while there is room, however many, and nothing but traces is deleted', async () => {
    writeFileSync(join(dir, 'notes.txt'), 'keep');
    const runs = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const [index, run] of runs.entries()) {
      const file = await start({ run, fileBytesMax: 10_000, filesMax: 2 });
      file.write(event(index));
      await file.close();
    }
    expect(names()).toEqual(['notes.txt', ...runs.map((run) => `trace-${run}-000001.ndjson`)]);
    const last = await start({ run: 'last', fileBytesMax: 10_000, filesMax: 2 });
    for (let seq = 1; seq <= 1000; seq += 1) last.write(event(seq));
    await last.flush();
    expect(names().filter((name) => !name.startsWith('trace-last'))).toEqual(['notes.txt']);
    expect(names().length).toBe(3);
  });

  it('drops whole events and counts them when the queue is full', async () => {
    const file = await start({ queueBytesMax: 1000 });
    for (let seq = 1; seq <= 100; seq += 1) file.write(event(seq));
    await file.flush();
    expect(file.dropped).toBeGreaterThan(50);
    expect(file.dropped).toBe(100 - events().length);
    expect(events().length).toBeGreaterThan(5);
  });

  it('survives a directory that has gone: counts, reports once, and goes on when it is back', async () => {
    const errors: Error[] = [];
    const file = await start({ fileBytesMax: 64, onError: (error) => errors.push(error) });
    rmSync(dir, { recursive: true });
    file.write(event(1));
    await file.flush();
    expect(file.dropped).toBe(1);
    expect(errors.length).toBe(1);
    const { mkdirSync } = await import('node:fs');
    mkdirSync(dir);
    file.write(event(2));
    await file.flush();
    expect(events()).toEqual([event(2)]);
  });
});
