import { describe, expect, it } from 'vitest';
import type { Slot } from '../../../server/src/multipaxos/types/names.ts';
import { clusterOf, other, replica } from '../model/testing.ts';
import { fileSource } from './file-source.ts';
import { fileBounds, readRun, type RunFile, writeRun } from './run-file.ts';
import { openRun } from './run-store.ts';

const moment = (atMs: number, commitPoint: number): RunFile['moments'][number] => ({
  atMs,
  frames: [
    {
      type: 'events',
      events: [other({ seq: atMs }, { layer: 'operation', name: 'ReplicaStarted', pid: atMs })],
    },
    { type: 'cluster', cluster: clusterOf(replica('r1', { commitPoint: commitPoint as Slot })) },
  ],
});
const run: RunFile = {
  group: 'main',
  source: 'live, This cluster',
  moments: [moment(100, 1), moment(250, 2), moment(900, 3)],
};
const text = writeRun(run).join('');
const messageOf = (given: string): string => {
  const read = readRun(given);
  return read.ok ? '' : read.message;
};

describe('a run as a file', () => {
  it('is read as it was written', () => {
    expect(readRun(text)).toEqual({ ok: true, run });
  });

  it('is shown as of any of its moments', async () => {
    const store = openRun(fileSource('a.ndjson', run));
    const commitPoint = (): number | undefined => store.get().state.cluster?.replicas[0]?.status?.commitPoint;
    await expect.poll(() => store.get().extent).toEqual({ firstMs: 100, lastMs: 900 });
    store.standAt(899);
    expect(commitPoint()).toBe(2);
    store.standAt(900);
    expect(commitPoint()).toBe(3);
    expect(store.get().state.connection).toEqual({ kind: 'open' });
    store.close();
  });

  it.each([
    ['', 'This is no file of a run'],
    ['{"format":"barista-run","version":2}\n', 'has version 2'],
    [`{"format":"barista-run","version":"${'9'.repeat(9_000)}"}\n`, `${'9'.repeat(199)}, and this page`],
    [text.split('\n')[0]!, 'no moments'],
    [`${text}${'\n'.repeat(fileBounds.linesMax)}`, 'more lines than a run may have'],
    [text.slice(0, -20), 'Line 4 of the file is no JSON'],
    [text.replace('"atMs":250', '"atMs":1'), 'Line 3 of the file goes back in time'],
    [text.replace('"atMs":250', '"atMs":"x"'), 'Line 3 of the file has no time'],
    [
      text.replace('"type":"events"', '"type":"noise"'),
      'Line 2 of the file has something in it that is no frame',
    ],
    [
      text.replace('"membership":', '"members":'),
      'Line 2 of the file has no cluster.replicas[0].status.membership as this page reads it',
    ],
    [text.replace('"role":"voter"', '"role":1'), 'no cluster.replicas[0].status.membership.members[0].role'],
    [text.replace(/"events":\[\{.*?\}\]/, '"events":[null]'), 'Line 2 of the file has no events[0]'],
    [text.replace('"layer":"operation"', '"layer":"noise"'), 'no events[0].layer as'],
    [text.replace('"replicas":[', '"replicas":[{},'), 'no cluster.replicas[0].id'],
    [
      text.replace('"type":"events"', '"type":"load","load":{"counts":{}},"was":"events"'),
      'no load.settings as',
    ],
  ])('that is none is refused in words', (given, message) => {
    expect(messageOf(given)).toContain(message);
  });
});
