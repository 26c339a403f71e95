/** When a peer's process is told to be gone, and when it is not. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { eventually } from '../../ports/testing/eventually.ts';
import { freePort } from '../testing/ports.ts';
import { endAll, peersOf, r1, r2, start, type TestTransport } from './testing/transports.ts';

afterEach(endAll);

/** Some attempts to connect fail within it. */
const attemptsMs = 400;

interface Pair {
  readonly one: TestTransport;
  readonly two: TestTransport;
  readonly ports: Record<string, number>;
  readonly gone: ReplicaId[];
}

async function pair(): Promise<Pair> {
  const ports = { r1: await freePort(), r2: await freePort() };
  const [one, two] = [await start(r1, ports), await start(r2, ports)];
  const gone: ReplicaId[] = [];
  one.onGone((replica) => gone.push(replica));
  await eventually(() => expect(one.connected()).toEqual([r2]));
  return { one, two, ports, gone };
}

describe('a peer whose host refuses connections', () => {
  it('is told once, however often it is dialled in vain', async () => {
    const { two, gone } = await pair();
    await two.close();
    await eventually(() => expect(gone).toEqual([r2]));
    await pause(attemptsMs);
    expect(gone).toEqual([r2]);
  });

  it('is not told if it never was there', async () => {
    const ports = { r1: await freePort(), r2: await freePort() };
    const one = await start(r1, ports);
    const gone: ReplicaId[] = [];
    one.onGone((replica) => gone.push(replica));
    await pause(attemptsMs);
    expect(gone).toEqual([]);
  });

  it('is not told over a link that is cut', async () => {
    const { one, two, gone } = await pair();
    one.setFault({ from: r1, to: r2, cut: true, delayMs: 0, drop: 0, duplicate: 0 });
    await two.close();
    await pause(attemptsMs);
    expect(gone).toEqual([]);
  });

  it('is not told if it is no peer any more, or has another address now', async () => {
    const { one, two, ports, gone } = await pair();
    one.setPeers(peersOf({ ...ports, r2: await freePort() }));
    await two.close();
    await pause(attemptsMs);
    one.setPeers(peersOf({ r1: ports['r1'] ?? 0 }));
    await pause(attemptsMs);
    expect(gone).toEqual([]);
  });

  it('is not told after the end', async () => {
    const { one, two, gone } = await pair();
    await two.close();
    await one.close();
    await pause(attemptsMs);
    expect(gone).toEqual([]);
  });
});

it('a connection that ends says nothing, as long as the host takes the next one', async () => {
  const { one, two, gone } = await pair();
  // It is turned away: what it dials is of another cluster now.
  two.become(r2, 'another');
  await eventually(() => expect(one.connected()).toEqual([]));
  await pause(attemptsMs);
  expect(gone).toEqual([]);
});
