/** Who is let in at the peers port, and what closes a connection. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { pack } from 'msgpackr';
import { afterEach, describe, expect, it } from 'vitest';
import type { Message } from '../../multipaxos/types/messages.ts';
import type { GroupId, ReplicaId } from '../../multipaxos/types/names.ts';
import { freePort } from '../testing/ports.ts';
import { answerChallenge, readChallenge } from './handshake.ts';
import { encodeMessage } from './message-codec.ts';
import { proven, sendRaw, stranger } from './testing/stranger.ts';
import {
  accept,
  connectedPair,
  endAll,
  heartbeat,
  onEnd,
  pair,
  pause,
  points,
  r1,
  r2,
  r3,
  secret,
  start,
} from './testing/transports.ts';
import { eventually } from '../../ports/testing/eventually.ts';
import { ownVersions } from './versions.ts';

afterEach(endAll);

describe('admission to the peers port', () => {
  it('needs the cluster secret', async () => {
    const { one } = await connectedPair();
    const { reason, texts } = await proven(
      one.port,
      r2,
      r1,
      (socket) => sendRaw(socket, 'r2', 'r1', encodeMessage(heartbeat(1))),
      { known: 'guess' },
    );
    expect(reason).toBe('does not know the cluster secret');
    expect(texts.length).toBe(1);
    expect(one.received).toEqual([]);
  });

  it('is refused to a group with another secret, both ways, and says why', async () => {
    const reasons: string[] = [];
    const { one, two } = await pair(
      {},
      { secret: 'another secret', onPeerChange: (_peer, _up, why) => reasons.push(why) },
    );
    await eventually(() => expect(reasons).toContain('refused: does not know the cluster secret'));
    expect([one.connected(), two.connected()]).toEqual([[], []]);
  });

  it('a listener that does not know the secret gets no message', async () => {
    const { WebSocketServer } = await import('ws');
    const impostor = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    onEnd(() => impostor.close());
    await once(impostor, 'listening');
    const frames: boolean[] = [];
    impostor.on('connection', (socket) => {
      socket.on('message', (_data, isBinary) => {
        frames.push(isBinary);
        socket.send(JSON.stringify({ cluster: '', mac: '00' }));
      });
      socket.send(JSON.stringify({ version: ownVersions.oldest, nonce: 'n' }));
    });
    const reasons: string[] = [];
    const port = (impostor.address() as { port: number }).port;
    const one = await start(
      r1,
      { r1: 0, r2: port },
      { onPeerChange: (_peer, _up, why) => reasons.push(why) },
    );
    await eventually(() => expect(reasons).toContain('does not know the cluster secret'));
    one.send(r2, heartbeat(1));
    await pause(50);
    expect(frames.includes(true)).toBe(false);
  });

  it('is refused to another group, another replica and a name that is no peer', async () => {
    const { one } = await connectedPair();
    const asked = (id: ReplicaId, to: ReplicaId) => proven(one.port, id, to, () => {});
    expect((await asked(r3, r1)).reason).toBe('"r3" is not a peer of this group');
    expect((await asked(r2, r3)).reason).toBe('looks for "r3", and this is "r1"');
    expect((await asked(r1, r1)).reason).toBe('"r1" is not a peer of this group');
    const other = await stranger(one.port, (socket, text) => {
      const challenge = readChallenge(text);
      if (challenge === null) return;
      const stray = { group: 'other' as GroupId, id: r2, secret, cluster: null, versions: ownVersions };
      const question = { to: r1, purpose: 'messages' } as const;
      socket.send(JSON.stringify(answerChallenge(stray, question, challenge, ownVersions.newest)));
    });
    expect(other.reason).toBe('is of group "other", not "main"');
  });

  it('cuts off one who sends much before proving anything, without waiting for the end of the message', async () => {
    const { one } = await connectedPair({ limits: { handshakeMs: 10_000 } });
    const startedAt = performance.now();
    const flood = await stranger(one.port, (socket) => socket.send(Buffer.alloc(100_000), { fin: false }));
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(flood.texts.length).toBe(1);
    expect(one.connected()).toEqual([r2]);
  });

  it('cuts off one who stays silent, and answers plain HTTP with a refusal', async () => {
    const { one } = await connectedPair({ limits: { handshakeMs: 300 } });
    const startedAt = performance.now();
    await stranger(one.port, () => {});
    expect(performance.now() - startedAt).toBeGreaterThan(200);
    const raw = connect(one.port, '127.0.0.1');
    raw.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const answer = await new Promise<string>((resolve) =>
      raw.once('data', (data) => resolve(data.toString())),
    );
    expect(answer).toContain('426');
    raw.destroy();
    expect(one.connected()).toEqual([r2]);
  });
});

it('many connections that say nothing keep no peer out', async () => {
  const { one, two, ports } = await connectedPair({ limits: { handshakeMs: 20_000, strangersMax: 20 } });
  await two.close();
  const silent = Array.from({ length: 200 }, () => connect(one.port, '127.0.0.1'));
  let ended = 0;
  for (const socket of silent) {
    socket.on('error', () => {});
    socket.on('close', () => (ended += 1));
    onEnd(() => socket.destroy());
  }
  await eventually(() => expect(ended).toBe(180));
  const again = await start(r2, ports);
  await eventually(() => expect([one.connected(), again.connected()]).toEqual([[r2], [r1]]));
  expect(ended).toBeGreaterThanOrEqual(180);
});

it('nor do many that ask to be let in, and prove nothing', async () => {
  const { one, two, ports } = await connectedPair({ limits: { handshakeMs: 20_000 } });
  await two.close();
  const silent = Array.from({ length: 100 }, () => stranger(one.port, () => {}));
  let ended = 0;
  for (const each of silent) void each.then(() => (ended += 1));
  await eventually(() => expect(ended).toBe(68));
  const again = await start(r2, ports);
  await eventually(() => expect([one.connected(), again.connected()]).toEqual([[r2], [r1]]));
});

it('who says nothing, or never ends his request, is ended in time', async () => {
  const { one } = await connectedPair({ limits: { handshakeMs: 300 } });
  const startedAt = performance.now();
  const slow = ['', 'GET /peer HTTP/1.1\r\nx: '].map((said) => {
    const socket = connect(one.port, '127.0.0.1');
    socket.on('error', () => {}).resume();
    socket.write(said);
    onEnd(() => socket.destroy());
    return once(socket, 'close');
  });
  await Promise.all(slow);
  expect(performance.now() - startedAt).toBeLessThan(5000);
  expect(one.connected()).toEqual([r2]);
});

describe('a malformed frame', () => {
  const bad: [string, Uint8Array][] = [
    ['noise', Buffer.from('c1ffffff', 'hex')],
    ['of another group', encodeMessage({ ...heartbeat(1), group: 'x' as GroupId })],
    ['a negative slot', encodeMessage(heartbeat(-1))],
    ['an unknown kind', encodeMessage({ ...heartbeat(1), kind: 'Vote' } as unknown as Message)],
    ['entries missing', pack({ ...accept(new Uint8Array(1)), entries: null })],
    ['an Accept cut short', encodeMessage(accept(new Uint8Array(100))).subarray(0, 90)],
    [
      'a configuration missing',
      encodeMessage({ ...heartbeat(1), configuration: undefined } as unknown as Message),
    ],
    ['a payload of text', pack(accept('drop' as unknown as Uint8Array))],
  ];
  it.each(bad)('closes that connection alone: %s', async (_name, frame) => {
    const ports = { r1: await freePort(), r2: await freePort(), r3: await freePort() };
    const one = await start(r1, ports);
    const two = await start(r2, ports);
    await eventually(() => expect(two.connected()).toEqual([r1]));
    const { reason } = await proven(one.port, r3, r1, (socket) => sendRaw(socket, 'r3', 'r1', frame));
    expect(reason).toMatch(/^malformed frame: /);
    expect(one.received).toEqual([]);
    two.send(r1, heartbeat(5));
    await eventually(() => expect(points(one.received)).toEqual([5]));
  });

  it('is not what a failing handler is taken for', async () => {
    const errors: unknown[] = [];
    const { one, two } = await connectedPair({ onHandlerError: (error) => errors.push(error) });
    one.onMessage(() => {
      throw new Error('invariant broken');
    });
    two.send(r1, heartbeat(1));
    await eventually(() => expect(errors).toEqual([new Error('invariant broken')]));
    expect(two.connected()).toEqual([r1]);
  });
});
