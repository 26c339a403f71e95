import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import type { Entry, GroupId, Message, ReplicaId, Slot } from '../../multipaxos/types.ts';
import { answerChallenge, newNonce, readChallenge } from './handshake.ts';
import { encodeMessage } from './message-codec.ts';
import { createWsTransport, type WsTransport, type WsTransportOptions } from './ws-transport.ts';

const group = 'main' as GroupId;
const [r1, r2, r3] = ['r1', 'r2', 'r3'] as ReplicaId[] as [ReplicaId, ReplicaId, ReplicaId];
const secret = 'a secret of the cluster';
const ballot = { round: 3, replica: r1 };
const heartbeat = (commitPoint: number): Message => ({
  kind: 'Heartbeat',
  group,
  ballot,
  commitPoint: commitPoint as Slot,
  sentAtMs: 1.5,
  globalApplicationPointer: 0 as Slot,
});
const accept = (payload: Uint8Array): Message => {
  const entry: Entry = { kind: 'command', group, proposal: { client: 'c', request: 1 }, payload };
  const slot = 1 as Slot;
  return { kind: 'Accept', group, ballot, firstSlot: slot, entries: [entry], commitPoint: slot, sentAtMs: 0 };
};

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type Received = [ReplicaId, Message][];

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net');
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

async function start(
  id: ReplicaId,
  ports: Record<string, number>,
  extra: Partial<WsTransportOptions> = {},
): Promise<WsTransport & { received: Received }> {
  const transport = await createWsTransport({
    group,
    id,
    secret,
    peers: Object.entries(ports).map(([peer, port]) => ({ id: peer as ReplicaId, host: '127.0.0.1', port })),
    listen: { host: '127.0.0.1', port: ports[id] ?? 0 },
    faultsAllowed: true,
    ...extra,
  });
  cleanups.push(() => transport.close());
  const received: Received = [];
  transport.onMessage((from, message) => received.push([from, message]));
  return Object.assign(transport, { received });
}

async function pair(extra1: Partial<WsTransportOptions> = {}, extra2: Partial<WsTransportOptions> = {}) {
  const ports = { r1: await freePort(), r2: await freePort() };
  const one = await start(r1, ports, extra1);
  const two = await start(r2, ports, extra2);
  return { one, two, ports };
}

async function connectedPair(
  extra1: Partial<WsTransportOptions> = {},
  extra2: Partial<WsTransportOptions> = {},
) {
  const both = await pair(extra1, extra2);
  await vi.waitFor(() => {
    expect(both.one.connected()).toEqual([r2]);
    expect(both.two.connected()).toEqual([r1]);
  }, 5000);
  return both;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const points = (received: Received) =>
  received.map(([, message]) => (message.kind === 'Heartbeat' ? message.commitPoint : -1));

/** Opens a connection as a stranger and returns what it is told until it is closed. */
async function stranger(port: number, script: (socket: WebSocket, text: string) => void) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/peer`);
  const texts: string[] = [];
  socket.on('error', () => {});
  socket.on('message', (data) => {
    const text = (data as Buffer).toString();
    texts.push(text);
    script(socket, text);
  });
  const closed = new Promise<{ reason: string; texts: string[] }>((resolve) => {
    socket.on('close', (_code, reason) => resolve({ reason: reason.toString(), texts }));
  });
  cleanups.push(() => socket.terminate());
  return closed;
}

/** Proves itself to `port` as `id`, with the true secret unless told otherwise. */
async function proven(
  port: number,
  id: ReplicaId,
  to: ReplicaId,
  opened: (socket: WebSocket) => void,
  known = secret,
) {
  let answered = false;
  return stranger(port, (socket, text) => {
    const challenge = readChallenge(text);
    if (answered || challenge === null) return opened(socket);
    answered = true;
    socket.send(JSON.stringify(answerChallenge({ group, id, secret: known }, to, challenge, newNonce())));
  });
}

describe('messages', () => {
  it('reach the peer as they were sent, from the peer that sent them', async () => {
    const { one, two } = await connectedPair();
    one.send(r2, heartbeat(7));
    two.send(r1, heartbeat(9));
    await vi.waitFor(() => expect([one.received.length, two.received.length]).toEqual([1, 1]));
    expect(two.received[0]).toEqual([r1, heartbeat(7)]);
    expect(one.received[0]).toEqual([r2, heartbeat(9)]);
  });

  it('of megabytes arrive whole', async () => {
    const { one, two } = await connectedPair();
    const payload = new Uint8Array(5_000_000).map((_, index) => (index * 31) & 255);
    one.send(r2, accept(payload));
    await vi.waitFor(() => expect(two.received.length).toBe(1), 5000);
    const message = two.received[0]?.[1];
    const entry = message?.kind === 'Accept' ? message.entries[0] : undefined;
    expect(entry?.kind === 'command' && Buffer.compare(entry.payload, payload)).toBe(0);
  });

  it('to a peer that is away are dropped and counted, and flow again when it is back', async () => {
    const { one, two, ports } = await connectedPair();
    await two.close();
    await vi.waitFor(() => expect(one.connected()).toEqual([]));
    one.send(r2, heartbeat(1));
    expect(one.counters().dropped).toBe(1);
    const again = await start(r2, ports);
    await vi.waitFor(() => expect(one.connected()).toEqual([r2]), 5000);
    one.send(r2, heartbeat(2));
    await vi.waitFor(() => expect(points(again.received)).toEqual([2]));
  });

  it('beyond the bound of the queue are dropped', async () => {
    const { one, two } = await connectedPair({ limits: { queueBytesMax: 300_000 } });
    const payload = new Uint8Array(100_000);
    for (let count = 0; count < 1000; count += 1) one.send(r2, accept(payload));
    expect(one.counters().dropped).toBeGreaterThan(900);
    await vi.waitFor(() => expect(two.received.length).toBe(one.counters().sent));
  });

  it('larger than a frame may be are not sent', async () => {
    const { one } = await connectedPair({ limits: { frameBytesMax: 10_000 } });
    one.send(r2, accept(new Uint8Array(10_000)));
    expect(one.counters()).toMatchObject({ sent: 0, dropped: 1 });
    expect(one.connected()).toEqual([r2]);
  });
});

describe('admission to the peers port', () => {
  it('needs the cluster secret', async () => {
    const { one } = await connectedPair();
    const { reason, texts } = await proven(
      one.port,
      r2,
      r1,
      (socket) => socket.send(encodeMessage(heartbeat(1))),
      'guess',
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
    await vi.waitFor(() => expect(reasons).toContain('refused: does not know the cluster secret'));
    expect([one.connected(), two.connected()]).toEqual([[], []]);
  });

  it('a listener that does not know the secret gets no message', async () => {
    const { WebSocketServer } = await import('ws');
    const impostor = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    cleanups.push(() => impostor.close());
    await once(impostor, 'listening');
    const frames: boolean[] = [];
    impostor.on('connection', (socket) => {
      socket.on('message', (_data, isBinary) => {
        frames.push(isBinary);
        socket.send(JSON.stringify({ mac: '00' }));
      });
      socket.send(JSON.stringify({ version: 1, nonce: 'n' }));
    });
    const reasons: string[] = [];
    const port = (impostor.address() as { port: number }).port;
    const one = await start(
      r1,
      { r1: 0, r2: port },
      { onPeerChange: (_peer, _up, why) => reasons.push(why) },
    );
    await vi.waitFor(() => expect(reasons).toContain('does not know the cluster secret'));
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
      const stray = { group: 'other' as GroupId, id: r2, secret };
      socket.send(JSON.stringify(answerChallenge(stray, r1, challenge, newNonce())));
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

describe('a malformed frame', () => {
  const bad: [string, Uint8Array][] = [
    ['noise', Buffer.from('c1ffffff', 'hex')],
    ['of another group', encodeMessage({ ...heartbeat(1), group: 'x' as GroupId })],
    ['a negative slot', encodeMessage(heartbeat(-1))],
    ['an unknown kind', encodeMessage({ ...heartbeat(1), kind: 'Vote' } as unknown as Message)],
    ['entries missing', encodeMessage({ ...accept(new Uint8Array(1)), entries: null } as unknown as Message)],
    ['a payload of text', encodeMessage(accept('drop' as unknown as Uint8Array))],
  ];
  it.each(bad)('closes that connection alone: %s', async (_name, frame) => {
    const ports = { r1: await freePort(), r2: await freePort(), r3: await freePort() };
    const one = await start(r1, ports);
    const two = await start(r2, ports);
    await vi.waitFor(() => expect(two.connected()).toEqual([r1]));
    const { reason } = await proven(one.port, r3, r1, (socket) => socket.send(frame));
    expect(reason).toMatch(/^malformed frame: /);
    expect(one.received).toEqual([]);
    two.send(r1, heartbeat(5));
    await vi.waitFor(() => expect(points(one.received)).toEqual([5]));
  });

  it('is not what a failing handler is taken for', async () => {
    const errors: unknown[] = [];
    const { one, two } = await connectedPair({ onHandlerError: (error) => errors.push(error) });
    one.onMessage(() => {
      throw new Error('invariant broken');
    });
    two.send(r1, heartbeat(1));
    await vi.waitFor(() => expect(errors).toEqual([new Error('invariant broken')]));
    expect(two.connected()).toEqual([r1]);
  });
});

describe('faults', () => {
  const fault = { from: r1, to: r2, cut: false, delayMs: 0, drop: 0, duplicate: 0 };

  it('a cut is one-way, and healing ends it', async () => {
    const { one, two } = await connectedPair();
    one.setFault({ ...fault, cut: true });
    expect(one.faults()).toEqual([{ ...fault, cut: true }]);
    one.send(r2, heartbeat(1));
    two.send(r1, heartbeat(2));
    await vi.waitFor(() => expect(points(one.received)).toEqual([2]));
    one.heal();
    one.send(r2, heartbeat(3));
    await vi.waitFor(() => expect(points(two.received)).toEqual([3]));
    expect(one.faults()).toEqual([]);
  });

  it('a delay holds messages back, in order, and a later cut takes them', async () => {
    const { one, two } = await connectedPair();
    one.setFault({ ...fault, delayMs: 200 });
    one.send(r2, heartbeat(1));
    one.send(r2, heartbeat(2));
    await pause(100);
    expect(two.received).toEqual([]);
    await vi.waitFor(() => expect(points(two.received)).toEqual([1, 2]));
    one.send(r2, heartbeat(3));
    one.setFault({ ...fault, cut: true });
    await pause(300);
    expect(points(two.received)).toEqual([1, 2]);
  });

  it('duplicates and drops about as many as asked for', async () => {
    const { one, two } = await connectedPair();
    one.setFault({ ...fault, duplicate: 1 });
    one.send(r2, heartbeat(1));
    await vi.waitFor(() => expect(points(two.received)).toEqual([1, 1]));
    one.setFault({ ...fault, drop: 0.5 });
    for (let count = 0; count < 1000; count += 1) one.send(r2, heartbeat(2));
    one.setFault(fault);
    one.send(r2, heartbeat(3));
    await vi.waitFor(() => expect(points(two.received)).toContain(3));
    expect(points(two.received).filter((point) => point === 2).length).toBeGreaterThan(400);
    expect(points(two.received).filter((point) => point === 2).length).toBeLessThan(600);
  });

  it('can be set only on own links, within bounds, and only where faults are allowed', async () => {
    const { one } = await connectedPair();
    expect(() => one.setFault({ ...fault, from: r2, to: r1 })).toThrow(/not a link of r1/);
    expect(() => one.setFault({ ...fault, drop: 1.5 })).toThrow(/probability/);
    expect(() => one.setFault({ ...fault, delayMs: Number.NaN })).toThrow(/delayMs/);
    const strict = await start(r3, { r3: 0, r1: one.port }, { faultsAllowed: false });
    expect(() => strict.setFault({ ...fault, from: r3, to: r1 })).toThrow(/not allowed/);
  });
});

it('a port in use is an error that names it', async () => {
  const { one } = await connectedPair();
  await expect(start(r3, { r3: one.port })).rejects.toMatchObject({ code: 'EADDRINUSE', port: one.port });
});
