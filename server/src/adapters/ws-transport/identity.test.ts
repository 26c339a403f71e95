/** Incarnations and clusters: nothing reaches a replica that was meant for another, or for an earlier life of it. */
import { afterEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { JoinRequest } from '../../ports/control.ts';
import { freePort } from '../testing/ports.ts';
import { encodeMessage } from './message-codec.ts';
import { proven, sendRaw } from './testing/stranger.ts';
import {
  addressAt,
  cluster,
  connectedPair,
  endAll,
  heartbeat,
  pair,
  pause,
  points,
  r1,
  r2,
  start,
  type TestTransport,
} from './testing/transports.ts';
import { eventually } from '../../ports/testing/eventually.ts';

afterEach(endAll);

/** r1, with nobody else there: the true r2 would come again, and take the place of one that says it is. */
const alone = async (): Promise<TestTransport> => start(r1, { r1: await freePort(), r2: 0 });

describe('incarnations', () => {
  const joinRequest: JoinRequest = { kind: 'JoinRequest', replica: r2, nonce: 'n', address: addressAt(7532) };

  it('are named by whom a message is from, and one for another incarnation is dropped and counted', async () => {
    const { one, two } = await connectedPair();
    one.become('r1.3' as ReplicaId, cluster);
    one.send(r2, heartbeat(1));
    await eventually(() => expect(two.received).toEqual([['r1.3', heartbeat(1)]]));
    two.send(r1, heartbeat(2));
    two.send('r1.2' as ReplicaId, heartbeat(3));
    two.send('r1.3' as ReplicaId, heartbeat(4));
    await eventually(() => expect(points(one.received)).toEqual([4]));
    expect(one.counters()).toMatchObject({ received: 1, misdirected: 2 });
  });

  it('what was delayed on the way to an earlier life does not reach the next', async () => {
    const { one, two } = await connectedPair();
    one.setFault({ from: r1, to: r2, cut: false, delayMs: 100, drop: 0, duplicate: 0 });
    one.send(r2, heartbeat(1));
    two.become('r2.2' as ReplicaId, cluster);
    await eventually(() => expect(two.counters().misdirected).toBe(1));
    expect(two.received).toEqual([]);
  });

  it('that are none of the peer that proved itself close the connection', async () => {
    const one = await alone();
    for (const name of ['r1', 'r3', 'r2.1', 'r2.02', 'r2.x', 'r2.-1', 'r2.1e9', '']) {
      const told = await proven(one.port, r2, r1, (socket) =>
        sendRaw(socket, name, 'r1', encodeMessage(heartbeat(1))),
      );
      expect([name, told.reason]).toEqual([
        name,
        expect.stringMatching(/no incarnation of r2|not an envelope/),
      ]);
    }
    expect(one.received).toEqual([]);
  });

  it('a frame without an envelope closes the connection', async () => {
    const one = await alone();
    const told = await proven(one.port, r2, r1, (socket) => socket.send(encodeMessage(heartbeat(1))));
    expect(told.reason).toBe('malformed frame: a frame without an envelope');
  });

  it('a consensus message must be for one of them, a control message need not', async () => {
    const { one, two } = await connectedPair({}, { joined: false });
    const asked: unknown[] = [];
    one.onControl((from, message) => asked.push([from, message]));
    two.sendControl(r1, joinRequest);
    await eventually(() => expect(asked).toEqual([['r2.0', joinRequest]]));
    await two.close();
    const told = await proven(one.port, r2, r1, (socket) =>
      sendRaw(socket, 'r2.0', null, encodeMessage(heartbeat(1))),
    );
    expect(told.reason).toBe('malformed frame: a consensus message to no incarnation');
  });

  it('are only those of the replica itself', async () => {
    const { one } = await connectedPair();
    expect(() => one.become('r2' as ReplicaId, cluster)).toThrow(RangeError);
  });
});

describe('clusters of one name', () => {
  it('do not connect, and say why', async () => {
    const reasons: string[] = [];
    const { one, two } = await pair(
      {},
      { joined: false, onPeerChange: (_peer, _up, why) => reasons.push(why) },
    );
    two.become(r2, 'decaf');
    await eventually(() =>
      expect(reasons.at(-1)).toMatch(/another group of the same name \(cluster decaf, not c0ffee\)/),
    );
    expect([one.connected(), two.connected()]).toEqual([[], []]);
  });

  it('part when one of them learns which it belongs to, also if they were connected before', async () => {
    const { one, two } = await connectedPair({}, { joined: false });
    two.become(r2, 'decaf');
    await eventually(() => expect([one.connected(), two.connected()]).toEqual([[], []]));
    one.send(r2, heartbeat(1));
    two.send(r1, heartbeat(2));
    await pause(300);
    expect([one.received, two.received, one.connected(), two.connected()]).toEqual([[], [], [], []]);
  });

  it('a replica that is admitted keeps its connections to members that said which cluster it is', async () => {
    const { one, two } = await connectedPair({}, { joined: false });
    two.become('r2.2' as ReplicaId, cluster);
    two.send(r1, heartbeat(5));
    expect(two.counters().dropped).toBe(0);
    await eventually(() => expect(one.received).toEqual([['r2.2', heartbeat(5)]]));
  });
});
