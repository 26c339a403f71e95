/**
 * The Transport port over WebSockets, with a layer of faults that tests and the demo can set.
 *
 * Responsible for: one listener, one dialled connection to each peer, encoding, and faults on the sending side.
 * Does not retry, order or acknowledge messages: the protocol needs none of it. Invariants: what a peer sent was well-formed and
 * came over a connection that proved to be that peer's; memory held for a peer is bounded; faults can only be set where allowed.
 */
import type { LinkFault } from '../../api/status.ts';
import type { GroupId, Message, ReplicaId } from '../../multipaxos/types.ts';
import type { Transport } from '../../ports/transport.ts';
import { decideFault, faultProblem, healthyLink, isHealthy, seededRandom } from './link-faults.ts';
import { defaultLimits, type TransportLimits } from './limits.ts';
import { decodeMessage, encodeMessage } from './message-codec.ts';
import { type OutgoingLink, openOutgoingLink } from './outgoing-link.ts';
import { openPeerListener } from './peer-listener.ts';

export interface WsTransportOptions {
  readonly group: GroupId;
  readonly id: ReplicaId;
  /** All members or only the others: this replica's own entry is skipped. */
  readonly peers: readonly { readonly id: ReplicaId; readonly host: string; readonly port: number }[];
  readonly listen: { readonly host: string; readonly port: number };
  readonly secret: string;
  readonly faultsAllowed: boolean;
  /** Seed of the faults' random numbers. */
  readonly faultSeed?: number;
  readonly limits?: Partial<TransportLimits>;
  readonly onPeerChange?: (peer: ReplicaId, connected: boolean, reason: string) => void;
  /** Someone was turned away, or a peer's connection was closed for what it sent. */
  readonly onRefused?: (from: string, reason: string) => void;
  /** The handler of messages threw: a broken invariant of the core, so the replica must stop. Rethrown if absent. */
  readonly onHandlerError?: (error: unknown) => void;
}

export interface TransportCounters {
  readonly sent: number;
  readonly received: number;
  /** Peer away, queue full, or message too large; not those that a fault took. */
  readonly dropped: number;
}

export interface WsTransport extends Transport {
  /** @throws RangeError if the fault is not of one of this replica's links, or faults are not allowed */
  setFault(fault: LinkFault): void;
  heal(): void;
  faults(): readonly LinkFault[];
  counters(): TransportCounters;
  /** The port that it listens on; of interest when it was asked for 0. */
  readonly port: number;
}

/** Starts listening and dialling. @throws if it cannot listen (EADDRINUSE and the like) */
export async function createWsTransport(options: WsTransportOptions): Promise<WsTransport> {
  const limits = { ...defaultLimits, ...options.limits };
  const self = { group: options.group, id: options.id, secret: options.secret };
  const peers = options.peers.filter((peer) => peer.id !== options.id);
  const counters = { sent: 0, received: 0, dropped: 0 };
  let handler: ((from: ReplicaId, message: Message) => void) | null = null;

  const receive = (from: ReplicaId, frame: Uint8Array): void => {
    const message = decodeMessage(frame, options.group);
    counters.received += 1;
    try {
      handler?.(from, message);
    } catch (error) {
      // Not the sender's doing: must not be taken for a malformed frame.
      if (options.onHandlerError === undefined) queueMicrotask(() => rethrow(error));
      else options.onHandlerError(error);
    }
  };
  const listener = await openPeerListener({
    self,
    members: new Set(peers.map((peer) => peer.id)),
    listen: options.listen,
    limits,
    onFrame: receive,
    onRefused: (from, reason) => options.onRefused?.(from, reason),
  });
  const links = new Map<ReplicaId, OutgoingLink>(
    peers.map((peer) => [
      peer.id,
      openOutgoingLink({
        self,
        peer,
        limits,
        onChange: (up, reason) => options.onPeerChange?.(peer.id, up, reason),
      }),
    ]),
  );
  const faulty = createFaultLayer(options, limits, (to, frame) => {
    if (links.get(to)?.send(frame) === true) counters.sent += 1;
    else counters.dropped += 1;
  });
  const encode = encodeOnce();

  return {
    port: listener.port,
    send(to, message) {
      const link = links.get(to);
      if (link === undefined || !link.isUp()) {
        counters.dropped += 1;
        return;
      }
      const frame = encode(message);
      if (frame.byteLength > limits.frameBytesMax) counters.dropped += 1;
      else faulty.send(to, frame);
    },
    onMessage(next) {
      handler = next;
    },
    connected: () => [...links.values()].filter((link) => link.isUp()).map((link) => link.peer),
    setFault: faulty.setFault,
    heal: faulty.heal,
    faults: faulty.faults,
    counters: () => ({ ...counters }),
    async close() {
      handler = null;
      faulty.close();
      for (const link of links.values()) link.close();
      await listener.close();
    },
  };
}

function rethrow(error: unknown): never {
  throw error;
}

/** A message that goes to several peers, one call after the other, is encoded once. */
function encodeOnce(): (message: Message) => Uint8Array {
  let last: { readonly message: Message; readonly frame: Uint8Array } | null = null;
  return (message) => {
    if (last?.message !== message) last = { message, frame: encodeMessage(message) };
    return last.frame;
  };
}

interface FaultLayer extends Pick<WsTransport, 'setFault' | 'heal' | 'faults'> {
  send(to: ReplicaId, frame: Uint8Array): void;
  close(): void;
}

function createFaultLayer(
  options: WsTransportOptions,
  limits: TransportLimits,
  deliver: (to: ReplicaId, frame: Uint8Array) => void,
): FaultLayer {
  const faults = new Map<ReplicaId, LinkFault>();
  const delayedBytes = new Map<ReplicaId, number>();
  const timers = new Set<NodeJS.Timeout>();
  const random = seededRandom(options.faultSeed ?? 1);
  const known = new Set(options.peers.map((peer) => peer.id).filter((id) => id !== options.id));

  const delay = (to: ReplicaId, frame: Uint8Array, ms: number): void => {
    const waiting = (delayedBytes.get(to) ?? 0) + frame.byteLength;
    if (waiting > limits.queueBytesMax) return;
    delayedBytes.set(to, waiting);
    const timer = setTimeout(() => {
      timers.delete(timer);
      delayedBytes.set(to, (delayedBytes.get(to) ?? 0) - frame.byteLength);
      // A link that was cut meanwhile takes with it what was on the way.
      if (faults.get(to)?.cut !== true) deliver(to, frame);
    }, ms);
    timers.add(timer);
  };

  return {
    send(to, frame) {
      const fault = faults.get(to);
      if (fault === undefined) return deliver(to, frame);
      for (const ms of decideFault(fault, random)) {
        if (ms === 0) deliver(to, frame);
        else delay(to, frame, ms);
      }
    },
    setFault(fault) {
      if (!options.faultsAllowed) throw new RangeError('faults are not allowed on this replica');
      if (fault.from !== options.id || !known.has(fault.to)) {
        throw new RangeError(`${fault.from} -> ${fault.to} is not a link of ${options.id}`);
      }
      const problem = faultProblem(fault);
      if (problem !== null) throw new RangeError(problem);
      if (isHealthy(fault)) faults.delete(fault.to);
      else faults.set(fault.to, { ...healthyLink(fault.from, fault.to), ...fault });
    },
    heal: () => faults.clear(),
    faults: () => [...faults.values()],
    close() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
