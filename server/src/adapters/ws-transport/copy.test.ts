import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { CopyError } from '../../ports/copy.ts';
import { freePort } from '../testing/ports.ts';
import { startRelay } from '../testing/relay.ts';
import { readCopyText } from './copy-texts.ts';
import type { TransportLimits } from './limits.ts';
import { endAll, onEnd, pair, r1, r2, start, type StartOptions } from './testing/transports.ts';
import type { WsTransport } from './ws-transport.ts';
import { eventually } from '../../ports/testing/eventually.ts';

const never = new AbortController().signal;
const MiB = 1024 * 1024;

afterEach(endAll);

/** Neither is a member yet: a copy is fetched before that. */
const unjoined = (limits: Partial<TransportLimits>): StartOptions => ({ joined: false, limits });

/** r1 gives, r2 takes. */
async function sourceAndTarget(limits: Partial<TransportLimits> = {}, ofTarget = limits) {
  const { one, two } = await pair(unjoined(limits), unjoined(ofTarget));
  return { source: one, target: two };
}

function block(index: number, bytes: number): Buffer {
  return Buffer.alloc(bytes, index % 251);
}

interface Told {
  written: number;
  closed: number;
}

/** Gives `count` blocks to whoever comes, and then whatever `after` says. */
function offerBlocks(transport: WsTransport, count: number, bytes = 64 * 1024): Told {
  const told: Told = { written: 0, closed: 0 };
  transport.offerCopies({
    async serve(channel) {
      channel.once('close', () => (told.closed += 1));
      for (let index = 0; index < count && !channel.destroyed; index += 1) {
        await write(channel, block(index, bytes)).catch(() => {});
        told.written += 1;
      }
      channel.end();
      await closed(channel);
    },
  });
  return told;
}

function write(channel: Duplex, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

function closed(channel: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (channel.destroyed) return resolve();
    channel.resume();
    channel.once('close', () => resolve());
  });
}

/** Offers a source that says nothing, and waits. */
function offerSilence(transport: WsTransport): void {
  transport.offerCopies({ serve: closed });
}

async function bytesOf(channel: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  // The other direction may go on.
  for await (const chunk of channel.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** All that a source gives to somebody who has nothing to say. */
async function taken(target: WsTransport, from = r1): Promise<Buffer> {
  const channel = await target.open(from, never);
  channel.end();
  return bytesOf(channel);
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'no error';
  } catch (error) {
    return error instanceof CopyError ? error.code : String(error);
  }
}

describe('a channel for a copy', () => {
  it('carries bytes both ways at the same time, whole and in order, to the end of each', async () => {
    const { source, target } = await sourceAndTarget();
    const heard = new Promise<Buffer>((resolve) => {
      source.offerCopies({
        async serve(channel) {
          const all = bytesOf(channel);
          for (let i = 0; i < 200; i += 1) await write(channel, block(i, 64 * 1024));
          channel.end();
          resolve(await all);
        },
      });
    });
    const channel = await target.open(r1, never);
    const all = bytesOf(channel);
    for (let i = 0; i < 300; i += 1) await write(channel, block(i, 10_001));
    channel.end();
    const expected = (count: number, bytes: number): Buffer =>
      Buffer.concat(Array.from({ length: count }, (_, index) => block(index, bytes)));
    expect((await all).equals(expected(200, 64 * 1024))).toBe(true);
    expect((await heard).equals(expected(300, 10_001))).toBe(true);
  });

  it('brings all that was written to its end, though its source is done before it has left', async () => {
    const { source, target } = await sourceAndTarget();
    source.offerCopies({
      async serve(channel) {
        const all = bytesOf(channel);
        channel.end(block(7, 40 * MiB));
        await all;
      },
    });
    const channel = await target.open(r1, never);
    channel.end();
    await sleep(300);
    expect((await bytesOf(channel)).equals(block(7, 40 * MiB))).toBe(true);
  });

  it('brings all that was written to its end, though the other side has not ended and its probes are not read', async () => {
    const { source, target } = await sourceAndTarget({ probeMs: 5 });
    source.offerCopies({
      serve(channel) {
        channel.end(block(7, 8 * MiB));
        return Promise.resolve();
      },
    });
    for (let times = 0; times < 8; times += 1) {
      const channel = await target.open(r1, never);
      expect((await bytesOf(channel)).equals(block(7, 8 * MiB))).toBe(true);
      channel.destroy();
    }
  });

  it('may be asked of an incarnation by name, may carry nothing, or large pieces', async () => {
    const { source, target } = await sourceAndTarget();
    offerBlocks(source, 0);
    expect((await taken(target, 'r1.4' as ReplicaId)).length).toBe(0);
    offerBlocks(source, 3, 5 * MiB + 1);
    expect((await taken(target)).length).toBe(3 * (5 * MiB + 1));
  });

  it('is written no faster than it is read, in either direction', async () => {
    const { source, target } = await sourceAndTarget();
    const told = offerBlocks(source, 4000);
    const channel = await target.open(r1, never);
    await sleep(500);
    const writtenBefore = told.written;
    // What fits the buffers of both processes and of TCP, of 250 MiB.
    expect(writtenBefore * 64 * 1024).toBeLessThan(40 * MiB);
    await sleep(300);
    expect(told.written).toBe(writtenBefore);
    expect((await bytesOf(channel)).length).toBe(4000 * 64 * 1024);

    source.offerCopies({
      serve: (unread) => new Promise((resolve) => unread.once('close', () => resolve())),
    });
    const upwards = await target.open(r1, never);
    let written = 0;
    void (async () => {
      while (!upwards.destroyed) {
        await write(upwards, block(1, 64 * 1024)).catch(() => {});
        written += 1;
      }
    })();
    await sleep(500);
    const before = written;
    expect(before * 64 * 1024).toBeLessThan(40 * MiB);
    await sleep(300);
    expect(written).toBe(before);
    upwards.destroy();
  });
});

describe('a channel that cannot be had', () => {
  it('is refused with the reason: no database, too many at a time, no such peer', async () => {
    const { source, target } = await sourceAndTarget({ copiesMax: 2 });
    await expect(target.open(r1, never)).rejects.toThrow('r1: this replica has no database to copy now');
    const told = offerBlocks(source, 4000);
    const channels = [await target.open(r1, never), await target.open(r1, never)];
    expect(await codeOf(target.open(r1, never))).toBe('sourceBusy');
    for (const channel of channels) channel.destroy();
    await eventually(() => expect(told.closed).toBe(2));
    offerBlocks(source, 1);
    expect((await taken(target)).length).toBe(64 * 1024);
    expect(await codeOf(target.open('r9' as ReplicaId, never))).toBe('sourceUnavailable');
    await source.close();
    expect(await codeOf(target.open(r1, never))).toBe('sourceUnavailable');
  });
});

describe('a channel that is cut off', () => {
  it('is an error and never a short success, on both sides', async () => {
    const { source, target } = await sourceAndTarget();
    const errors: unknown[] = [];
    source.offerCopies({
      async serve(channel) {
        channel.on('error', (error) => errors.push(error));
        await closed(channel);
      },
    });
    const channel = await target.open(r1, never);
    setTimeout(() => void source.close(), 50);
    expect(await codeOf(bytesOf(channel))).toBe('transferFailed');
    await eventually(() => expect(errors).toMatchObject([{ name: 'CopyError', code: 'transferFailed' }]));
  });

  it('is one when the other side lets go without having ended', async () => {
    const { source, target } = await sourceAndTarget();
    source.offerCopies({
      async serve(channel) {
        await write(channel, block(1, 1000));
        channel.destroy();
      },
    });
    expect(await codeOf(bytesOf(await target.open(r1, never)))).toBe('transferFailed');
  });

  it('is noticed within seconds when the source dies without a word', async () => {
    const ports = { r1: await freePort(), r2: await freePort() };
    const limits = { probeMs: 100, silenceMsMax: 500 };
    const source = await start(r1, ports, unjoined(limits));
    const relay = await startRelay(ports.r1);
    onEnd(relay.close);
    const target = await start(r2, { r1: relay.port, r2: ports.r2 }, unjoined(limits));
    offerSilence(source);
    const channel = await target.open(r1, never);
    // It lives, if slowly: longer than the silence that is borne.
    await sleep(900);
    expect(channel.destroyed).toBe(false);
    relay.freeze();
    const startedAt = performance.now();
    await expect(bytesOf(channel)).rejects.toThrow('r1: no sign of life');
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });

  const hasty = { probeMs: 50, copyStallMsMax: 400 };
  const patient = { probeMs: 50, copyStallMsMax: 60_000 };
  it('is given up by its user when nothing moves though the other side lives', async () => {
    const { source, target } = await sourceAndTarget(patient, hasty);
    offerSilence(source);
    await expect(bytesOf(await target.open(r1, never))).rejects.toThrow('r1: nothing for 0 s');
  });

  it('is given up by its source when nothing moves though the other side lives', async () => {
    const { source, target } = await sourceAndTarget(hasty, patient);
    const told = offerBlocks(source, 4000);
    const unread = await target.open(r1, never);
    await eventually(() => expect(told.closed).toBe(1));
    expect(await codeOf(bytesOf(unread))).toBe('transferFailed');
  });

  it('ends when its user gives up, before or after it was opened', async () => {
    const { source, target } = await sourceAndTarget();
    const told = offerBlocks(source, 4000);
    const giveUp = new AbortController();
    const channel = await target.open(r1, giveUp.signal);
    giveUp.abort();
    expect(await codeOf(bytesOf(channel))).toBe('transferFailed');
    await eventually(() => expect(told.closed).toBe(1));
    expect(await codeOf(target.open(r1, giveUp.signal))).toBe('transferFailed');
    const later = new AbortController();
    const waiting = target.open(r1, later.signal);
    later.abort();
    expect(await codeOf(waiting)).toBe('transferFailed');
  });
});

describe('faults of the links', () => {
  const fault = { from: r1, to: r2, cut: false, delayMs: 0, drop: 0, duplicate: 0 };
  const back = { ...fault, from: r2, to: r1 };

  it('a cut breaks the channels that go over the link, and lets none begin', async () => {
    const { source, target } = await sourceAndTarget();
    offerBlocks(source, 4000);
    const channel = await target.open(r1, never);
    source.setFault({ ...fault, cut: true });
    expect(await codeOf(bytesOf(channel))).toBe('transferFailed');
    expect(await codeOf(target.open(r1, never))).toBe('sourceUnavailable');
    source.heal();
    offerSilence(source);
    const idle = await target.open(r1, never);
    source.setFault({ ...fault, cut: true });
    expect(await codeOf(bytesOf(idle))).toBe('transferFailed');
    source.heal();
    offerBlocks(source, 2);
    expect((await taken(target)).length).toBe(2 * 64 * 1024);
    // The other way, too: a copy needs both.
    offerSilence(source);
    const other = await target.open(r1, never);
    target.setFault({ ...back, cut: true });
    expect(await codeOf(bytesOf(other))).toBe('transferFailed');
    expect(await codeOf(target.open(r1, never))).toBe('sourceUnavailable');
  });

  it('a delay and losses slow it down, in their direction', async () => {
    const { source, target } = await sourceAndTarget();
    const took = async (): Promise<number> => {
      offerBlocks(source, 64);
      const startedAt = performance.now();
      expect((await taken(target)).length).toBe(4 * MiB);
      return performance.now() - startedAt;
    };
    source.setFault({ ...fault, delayMs: 200 });
    expect(await took()).toBeGreaterThan(700);
    source.setFault({ ...fault, drop: 0.1 });
    expect(await took()).toBeGreaterThan(400);
    source.heal();
    target.setFault({ ...back, delayMs: 300 });
    source.offerCopies({
      async serve(upwards) {
        await bytesOf(upwards);
        upwards.end();
      },
    });
    const channel = await target.open(r1, never);
    const startedAt = performance.now();
    for (let i = 0; i < 64; i += 1) await write(channel, block(i, 64 * 1024));
    channel.end();
    await bytesOf(channel);
    expect(performance.now() - startedAt).toBeGreaterThan(1000);
  });
});

it('a text that is no part of a copy is none', () => {
  const bad = [
    '',
    '{}',
    'null',
    '[]',
    '{"begin":1}',
    '{"end":{"bytes":-1}}',
    '{"failure":{"code":"x","message":""}}',
  ];
  expect(bad.map(readCopyText)).toEqual(bad.map(() => null));
  const good = [{ begin: true }, { end: { bytes: 5 } }, { failure: { code: 'unlike', message: 'm' } }];
  expect(good.map((text) => readCopyText(JSON.stringify(text)))).toEqual(good);
});
