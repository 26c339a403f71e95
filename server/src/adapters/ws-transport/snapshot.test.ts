import { createServer, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { GroupId, MemberAddress, ReplicaId } from '../../multipaxos/types.ts';
import { SnapshotError, type SnapshotStream } from '../../ports/snapshot.ts';
import type { TransportLimits } from './limits.ts';
import { readSnapshotText } from './snapshot-texts.ts';
import { createWsTransport, type WsTransport } from './ws-transport.ts';

const [r1, r2] = ['r1', 'r2'] as ReplicaId[] as [ReplicaId, ReplicaId];
const never = new AbortController().signal;
const MiB = 1024 * 1024;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

const at = (port: number): MemberAddress => ({
  host: '127.0.0.1',
  port,
  pgwire: { host: '127.0.0.1', port: 7432 },
});

async function start(id: ReplicaId, ports: Record<string, number>, limits: Partial<TransportLimits>) {
  const transport = await createWsTransport({
    group: 'main' as GroupId,
    id,
    secret: 'a secret of the cluster',
    peers: Object.entries(ports).map(([replica, port]) => ({
      replica: replica as ReplicaId,
      address: at(port),
    })),
    listen: { host: '127.0.0.1', port: ports[id] ?? 0 },
    faultsAllowed: true,
    limits,
  });
  cleanups.push(() => transport.close());
  return transport;
}

/** r1 gives, r2 takes. */
async function pair(limits: Partial<TransportLimits> = {}) {
  const ports = { r1: await freePort(), r2: await freePort() };
  const source = await start(r1, ports, limits);
  const fetcher = await start(r2, ports, limits);
  return { source, fetcher };
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
      return Promise.resolve({ bytesTotal: count * bytes, stream });
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

/** A relay in front of a port that can be frozen, as a machine that lost its power, or broken. */
async function relayTo(port: number) {
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => frozen || other.destroy());
      socket.on('data', (data) => frozen || other.write(data));
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const destroy = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  cleanups.push(() => {
    destroy();
    server.close();
  });
  return {
    port: (server.address() as { port: number }).port,
    freeze: () => {
      frozen = true;
    },
    destroy,
  };
}

describe('a snapshot', () => {
  it('arrives whole, with its size told at the beginning', async () => {
    const { source, fetcher } = await pair();
    offerBlocks(source, 200);
    const snapshot = await fetcher.fetch(r1, never);
    expect(snapshot.bytesTotal).toBe(200 * 64 * 1024);
    const expected = Buffer.concat(Array.from({ length: 200 }, (_, index) => block(index, 64 * 1024)));
    expect(Buffer.compare(await bytesOf(snapshot), expected)).toBe(0);
  });

  it('may be asked of an incarnation by name, may be of unknown size, empty, or come in large pieces', async () => {
    const { source, fetcher } = await pair();
    source.offerSnapshots({ open: () => Promise.resolve({ bytesTotal: null, stream: Readable.from([]) }) });
    const empty = await fetcher.fetch('r1.4' as ReplicaId, never);
    expect([empty.bytesTotal, (await bytesOf(empty)).length]).toEqual([null, 0]);
    offerBlocks(source, 3, 5 * MiB + 1);
    expect((await bytesOf(await fetcher.fetch(r1, never))).length).toBe(3 * (5 * MiB + 1));
  });

  it('is read from the source no faster than it is taken', async () => {
    const { source, fetcher } = await pair();
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
    const { source, fetcher } = await pair({ snapshotsMax: 2 });
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
    const { source, fetcher } = await pair();
    offerBlocks(source, 4000);
    const snapshot = await fetcher.fetch(r1, never);
    setTimeout(() => void source.close(), 50);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await codeOf(bytesOf(snapshot))).toBe('transferFailed');
  });

  it('is an error when what is copied fails midway, with its words', async () => {
    const { source, fetcher } = await pair();
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
    const source = await start(r1, ports, limits);
    const relay = await relayTo(ports.r1);
    const fetcher = await start(r2, { r1: relay.port, r2: ports.r2 }, limits);
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
    const { source, fetcher } = await pair({ probeMs: 50, snapshotStallMsMax: 400 });
    const silent = new Readable({ read: () => {} });
    source.offerSnapshots({ open: () => Promise.resolve({ bytesTotal: null, stream: silent }) });
    await expect(bytesOf(await fetcher.fetch(r1, never))).rejects.toThrow('r1: no bytes for 0 s');
    const told = offerBlocks(source, 4000);
    const unread = await fetcher.fetch(r1, never);
    await vi.waitFor(() => expect(told.destroyed).toBe(1), 5000);
    expect(await codeOf(bytesOf(unread))).toBe('transferFailed');
  });

  it('ends when the fetcher gives up, before or after it began', async () => {
    const { source, fetcher } = await pair();
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
    const { source, fetcher } = await pair();
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
    const { source, fetcher } = await pair();
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
    '{"end":{"bytes":-1}}',
    '{"failure":{"code":"x","message":""}}',
  ];
  expect(bad.map(readSnapshotText)).toEqual(bad.map(() => null));
  expect(readSnapshotText('{"begin":{"bytesTotal":null}}')).toEqual({ begin: { bytesTotal: null } });
});
