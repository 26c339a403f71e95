/**
 * How a replica reaches its peers: unreliable, unordered, at-most-once-or-more datagrams. The protocol needs no more.
 *
 * Every frame names the incarnations that it comes from and goes to. Invariant: `from` is an incarnation of the replica that proved
 * itself at the other end; a frame for another incarnation than this one is dropped, so nothing that was sent to a lost life reaches the next.
 */
import type { ControlMessage } from './control.ts';
import type { MemberAddress } from '../multipaxos/types/members.ts';
import type { Message } from '../multipaxos/types/messages.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';

export interface Peer {
  readonly replica: ReplicaId;
  readonly address: MemberAddress;
}

/** From this version of the peers' protocol on heartbeats carry notes. Older replicas write none, and pass over those that come. */
export const notesCameWith = 8;

/** From this version on links are asked about (replica/pace). Older replicas close a connection over which that comes. */
export const linksCameWith = 9;

export interface Transport {
  /** Queues a message for an incarnation; drops it if the peer is away or its queue is full. Never throws, never blocks. */
  send(to: ReplicaId, message: Message): void;
  onMessage(handler: (from: ReplicaId, message: Message) => void): void;
  /** For a replica, whatever its incarnation; `from` tells which one sent it. As unreliable as `send`. */
  sendControl(replica: ReplicaId, message: ControlMessage): void;
  onControl(handler: (from: ReplicaId, message: ControlMessage) => void): void;
  /** The host of a peer says that its process is gone: once for each time that it was there. A hint, which may be wrong, or never come. */
  onGone(handler: (replica: ReplicaId) => void): void;
  /** The incarnation that this replica is from now on. Until then it is `<replica>.0`. */
  become(member: ReplicaId, cluster: string): void;
  /** Whom to dial and whom to let in, instead of all before. The replica's own entry is skipped. */
  setPeers(peers: readonly Peer[]): void;
  /** Replicas that are connected now. */
  connected(): readonly ReplicaId[];
  /** The version of the peers' protocol that is spoken with a replica; null: it is not connected. Messages that came with a later one do not reach it. */
  versionOf(replica: ReplicaId): number | null;
  close(): Promise<void>;
}
