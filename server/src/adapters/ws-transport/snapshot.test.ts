import { Readable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types.ts';
import { SnapshotError, type SnapshotStream } from '../../ports/snapshot.ts';
import { freePort } from '../testing/free-port.ts';
import { startRelay } from '../testing/relay.ts';
import type { TransportLimits } from './limits.ts';
import { readSnapshotText } from './snapshot-texts.ts';
import { endAll, onEnd, pair, r1, r2, start, type StartOptions } from './testing/transports.ts';
import type { WsTransport } from './ws-transport.ts';

const never = new AbortController().signal;
const MiB = 1024 * 1024;

afterEach(endAll);

/** Neither is a member yet: a copy is fetched before that. */
const unjoined = (limits: Partial<TransportLimits>): StartOptions => ({ joined: false, limits });

/** r1 gives, r2 takes. */
async function sourceAndFetcher(limits: Partial<TransportLimits> = {}) {
  const { one, two } = await pair(unjoined(limits), unjoined(limits));
  return { source: one, fetcher: two };
}

function block(index: number, bytes: number): Buffer {
  return Buffer.alloc(bytes, index % 251);
}

/** Offers `count` blocks; tells how many were asked for and whether the stream was given up. */
function offerBlocks(transport: WsTransport, count: number, bytes = 64 * 1024) {
  const told = { read: 0, destroyed: 0, opened: 0 };
  transport.offerSnapshots({
    open: () => {
      told.opened += 1;
      let index = 0;
      const stream = new Readable({
        highWaterMark: bytes,
        read() {
          told.read += 1;
          this.push(index < count ? block(index++, bytes) : null);
        },
        destroy(error, done) {
          told.destroyed += 1;
          done(error);
        },
      });
      return Promise.resolve({ bytesTotal: count * bytes, pointer: 41 as Slot, stream });
    },
  });
  return told;
}

async function bytesOf({ stream }: SnapshotStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'no error';
  } catch (error) {
    return error instanceof SnapshotError ? error.code : String(error);
  }
}

describe('a snapshot', () => {
  it('arrives whole, with its size and how far it is told at the beginning', async () => {
    const { source, fetcher } = await sourceAndFetcher();
    offerBlocks(source, 200);
    const snapshot = await fetcher.fetch(r1, never);
    expect(snapshot).toMatchObject({ bytesTotal: 200 * 64 * 1024, pointer: 41 });
    const expected = Buffer.concat(Array.from({ length: 200 }, (_, index) => block(index, 64 * 1024)));
    expect(Buffer.compare(await bytesOf(snapshot), expected)).toBe(0);
  });

  it('may be asked of an incarnation by name, may be of unknown size, empty, or come in large pieces', async () => {
    const { source, fetcher } = await sourceAndFetcher();
    source.offerSnapshots({ open: () => Promise.resolve({ bytesTotal: null, stream: Readable.from([]) }) });
    const empty = await fetcher.fetch('r1.4' as ReplicaId, never);
    expect([empty.bytesTotal, (await bytesOf(empty)).length]).toEqual([null, 0]);
    offerBlocks(source, 3, 5 * MiB + 1);
    expect((await bytesOf(await fetcher.fetch(r1, never))).length).toBe(3 * (5 * MiB + 1));
  });

  it('is read from the source no faster than it is taken', async () => {
    const { source, fetcher } = await sourceAndFetcher();
    const told = offerBlocks(source, 4000);
    const snapshot = await fetcher.fetch(r1, never);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const readBefore = told.read;
    // What fits the buffers of both processes and of TCP, of 250 MiB.
    expect(readBefore * 64 * 1024).toBeLessThan(40 * MiB);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(told.read).toBe(readBefore);
    expect((await bytesOf(snapshot)).length).toBe(4000 * 64 * 1024);
  });
});

describe('a snapshot that cannot be given', () => {
  it('is refused with the reason: no database, too many at a time, the source says no, no such peer', async () => {
    const { source, fetcher } = await sourceAndFetcher({ snapshotsMax: 2 });
    await expect(fetcher.fetch(r1, never)).rejects.toThrow('r1: this replica has no database to copy now');
    const told = offerBlocks(source, 4000);
    const open = [await fetcher.fetch(r1, never), await fetcher.fetch(r1, never)];
    expect(await codeOf(fetcher.fetch(r1, never))).toBe('sourceBusy');
    for (const { stream } of open) stream.destroy();
    await vi.waitFor(() => expect(told.destroyed).toBe(2));
    offerBlocks(source, 1);
    expect((await bytesOf(await fetcher.fetch(r1, never))).length).toBe(64 * 1024);
    source.offerSnapshots({ open: () => Promise.reject(new SnapshotError('noSpace', 'the disk is full')) });
    expect(await codeOf(fetcher.fetch(r1, never))).toBe('noSpace');
    expect(await codeOf(fetcher.fetch('r9' as ReplicaId, never))).toBe('sourceUnavailable');
    await source.close();
    expect(await codeOf(fetcher.fetch(r1, never))).toBe('sourceUnavailable');
  });
});

describe('a snapshot that is cut off', () => {
  it('is an error and never a short success when the source ends', async () => {
    const { source, fetcher } = await sourceAndFetcher();
    offerBlocks(source, 4000);
    const snapshot = await fetcher.fetch(r1, never);
    setTimeout(() => void source.close(), 50);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await codeOf(bytesOf(snapshot))).toBe('transferFailed');
  });

  it('is an error when what is copied fails midway, with its words', async () => {
    const { source, fetcher } = await sourceAndFetcher();
    const stream = Readable.from(
      (async function* () {
        yield block(1, 1000);
        await Promise.resolve();
        throw new Error('PostgreSQL ended');
      })(),
    );
    source.offerSnapshots({ open: () => Promise.resolve({ bytesTotal: 5000, stream }) });
    await expect(fetcher.fetch(r1, never).then(bytesOf)).rejects.toThrow('r1: PostgreSQL ended');
  });

  it('is noticed within seconds when the source dies without a word', async () => {
    const ports = { r1: await freePort(), r2: await freePort() };
    const limits = { probeMs: 100, silenceMsMax: 500 };
    const source = await start(r1, ports, unjoined(limits));
    const relay = await startRelay(ports.r1);
    onEnd(relay.close);
    const fetcher = await start(r2, { r1: relay.port, r2: ports.r2 }, unjoined(limits));
    const stream = new Readable({ read: () => {} });
    source.offerSnapshots({ open: () => Promise.resolve({ bytesTotal: null, stream }) });
    stream.push(block(1, 1000));
    const snapshot = await fetcher.fetch(r1, never);
    // It lives, if slowly: longer than the silence that is borne.
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(snapshot.stream.destroyed).toBe(false);
    relay.freeze();
    const startedAt = performance.now();
    await expect(bytesOf(snapshot)).rejects.toThrow('r1: no sign of life');
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });

  it('is given up when nothing moves though the other side lives, by either side', async () => {
    const { source, fetcher } = await sourceAndFetcher({ probeMs: 50, snapshotStallMsMax: 400 });
    const silent = new Readable({ read: () => {} });
    source.offerSnapshots({ open: () => Promise.resolve({ bytesTotal: null, stream: silent }) });
    await expect(bytesOf(await fetcher.fetch(r1, never))).rejects.toThrow('r1: no bytes for 0 s');
    const told = offerBlocks(source, 4000);
    const unread = await fetcher.fetch(r1, never);
    await vi.waitFor(() => expect(told.destroyed).toBe(1), 5000);
    expect(await codeOf(bytesOf(unread))).toBe('transferFailed');
  });

  it('ends when the fetcher gives up, before or after it began', async () => {
    const { source, fetcher } = await sourceAndFetcher();
    const told = offerBlocks(source, 4000);
    const giveUp = new AbortController();
    const snapshot = await fetcher.fetch(r1, giveUp.signal);
    giveUp.abort();
    expect(await codeOf(bytesOf(snapshot))).toBe('transferFailed');
    await vi.waitFor(() => expect(told.destroyed).toBe(1));
    expect(await codeOf(fetcher.fetch(r1, giveUp.signal))).toBe('transferFailed');
    source.offerSnapshots({ open: () => new Promise(() => {}) });
    const later = new AbortController();
    const waiting = fetcher.fetch(r1, later.signal);
    setTimeout(() => later.abort(), 100);
    expect(await codeOf(waiting)).toBe('transferFailed');
  });
});

describe('faults of the links', () => {
  const fault = { from: r1, to: r2, cut: false, delayMs: 0, drop: 0, duplicate: 0 };

  it('a cut breaks the snapshots that go over the link, and lets none begin', async () => {
    const { source, fetcher } = await sourceAndFetcher();
    offerBlocks(source, 4000);
    const snapshot = await fetcher.fetch(r1, never);
    source.setFault({ ...fault, cut: true });
    expect(await codeOf(bytesOf(snapshot))).toBe('transferFailed');
    expect(await codeOf(fetcher.fetch(r1, never))).toBe('sourceUnavailable');
    source.heal();
    const silent = new Readable({ read: () => {} });
    source.offerSnapshots({ open: () => Promise.resolve({ bytesTotal: null, stream: silent }) });
    const idle = await fetcher.fetch(r1, never);
    source.setFault({ ...fault, cut: true });
    expect(await codeOf(bytesOf(idle))).toBe('transferFailed');
    source.heal();
    offerBlocks(source, 2);
    expect((await bytesOf(await fetcher.fetch(r1, never))).length).toBe(2 * 64 * 1024);
    fetcher.setFault({ ...fault, from: r2, to: r1, cut: true });
    expect(await codeOf(fetcher.fetch(r1, never))).toBe('sourceUnavailable');
  });

  it('a delay and losses slow it down', async () => {
    const { source, fetcher } = await sourceAndFetcher();
    const took = async (): Promise<number> => {
      offerBlocks(source, 64);
      const startedAt = performance.now();
      expect((await bytesOf(await fetcher.fetch(r1, never))).length).toBe(4 * MiB);
      return performance.now() - startedAt;
    };
    source.setFault({ ...fault, delayMs: 200 });
    expect(await took()).toBeGreaterThan(700);
    source.setFault({ ...fault, drop: 0.1 });
    expect(await took()).toBeGreaterThan(400);
  });
});

it('a text that is no part of a snapshot is none', () => {
  const bad = [
    '',
    '{}',
    'null',
    '[]',
    '{"begin":{}}',
    '{"begin":{"bytesTotal":1,"pointer":-1}}',
    '{"end":{"bytes":-1}}',
    '{"failure":{"code":"x","message":""}}',
  ];
  expect(bad.map(readSnapshotText)).toEqual(bad.map(() => null));
  expect(readSnapshotText('{"begin":{"bytesTotal":null}}')).toEqual({ begin: { bytesTotal: null } });
  const begin = { bytesTotal: 5, pointer: 7 };
  expect(readSnapshotText(JSON.stringify({ begin }))).toEqual({ begin });
});
