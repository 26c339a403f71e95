/**
 * Transports on loopback that know each other, and messages to send between them, for tests.
 *
 * What is started here ends with the test: a test file that uses it says `afterEach(endAll)`.
 */
import { expect } from 'vitest';
import type { Entry } from '../../../multipaxos/types/entries.ts';
import type { Configuration, MemberAddress } from '../../../multipaxos/types/members.ts';
import type { Message } from '../../../multipaxos/types/messages.ts';
import type { GroupId, ReplicaId, Slot } from '../../../multipaxos/types/names.ts';
import type { Peer } from '../../../ports/transport.ts';
import { freePort } from '../../testing/ports.ts';
import { createWsTransport, type WsTransport, type WsTransportOptions } from '../ws-transport.ts';
import { eventually } from '../../../ports/testing/eventually.ts';

export const group = 'main' as GroupId;
export const [r1, r2, r3] = ['r1', 'r2', 'r3'] as ReplicaId[] as [ReplicaId, ReplicaId, ReplicaId];
export const secret = 'a secret of the cluster';
export const cluster = 'c0ffee';
export const ballot = { round: 3, replica: r1 };
export const configuration: Configuration = { version: 1, slot: 0 as Slot, members: [] };

export const addressAt = (port: number): MemberAddress => ({
  host: '127.0.0.1',
  // 0, of a replica that is not reached in that test, is no address.
  port: port === 0 ? 1 : port,
  pgwire: { host: '127.0.0.1', port: 7432 },
});

export const peersOf = (ports: Record<string, number>): Peer[] =>
  Object.entries(ports).map(([replica, port]) => ({
    replica: replica as ReplicaId,
    address: addressAt(port),
  }));

export const heartbeat = (commitPoint: number): Message => ({
  kind: 'Heartbeat',
  group,
  ballot,
  commitPoint: commitPoint as Slot,
  sentAtMs: 1.5,
  globalApplicationPointer: 0 as Slot,
  configuration,
});

export const accept = (payload: Uint8Array): Message => {
  const entry: Entry = { kind: 'command', group, proposal: { client: 'c', request: 1 }, payload };
  const slot = 1 as Slot;
  return { kind: 'Accept', group, ballot, firstSlot: slot, entries: [entry], commitPoint: slot, sentAtMs: 0 };
};

const endings: (() => unknown)[] = [];

/** The last that was started ends first. */
export async function endAll(): Promise<void> {
  for (const end of endings.splice(0).toReversed()) await end();
}

export function onEnd(end: () => unknown): void {
  endings.push(end);
}

type Received = [ReplicaId, Message][];

/** The commit points of the heartbeats that came; -1 for anything else. */
export const points = (received: Received): number[] =>
  received.map(([, message]) => (message.kind === 'Heartbeat' ? message.commitPoint : -1));

export type TestTransport = WsTransport & { readonly received: Received };

/** `joined`: it knows its incarnation and its cluster from the beginning. */
export type StartOptions = Partial<WsTransportOptions> & { readonly joined?: boolean };

/** `ports`: of all replicas, its own among them. */
export async function start(
  id: ReplicaId,
  ports: Record<string, number>,
  { joined = true, ...extra }: StartOptions = {},
): Promise<TestTransport> {
  const transport = await createWsTransport({
    group,
    id,
    secret,
    peers: peersOf(ports),
    listen: { host: '127.0.0.1', port: ports[id] ?? 0 },
    faultsAllowed: true,
    ...extra,
  });
  onEnd(() => transport.close());
  if (joined) transport.become(id, cluster);
  const received: Received = [];
  transport.onMessage((from, message) => received.push([from, message]));
  return Object.assign(transport, { received });
}

interface Pair {
  readonly one: TestTransport;
  readonly two: TestTransport;
  readonly ports: { readonly r1: number; readonly r2: number };
}

/** r1 and r2, which may not have found each other yet. */
export async function pair(extra1: StartOptions = {}, extra2: StartOptions = {}): Promise<Pair> {
  const ports = { r1: await freePort(), r2: await freePort() };
  const one = await start(r1, ports, extra1);
  const two = await start(r2, ports, extra2);
  return { one, two, ports };
}

export async function connectedPair(extra1: StartOptions = {}, extra2: StartOptions = {}): Promise<Pair> {
  const both = await pair(extra1, extra2);
  await eventually(() => {
    expect(both.one.connected()).toEqual([r2]);
    expect(both.two.connected()).toEqual([r1]);
  });
  return both;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
