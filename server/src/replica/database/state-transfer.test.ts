import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types.ts';
import { SnapshotError, type SnapshotStream } from '../../ports/snapshot.ts';
import { RecoveryTracker } from './recovery-progress.ts';
import {
  rankSources,
  transferState,
  type Candidates,
  type CopyRequest,
  type StateTransferOptions,
  type TransferOutcome,
} from './state-transfer.ts';

const named = (text: string): ReplicaId[] => text.split(' ').filter((id) => id !== '') as ReplicaId[];
const ranked = (connected: string, rest: Partial<Candidates> = {}): string =>
  rankSources({
    connected: named(connected),
    leader: null,
    voters: named('r1 r2 r3 r4 r5'),
    equal: null,
    ...rest,
  }).join(' ');

const [r2, r3] = named('r2 r3');

it('whose log or database was lost asks the leader last', () => {
  expect(ranked('r2 r3 r4', { leader: r3! })).toBe('r2 r4 r3');
});

it('who differs asks nobody that was not found equal', () => {
  const equal = named('r3 r4 r5');
  expect(ranked('r2 r3 r4 r5', { equal })).toBe('r3 r4 r5');
  expect(ranked('r2 r3 r4', { equal, leader: r3! })).toBe('r4 r3');
});

it('who differs waits for those that were found equal', () => {
  expect(ranked('r2', { equal: named('r3 r4 r5'), leader: r2! })).toBe('');
});

it('who differs asks others, too, once those that were found equal are no majority any more', () => {
  const voters = named('r1 r2 r5 r6 r7');
  expect(ranked('r6 r2 r5', { equal: named('r3 r4 r5'), voters })).toBe('r5 r6 r2');
  expect(ranked('r6 r2', { equal: named('r3 r4 r5'), voters, leader: named('r6')[0]! })).toBe('r2 r6');
});

let end: AbortController;
let tracker: RecoveryTracker;
/** What happened, in order. */
let story: string[];
/** How far their databases say that they are. */
let pointers: Readonly<Record<string, Slot>>;
let gives: (from: ReplicaId) => Readable;
let free: number;
let takes: (copy: SnapshotStream) => Promise<void>;

beforeEach(() => {
  end = new AbortController();
  tracker = new RecoveryTracker({ nowMs: () => 0, logger, onEvent: () => {} });
  story = [];
  pointers = {};
  gives = (from) => Readable.from([Buffer.from(from)]);
  takes = () => Promise.resolve();
  free = 84_000_000;
});
afterEach(() => end.abort(new Error('the test is over')));

const logger = pino({ level: 'silent' });
const freeSpace: StateTransferOptions['target']['freeSpace'] = () =>
  Promise.resolve({ bytes: free, path: '/data/r1' });

function transfer(
  changes: Partial<StateTransferOptions> = {},
  request: Partial<CopyRequest> = {},
): Promise<TransferOutcome> {
  return transferState(
    {
      fetcher: {
        fetch: (from) => {
          story.push(`ask ${from}`);
          const pointer = pointers[from];
          const copy = { bytesTotal: 84_000_000, stream: gives(from) };
          return Promise.resolve(pointer === undefined ? copy : { ...copy, pointer });
        },
      },
      target: {
        receive: async (copy) => {
          for await (const chunk of copy.stream as AsyncIterable<Buffer>)
            story.push(`got ${chunk.toString()}`);
          await takes(copy);
        },
        install: () => Promise.resolve(void story.push('install')),
        freeSpace,
      },
      sources: () => named('r2 r3'),
      tracker,
      logger,
      retryMs: 1,
      retryMsMax: 2,
      failedMsMax: 2,
      silenceMs: 60,
      ...changes,
    },
    {
      patience: { rounds: 1, looks: 3 },
      isOfUse: () => true,
      askedLast: new Set(),
      old: 'setAside',
      ...request,
    },
    end.signal,
  );
}

it('a copy that came whole is put in place, however long the disk takes to make it durable', async () => {
  takes = () => sleep(200);
  expect(await transfer()).toMatchObject({ kind: 'installed' });
  expect(story).toEqual(['ask r2', 'got r2', 'install']);
});

it('a source is not silent while what it sent is being written', async () => {
  gives = () => Readable.from(['one', 'two']);
  const receive: StateTransferOptions['target']['receive'] = async ({ stream }) => {
    for await (const chunk of stream as AsyncIterable<string>) {
      await sleep(150);
      story.push(`wrote ${chunk}`);
    }
  };
  const install = () => Promise.resolve(void story.push('install'));
  expect(await transfer({ target: { receive, install, freeSpace } })).toMatchObject({ kind: 'installed' });
  expect(story).toEqual(['ask r2', 'wrote one', 'wrote two', 'install']);
});

it.each([
  ['at once', []],
  ['in the middle', ['a part']],
])('a source that falls silent %s is given up for the next one', async (_, parts) => {
  gives = (from) => {
    const stream = new Readable({ objectMode: true, read() {} });
    for (const part of parts) stream.push(part);
    return from === 'r2' ? stream : Readable.from(['all']);
  };
  expect(await transfer()).toMatchObject({ kind: 'installed' });
  expect(story).toEqual(['ask r2', ...parts.map((part) => `got ${part}`), 'ask r3', 'got all', 'install']);
});

it('a source that does not even answer is given up for the next one', async () => {
  const fetch: StateTransferOptions['fetcher']['fetch'] = (from, signal) => {
    story.push(`ask ${from}`);
    if (from === 'r3') return Promise.resolve({ bytesTotal: null, stream: gives(from) });
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
    );
  };
  expect(await transfer({ fetcher: { fetch } })).toEqual({ kind: 'installed', from: 'r3' });
  expect(story).toEqual(['ask r2', 'ask r3', 'got r3', 'install']);
});

it('a copy that is too old is not even received, and the next source is asked', async () => {
  pointers = { r2: 40 as Slot, r3: 60 as Slot };
  const isOfUse = (pointer: Slot): boolean => pointer >= 50;
  expect(await transfer({}, { isOfUse })).toEqual({ kind: 'installed', from: 'r3' });
  expect(story).toEqual(['ask r2', 'ask r3', 'got r3', 'install']);
});

it('a copy that has become too old while it came is not put in place', async () => {
  pointers = { r2: 40 as Slot, r3: 60 as Slot };
  let purgedTo = 40;
  takes = () => Promise.resolve(void (purgedTo = 50));
  expect(await transfer({}, { isOfUse: (pointer) => pointer >= purgedTo })).toMatchObject({ from: 'r3' });
  expect(story).toEqual(['ask r2', 'got r2', 'ask r3', 'got r3', 'install']);
});

it('whose copies were too old is asked after all others', async () => {
  expect(await transfer({}, { askedLast: new Set(named('r2')) })).toEqual({ kind: 'installed', from: 'r3' });
  expect(story).toEqual(['ask r3', 'got r3', 'install']);
});

it('who has patience looks for somebody to ask so often, and no more', async () => {
  let looks = 0;
  const sources = (): ReplicaId[] => (looks++, []);
  expect(await transfer({ sources }, { patience: { rounds: 1, looks: 5 } })).toEqual({ kind: 'gaveUp' });
  expect(looks).toBe(5);
});

it('a source that comes back meanwhile is asked', async () => {
  let looks = 0;
  const sources = (): ReplicaId[] => (++looks < 3 ? [] : named('r2'));
  expect(await transfer({ sources }, { patience: { rounds: 1, looks: 5 } })).toMatchObject({ from: 'r2' });
});

describe('a copy that could not be had', () => {
  beforeEach(() => tracker.begin('databaseLost', 'copying'));

  it('for want of space is not even begun, and how much there should be is told', async () => {
    free = 9_000_000;
    expect(await transfer()).toEqual({ kind: 'gaveUp' });
    expect(story).toEqual(['ask r2']);
    expect(tracker.current()).toMatchObject({
      attempts: 0,
      lastFailure: {
        reason: 'there is no space for the copy: about 84 MB are needed in /data/r1, and 9.0 MB are free',
        source: 'r2',
      },
    });
    free = 84_000_000;
    expect(await transfer()).toEqual({ kind: 'installed', from: 'r2' });
  });

  it('had arrived before it was to be made durable, and that is told', async () => {
    const seen: unknown[] = [];
    takes = () => {
      seen.push(tracker.current()?.percent);
      return Promise.reject(new Error('read-only file system'));
    };
    await transfer({ sources: () => named('r2') });
    expect(seen).toEqual([100]);
    expect(tracker.current()?.percent).toBeNull();
  });

  it('for want of space in the end is asked of nobody else in this round', async () => {
    takes = () => Promise.reject(new SnapshotError('noSpace', 'there is no space for the copy: ENOSPC'));
    expect(await transfer()).toEqual({ kind: 'gaveUp' });
    expect(story).toEqual(['ask r2', 'got r2']);
  });

  it('for want of space at its source is asked of the next one', async () => {
    const fetch: StateTransferOptions['fetcher']['fetch'] = (from) =>
      from === 'r2'
        ? Promise.reject(new SnapshotError('noSpace', 'r2: its disk is full'))
        : Promise.resolve({ bytesTotal: null, stream: gives(from) });
    expect(await transfer({ fetcher: { fetch } })).toEqual({ kind: 'installed', from: 'r3' });
  });

  it('says why, and of whom it was', async () => {
    const fetch: StateTransferOptions['fetcher']['fetch'] = (from) =>
      Promise.reject(new SnapshotError('sourceBusy', `${from}: gives 2 copies already`));
    await transfer({ fetcher: { fetch } });
    expect(tracker.current()?.lastFailure).toEqual({
      reason: 'gives 2 copies already',
      source: 'r3',
      agoMs: 0,
    });
  });

  it.each([
    ['refused is asked for again soon', true, [5, 10, 20, 20, 20], 39],
    ['begun in vain is begun ever more seldom', false, [5, 10, 20, 40, 80], 400],
  ])('because it was %s', async (_, refused, gapsMs, lastMsMax) => {
    const askedAtMs: number[] = [];
    takes = () => Promise.reject(new Error('read-only file system'));
    const fetch: StateTransferOptions['fetcher']['fetch'] = (from) => {
      askedAtMs.push(performance.now());
      if (refused) return Promise.reject(new SnapshotError('sourceBusy', 'busy'));
      return Promise.resolve({ bytesTotal: null, stream: gives(from) });
    };
    const times = { retryMs: 5, retryMsMax: 20, failedMsMax: 80 };
    const patience = { rounds: gapsMs.length + 1, looks: 1 };
    await transfer({ ...times, fetcher: { fetch }, sources: () => named('r2') }, { patience });
    const gaps = askedAtMs.slice(1).map((at, index) => at - (askedAtMs[index] ?? 0));
    expect(gaps).toHaveLength(gapsMs.length);
    // Timers are late now and then, and never early by more than their grain.
    for (const [index, gap] of gaps.entries()) expect(gap).toBeGreaterThan((gapsMs[index] ?? 0) - 2);
    expect(Math.min(...gaps.slice(3))).toBeLessThan(lastMsMax);
  });
});
