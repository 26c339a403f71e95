import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import type {
  Configuration,
  Entry,
  GroupId,
  MemberAddress,
  Message,
  ReplicaId,
  Slot,
} from '../../multipaxos/types.ts';
import type { JoinRequest } from '../../ports/control.ts';
import type { Peer } from '../../ports/transport.ts';
import { answerChallenge, newNonce, readChallenge } from './handshake.ts';
import { encodeMessage } from './message-codec.ts';
import { createWsTransport, type WsTransport, type WsTransportOptions } from './ws-transport.ts';

const group = 'main' as GroupId;
const [r1, r2, r3] = ['r1', 'r2', 'r3'] as ReplicaId[] as [ReplicaId, ReplicaId, ReplicaId];
const secret = 'a secret of the cluster';
const cluster = 'c0ffee';
const ballot = { round: 3, replica: r1 };
const at = (port: number): MemberAddress => ({
  host: '127.0.0.1',
  // 0, of a replica that is not reached in that test, is no address.
  port: port === 0 ? 1 : port,
  pgwire: { host: '127.0.0.1', port: 7432 },
});
const peersOf = (ports: Record<string, number>): Peer[] =>
  Object.entries(ports).map(([replica, port]) => ({ replica: replica as ReplicaId, address: at(port) }));
const configuration: Configuration = { version: 1, slot: 0 as Slot, members: [] };
const heartbeat = (commitPoint: number): Message => ({
  kind: 'Heartbeat',
  group,
  ballot,
  commitPoint: commitPoint as Slot,
  sentAtMs: 1.5,
  globalApplicationPointer: 0 as Slot,
  configuration,
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
/** `joined`: it knows its incarnation and its cluster from the beginning. */
type Extra = Partial<WsTransportOptions> & { readonly joined?: boolean };

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
  { joined = true, ...extra }: Extra = {},
): Promise<WsTransport & { received: Received }> {
  const transport = await createWsTransport({
    group,
    id,
    secret,
    peers: peersOf(ports),
    listen: { host: '127.0.0.1', port: ports[id] ?? 0 },
    faultsAllowed: true,
    ...extra,
  });
  cleanups.push(() => transport.close());
  if (joined) transport.become(id, cluster);
  const received: Received = [];
  transport.onMessage((from, message) => received.push([from, message]));
  return Object.assign(transport, { received });
}

async function pair(extra1: Extra = {}, extra2: Extra = {}) {
  const ports = { r1: await freePort(), r2: await freePort() };
  const one = await start(r1, ports, extra1);
  const two = await start(r2, ports, extra2);
  return { one, two, ports };
}

async function connectedPair(extra1: Extra = {}, extra2: Extra = {}) {
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
  { known = secret, of = null as string | null } = {},
) {
  let answered = false;
  return stranger(port, (socket, text) => {
    const challenge = readChallenge(text);
    if (answered || challenge === null) return opened(socket);
    answered = true;
    const identity = { group, id, secret: known, cluster: of };
    socket.send(
      JSON.stringify(answerChallenge(identity, { to, purpose: 'messages' }, challenge, newNonce())),
    );
  });
}

/** Sends a frame under an envelope, as a peer does. */
function sendRaw(socket: WebSocket, from: string, to: string | null, frame: Uint8Array): void {
  socket.send(JSON.stringify({ from, to }));
  socket.send(frame);
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
        socket.send(JSON.stringify({ cluster: '', mac: '00' }));
      });
      socket.send(JSON.stringify({ version: 2, nonce: 'n' }));
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
      const stray = { group: 'other' as GroupId, id: r2, secret, cluster: null };
      const question = { to: r1, purpose: 'messages' } as const;
      socket.send(JSON.stringify(answerChallenge(stray, question, challenge, newNonce())));
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
    [
      'a configuration missing',
      encodeMessage({ ...heartbeat(1), configuration: undefined } as unknown as Message),
    ],
    ['a payload of text', encodeMessage(accept('drop' as unknown as Uint8Array))],
  ];
  it.each(bad)('closes that connection alone: %s', async (_name, frame) => {
    const ports = { r1: await freePort(), r2: await freePort(), r3: await freePort() };
    const one = await start(r1, ports);
    const two = await start(r2, ports);
    await vi.waitFor(() => expect(two.connected()).toEqual([r1]));
    const { reason } = await proven(one.port, r3, r1, (socket) => sendRaw(socket, 'r3', 'r1', frame));
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

describe('incarnations', () => {
  const joinRequest: JoinRequest = { kind: 'JoinRequest', replica: r2, nonce: 'n', address: at(7532) };

  it('are named by whom a message is from, and one for another incarnation is dropped and counted', async () => {
    const { one, two } = await connectedPair();
    one.become('r1.3' as ReplicaId, cluster);
    one.send(r2, heartbeat(1));
    await vi.waitFor(() => expect(two.received).toEqual([['r1.3', heartbeat(1)]]));
    two.send(r1, heartbeat(2));
    two.send('r1.2' as ReplicaId, heartbeat(3));
    two.send('r1.3' as ReplicaId, heartbeat(4));
    await vi.waitFor(() => expect(points(one.received)).toEqual([4]));
    expect(one.counters()).toMatchObject({ received: 1, misdirected: 2 });
  });

  it('what was delayed on the way to an earlier life does not reach the next', async () => {
    const { one, two } = await connectedPair();
    one.setFault({ from: r1, to: r2, cut: false, delayMs: 100, drop: 0, duplicate: 0 });
    one.send(r2, heartbeat(1));
    two.become('r2.2' as ReplicaId, cluster);
    await vi.waitFor(() => expect(two.counters().misdirected).toBe(1));
    expect(two.received).toEqual([]);
  });

  it('that are none of the peer that proved itself close the connection', async () => {
    const { one } = await connectedPair();
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
    const { one } = await connectedPair();
    const told = await proven(one.port, r2, r1, (socket) => socket.send(encodeMessage(heartbeat(1))));
    expect(told.reason).toBe('malformed frame: a frame without an envelope');
  });

  it('a consensus message must be for one of them, a control message need not', async () => {
    const { one, two } = await connectedPair({}, { joined: false });
    const asked: unknown[] = [];
    one.onControl((from, message) => asked.push([from, message]));
    two.sendControl(r1, joinRequest);
    await vi.waitFor(() => expect(asked).toEqual([['r2.0', joinRequest]]));
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
    await vi.waitFor(() =>
      expect(reasons.at(-1)).toMatch(/another group of the same name \(cluster decaf, not c0ffee\)/),
    );
    expect([one.connected(), two.connected()]).toEqual([[], []]);
  });

  it('part when one of them learns which it belongs to, also if they were connected before', async () => {
    const { one, two } = await connectedPair({}, { joined: false });
    two.become(r2, 'decaf');
    await vi.waitFor(() => expect([one.connected(), two.connected()]).toEqual([[], []]));
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
    await vi.waitFor(() => expect(one.received).toEqual([['r2.2', heartbeat(5)]]));
  });
});

describe('the peers', () => {
  it('may change: new ones are dialled and let in, at another address too', async () => {
    const { one, two, ports } = await connectedPair();
    const moved = { ...ports, r3: await freePort() };
    const three = await start(r3, moved);
    expect(three.connected()).toEqual([]);
    for (const transport of [one, two]) transport.setPeers(peersOf(moved));
    await vi.waitFor(() => expect(three.connected()).toEqual([r1, r2]), 5000);
    expect([one.connected(), two.connected()].map((names) => names.length)).toEqual([2, 2]);
    await two.close();
    const elsewhere = { ...moved, r2: await freePort() };
    await start(r2, elsewhere);
    for (const transport of [one, three]) transport.setPeers(peersOf(elsewhere));
    await vi.waitFor(
      () =>
        expect([one.connected(), three.connected()]).toEqual([
          [r3, r2],
          [r1, r2],
        ]),
      5000,
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
    await vi.waitFor(() => expect(tellsTwo.slice(-2)).toEqual(['false', 'true']), 5000);
    one.onMessage((from, message) => {
      one.received.push([from, message]);
      one.send(from, { kind: 'PreVoteReply', group, ballot, granted: false, configuration });
    });
    two.send(r1, heartbeat(1));
    two.send(r1, { kind: 'PreVote', group, ballot });
    await vi.waitFor(() =>
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
    expect(() => one.setFault({ ...fault, to: r1 })).toThrow(/not a link of r1/);
    expect(() => one.setFault({ ...fault, drop: 1.5 })).toThrow(/probability/);
    expect(() => one.setFault({ ...fault, delayMs: Number.NaN })).toThrow(/delayMs/);
    const strict = await start(r3, { r3: 0, r1: one.port }, { faultsAllowed: false });
    expect(() => strict.setFault({ ...fault, from: r3, to: r1 })).toThrow(/not allowed/);
  });

  it('wait for a replica that is not a peer yet', async () => {
    const { one } = await connectedPair();
    const waiting = { ...fault, to: 'r9' as ReplicaId, cut: true };
    one.setFault(waiting);
    expect(one.faults()).toEqual([waiting]);
  });
});

it('a port in use is an error that names it', async () => {
  const { one } = await connectedPair();
  await expect(start(r3, { r3: one.port })).rejects.toMatchObject({ code: 'EADDRINUSE', port: one.port });
});
