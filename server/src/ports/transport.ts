/** How a replica reaches its peers: unreliable, unordered, at-most-once-or-more datagrams. The protocol needs no more. */
import type { Message, ReplicaId } from '../multipaxos/types.ts';

export interface Transport {
  /** Queues a message; drops it if the peer is away or its queue is full. Never throws, never blocks. */
  send(to: ReplicaId, message: Message): void;
  onMessage(handler: (from: ReplicaId, message: Message) => void): void;
  /** Peers that are connected now. */
  connected(): readonly ReplicaId[];
  close(): Promise<void>;
}
