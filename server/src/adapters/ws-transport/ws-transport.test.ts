/** Messages between peers, and peers that change. */
import { afterEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { freePort } from '../testing/ports.ts';
import { proven } from './testing/stranger.ts';
import {
  accept,
  ballot,
  cluster,
  configuration,
  connectedPair,
  endAll,
  group,
  heartbeat,
  peersOf,
  points,
  r1,
  r2,
  r3,
  start,
} from './testing/transports.ts';
import { eventually } from '../../ports/testing/eventually.ts';

afterEach(endAll);

describe('messages', () => {
  it('reach the peer as they were sent, from the peer that sent them', async () => {
    const { one, two } = await connectedPair();
    one.send(r2, heartbeat(7));
    two.send(r1, heartbeat(9));
    await eventually(() => expect([one.received.length, two.received.length]).toEqual([1, 1]));
    expect(two.received[0]).toEqual([r1, heartbeat(7)]);
    expect(one.received[0]).toEqual([r2, heartbeat(9)]);
  });

  it('of megabytes arrive whole', async () => {
    const { one, two } = await connectedPair();
    const payload = new Uint8Array(5_000_000).map((_, index) => (index * 31) & 255);
    one.send(r2, accept(payload));
    await eventually(() => expect(two.received.length).toBe(1));
    const message = two.received[0]?.[1];
    const entry = message?.kind === 'Accept' ? message.entries[0] : undefined;
    expect(entry?.kind === 'command' && Buffer.compare(entry.payload, payload)).toBe(0);
  });

  it('to a peer that is away are dropped and counted, and flow again when it is back', async () => {
    const { one, two, ports } = await connectedPair();
    await two.close();
    await eventually(() => expect(one.connected()).toEqual([]));
    one.send(r2, heartbeat(1));
    expect(one.counters().dropped).toBe(1);
    const again = await start(r2, ports);
    await eventually(() => expect(one.connected()).toEqual([r2]));
    one.send(r2, heartbeat(2));
    await eventually(() => expect(points(again.received)).toEqual([2]));
  });

  it('beyond the bound of the queue are dropped', async () => {
    const { one, two } = await connectedPair({ limits: { queueBytesMax: 300_000 } });
    const payload = new Uint8Array(100_000);
    for (let count = 0; count < 1000; count += 1) one.send(r2, accept(payload));
    expect(one.counters().dropped).toBeGreaterThan(900);
    await eventually(() => expect(two.received.length).toBe(one.counters().sent));
  });

  it('larger than a frame may be are not sent', async () => {
    const { one } = await connectedPair({ limits: { frameBytesMax: 10_000 } });
    one.send(r2, accept(new Uint8Array(10_000)));
    expect(one.counters()).toMatchObject({ sent: 0, dropped: 1 });
    expect(one.connected()).toEqual([r2]);
  });
});

describe('the peers', () => {
  it('may change: new ones are dialled and let in, at another address too', async () => {
    const { one, two, ports } = await connectedPair();
    const moved = { ...ports, r3: await freePort() };
    const three = await start(r3, moved);
    expect(three.connected()).toEqual([]);
    for (const transport of [one, two]) transport.setPeers(peersOf(moved));
    // Each end notices for itself.
    await eventually(() => {
      expect(three.connected()).toEqual([r1, r2]);
      expect([one.connected(), two.connected()].map((names) => names.length)).toEqual([2, 2]);
    });
    await two.close();
    const elsewhere = { ...moved, r2: await freePort() };
    await start(r2, elsewhere);
    for (const transport of [one, three]) transport.setPeers(peersOf(elsewhere));
    await eventually(() =>
      expect([one.connected(), three.connected()]).toEqual([
        [r3, r2],
        [r1, r2],
      ]),
    );
  });

  it('that stay where they are keep their connection', async () => {
    const changes: string[] = [];
    const { one, ports } = await connectedPair({ onPeerChange: (peer, up) => changes.push(`${peer} ${up}`) });
    one.setPeers(peersOf({ ...ports, r3: 1 }));
    expect(one.connected()).toEqual([r2]);
    expect(changes.at(-1)).toBe('r2 true');
    one.send(r2, heartbeat(1));
    expect(one.counters()).toMatchObject({ sent: 1, dropped: 0 });
  });

  it('that were removed are told so, and may only ask whether they could be elected', async () => {
    const told: string[] = [];
    const tellsTwo: string[] = [];
    const { one, two, ports } = await connectedPair(
      { onPeerChange: (peer, up, why) => told.push(`${peer} ${up} ${why}`) },
      { onPeerChange: (_peer, up) => tellsTwo.push(`${up}`) },
    );
    one.setPeers(peersOf({ r1: ports.r1 }));
    expect(told.at(-1)).toBe('r2 false is no peer any more');
    expect(one.connected()).toEqual([]);
    await eventually(() => expect(tellsTwo.slice(-2)).toEqual(['false', 'true']));
    one.onMessage((from, message) => {
      one.received.push([from, message]);
      one.send(from, { kind: 'PreVoteReply', group, ballot, granted: false, configuration });
    });
    two.send(r1, heartbeat(1));
    two.send(r1, { kind: 'PreVote', group, ballot });
    await eventually(() =>
      expect(two.received.map(([from, { kind }]) => [from, kind])).toEqual([[r1, 'PreVoteReply']]),
    );
    expect(one.received.map(([, { kind }]) => kind)).toEqual(['PreVote']);
    expect(one.counters().misdirected).toBe(1);
  });

  it('that were never members are not let in unless they know the cluster, and only so many at a time', async () => {
    const { one } = await connectedPair({ limits: { guestsMax: 2 } });
    const guest = (id: string, of: string | null) =>
      new Promise<string>((resolve) => {
        const told = proven(one.port, id as ReplicaId, r1, () => resolve('let in'), { of });
        void told.then(({ reason }) => resolve(reason));
      });
    expect(await guest('r7', null)).toBe('"r7" is not a peer of this group');
    expect([await guest('r8', cluster), await guest('r9', cluster)]).toEqual(['let in', 'let in']);
    expect(await guest('r10', cluster)).toBe('too many replicas that are no members');
  });
});

it('a port in use is an error that names it', async () => {
  const { one } = await connectedPair();
  await expect(start(r3, { r3: one.port })).rejects.toMatchObject({ code: 'EADDRINUSE', port: one.port });
});
