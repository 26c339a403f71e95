/**
 * The Transport port over WebSockets, and channels for copies over the same port, with a layer of faults that tests and the demo can set.
 *
 * Responsible for: one listener, one dialled connection to each peer, whom a frame is for, and who the peers are. Does not retry, order or
 * acknowledge messages: the protocol needs none of it. Invariants: what a peer sent was well-formed, came over a connection that proved to be
 * that peer's, and was meant for this incarnation; memory held for a peer is bounded; replicas of two clusters never exchange a message.
 */
import type { PeerTraffic } from '../../api/measures.ts';
import type { LinkFault } from '../../api/status.ts';
import { memberName, replicaOf } from '../../multipaxos/configuration.ts';
import type { Message } from '../../multipaxos/types/messages.ts';
import type { GroupId, ReplicaId } from '../../multipaxos/types/names.ts';
import type { ControlMessage } from '../../ports/control.ts';
import { CopyError, type CopyFetcher, type CopySource } from '../../ports/copy.ts';
import type { Peer, Transport } from '../../ports/transport.ts';
import { systemClock } from '../system-clock.ts';
import { createCopyDialler } from './copy-dialler.ts';
import { createCopyServer } from './copy-server.ts';
import { type Envelope, isIncarnationOf } from './envelope.ts';
import { createFaultLayer } from './fault-layer.ts';
import { FrameError } from './fields.ts';
import type { Admitted, Identity } from './handshake.ts';
import { defaultLimits, type TransportLimits } from './limits.ts';
import { decodeFrame, encodeControl, encodeMessage } from './message-codec.ts';
import { type OutgoingLink, openOutgoingLink } from './outgoing-link.ts';
import { openPeerListener } from './peer-listener.ts';
import type { PeerTls } from './peer-tls.ts';
import { isKnownTo, ownVersions, type VersionRange } from './versions.ts';

export interface WsTransportOptions {
  readonly group: GroupId;
  /** The replica, whatever its incarnation. */
  readonly id: ReplicaId;
  /** As for `setPeers`. */
  readonly peers: readonly Peer[];
  readonly listen: { readonly host: string; readonly port: number };
  readonly secret: string;
  /** Null: peers are spoken to without TLS. */
  readonly tls?: PeerTls | null;
  /** Of the peers' protocol, that this replica speaks. Default: what this build does. */
  readonly versions?: VersionRange;
  readonly faultsAllowed: boolean;
  /** Seed of the faults' random numbers. */
  readonly faultSeed?: number;
  readonly limits?: Partial<TransportLimits>;
  readonly onPeerChange?: (peer: ReplicaId, connected: boolean, reason: string) => void;
  /** Someone was turned away, or a peer's connection was closed for what it sent. */
  readonly onRefused?: (from: string, reason: string) => void;
  /** A handler threw: a broken invariant of the core, so the replica must stop. Rethrown if absent. */
  readonly onHandlerError?: (error: unknown) => void;
}

export interface WsTransport extends Transport, CopyFetcher {
  /** @throws RangeError if the fault is not of one of this replica's links, or faults are not allowed */
  setFault(fault: LinkFault): void;
  /** All of them, or none; `heals`: all others are taken off. @throws as `setFault` */
  setFaults(wanted: readonly LinkFault[], heals: boolean): void;
  heal(): void;
  faults(): readonly LinkFault[];
  counters(): PeerTraffic;
  /** From now on peers may copy this replica's database; before, they are told that there is none. */
  offerCopies(source: CopySource): void;
  /** The port that it listens on; of interest when it was asked for 0. */
  readonly port: number;
}

/** Starts listening and dialling. @throws if it cannot listen (EADDRINUSE and the like) */
export async function createWsTransport(options: WsTransportOptions): Promise<WsTransport> {
  const limits = { ...defaultLimits, ...options.limits };
  const { group, id, secret, versions = ownVersions, tls = null } = options;
  let member = memberName(id, 0);
  let cluster: string | null = null;
  const self = (): Identity => ({ group, id, secret, cluster, versions });
  const links = new Map<ReplicaId, OutgoingLink>();
  const counters = { sent: 0, sentBytes: 0, received: 0, dropped: 0, misdirected: 0 };
  const handlers = {
    message: null as ((from: ReplicaId, message: Message) => void) | null,
    control: null as ((from: ReplicaId, message: ControlMessage) => void) | null,
    gone: null as ((replica: ReplicaId) => void) | null,
  };
  const faults = createFaultLayer({
    id,
    allowed: options.faultsAllowed,
    seed: options.faultSeed ?? 1,
    queueBytesMax: limits.queueBytesMax,
    timers: systemClock,
    onChange: () => {
      copies.faultsChanged();
      dialler.faultsChanged();
    },
  });
  const copies = createCopyServer(limits, faults);
  const dialler = createCopyDialler(faults);

  const handle = (from: ReplicaId, frame: ReturnType<typeof decodeFrame>): void => {
    counters.received += 1;
    try {
      if (frame.of === 'control') handlers.control?.(from, frame.message);
      else handlers.message?.(from, frame.message);
    } catch (error) {
      // Not the sender's doing: must not be taken for a malformed frame.
      if (options.onHandlerError === undefined) queueMicrotask(() => rethrow(error));
      else options.onHandlerError(error);
    }
  };
  const receive = (envelope: Envelope, frame: Uint8Array, guest: boolean): void => {
    if (envelope.to !== null && envelope.to !== member) {
      counters.misdirected += 1;
      return;
    }
    const decoded = decodeFrame(frame, group);
    if (decoded.of === 'consensus' && envelope.to === null)
      throw new FrameError('a consensus message to no incarnation');
    // Enough to learn that it was removed; nothing else that it says concerns the members.
    if (guest && decoded.message.kind !== 'PreVote') counters.misdirected += 1;
    else handle(envelope.from, decoded);
  };

  const peersNow = peerTable(options, links, (peer) =>
    openOutgoingLink({
      self,
      peer,
      limits,
      tls,
      onFrame: (envelope, frame) => receive(envelope, frame, false),
      onChange: (up, reason) => options.onPeerChange?.(peer.id, up, reason),
      // Who is cut off hears nothing, not even that.
      onGone: () => {
        if (!faults.isCut(peer.id)) handlers.gone?.(peer.id);
      },
    }),
  );
  const listener = await openPeerListener({
    self,
    members: () => peersNow.names(),
    listen: options.listen,
    limits,
    tls,
    onFrame: (admitted, envelope, frame) => receive(envelope, frame, admitted.guest),
    onCopy: (peer, socket) => copies.serve(peer, socket),
    onRefused: (from, reason) => options.onRefused?.(from, reason),
  });
  peersNow.set(options.peers);
  // Who is of an authority that is believed no more is not spoken to any longer; the others are back in a moment.
  const stopLooking = tls?.certificates.onChange((now, before) => {
    if (now.authority === before.authority) return;
    for (const link of links.values()) link.renew('another authority is believed');
    listener.keepOnly(() => false);
  });

  const versionOf = (replica: ReplicaId): number | null => {
    const link = links.get(replica);
    return link === undefined ? listener.guestVersion(replica) : link.version();
  };
  const deliver = (to: ReplicaId, envelope: Envelope, kind: Kind, frame: Uint8Array): void => {
    const link = links.get(to);
    const version = versionOf(to);
    const knows = version !== null && isKnownTo(version, kind);
    const gone = knows && (link?.send(envelope, frame) ?? listener.sendToGuest(to, envelope, frame));
    if (gone) {
      counters.sent += 1;
      counters.sentBytes += frame.byteLength;
    } else counters.dropped += 1;
  };
  const dispatch = (to: ReplicaId, envelope: Envelope, kind: Kind, frame: Uint8Array | null): void => {
    if (frame === null || frame.byteLength > limits.frameBytesMax) counters.dropped += 1;
    else faults.send(to, frame.byteLength, () => deliver(to, envelope, kind, frame));
  };
  const encode = encodeOnce();

  return {
    port: listener.port,
    send(to, message) {
      const replica = replicaOf(to);
      // Not worth encoding for a peer that is away.
      if (links.get(replica)?.isUp() === false) counters.dropped += 1;
      else dispatch(replica, { from: member, to }, message.kind, encode(message));
    },
    onMessage(next) {
      handlers.message = next;
    },
    sendControl(replica, message) {
      if (links.get(replica)?.isUp() === false) counters.dropped += 1;
      else dispatch(replica, { from: member, to: null }, message.kind, encodeControl(message, group));
    },
    onControl(next) {
      handlers.control = next;
    },
    onGone(next) {
      handlers.gone = next;
    },
    become(next, ofCluster) {
      if (!isIncarnationOf(next, id)) throw new RangeError(`${next} is no incarnation of ${id}`);
      member = next;
      if (cluster === ofCluster) return;
      cluster = ofCluster;
      // Connections with those who may be of another cluster prove themselves anew.
      for (const link of links.values()) link.keepIfOf(ofCluster);
      listener.keepOnly((admitted) => admitted.cluster === ofCluster);
    },
    setPeers(peers) {
      peersNow.set(peers);
      const names = peersNow.names();
      const isCurrent = (admitted: Admitted): boolean => admitted.guest !== names.has(admitted.peer);
      listener.keepOnly(isCurrent);
    },
    connected: () => [...links.values()].filter((link) => link.isUp()).map((link) => link.peer),
    versionOf,
    open(from, signal) {
      const link = links.get(replicaOf(from));
      if (link === undefined || faults.isCut(link.peer)) {
        const why = link === undefined ? 'is no peer' : 'the link is cut';
        return Promise.reject(new CopyError('sourceUnavailable', `${from}: ${why}`));
      }
      const peer = { id: link.peer, host: link.host, port: link.port };
      return dialler.open({ self, peer, limits, tls: link.certificates() }, signal);
    },
    offerCopies: (source) => copies.offer(source),
    setFault: (fault) => faults.setFault(fault),
    setFaults: (wanted, heals) => faults.setFaults(wanted, heals),
    heal: () => faults.heal(),
    faults: () => faults.faults(),
    counters: () => ({ ...counters }),
    async close() {
      handlers.message = null;
      handlers.control = null;
      handlers.gone = null;
      stopLooking?.();
      faults.close();
      dialler.close();
      for (const link of links.values()) link.close();
      await listener.close();
    },
  };
}

type Kind = Message['kind'] | ControlMessage['kind'];

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

type DialledPeer = { readonly id: ReplicaId; readonly host: string; readonly port: number };

/** Keeps `links` to what the peers are: those that stay where they are keep their connection. */
function peerTable(
  { id, onPeerChange }: WsTransportOptions,
  links: Map<ReplicaId, OutgoingLink>,
  open: (peer: DialledPeer) => OutgoingLink,
): { names(): ReadonlySet<string>; set(peers: readonly Peer[]): void } {
  const close = (link: OutgoingLink, reason: string): void => {
    const wasUp = link.isUp();
    links.delete(link.peer);
    link.close();
    if (wasUp) onPeerChange?.(link.peer, false, reason);
  };
  return {
    names: () => new Set(links.keys()),
    set(peers) {
      const others = new Map(
        peers.filter(({ replica }) => replica !== id).map((peer) => [peer.replica, peer]),
      );
      for (const link of links.values()) {
        const peer = others.get(link.peer);
        if (peer === undefined) close(link, 'is no peer any more');
        else if (peer.address.host !== link.host || peer.address.port !== link.port)
          close(link, 'has another address now');
      }
      for (const { replica, address } of others.values()) {
        if (!links.has(replica))
          links.set(replica, open({ id: replica, host: address.host, port: address.port }));
      }
    },
  };
}
