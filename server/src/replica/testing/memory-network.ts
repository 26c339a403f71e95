/** Transports that hand messages to each other within one process, for tests of the shell. Links can be cut. */
import type { LinkFault } from '../../api/status.ts';
import { memberName, replicaOf } from '../../multipaxos/configuration.ts';
import type { Message, ReplicaId } from '../../multipaxos/types.ts';
import type { ControlMessage } from '../../ports/control.ts';
import { SnapshotError, type SnapshotFetcher, type SnapshotSource } from '../../ports/snapshot.ts';
import type { Transport } from '../../ports/transport.ts';

interface Station {
  member: ReplicaId;
  message: (from: ReplicaId, message: Message) => void;
  control: (from: ReplicaId, message: ControlMessage) => void;
  copies: SnapshotSource | null;
}

export type MemoryTransport = Transport &
  SnapshotFetcher & { faults(): readonly LinkFault[]; offerSnapshots(source: SnapshotSource): void };

export class MemoryNetwork {
  private readonly stations = new Map<ReplicaId, Station>();
  private readonly isolated = new Set<ReplicaId>();
  /** Whom copies were asked of, in order. */
  readonly fetched: ReplicaId[] = [];

  isolate(replica: ReplicaId): void {
    this.isolated.add(replica);
  }

  heal(): void {
    this.isolated.clear();
  }

  private reach(from: ReplicaId, to: ReplicaId): Station | null {
    if (this.isolated.has(from) || this.isolated.has(to)) return null;
    return this.stations.get(to) ?? null;
  }

  transport(id: ReplicaId): MemoryTransport {
    const here: Station = { member: memberName(id, 0), message: () => {}, control: () => {}, copies: null };
    this.stations.set(id, here);
    const isHere = (): boolean => this.stations.get(id) === here;
    return {
      send: (to, message) => {
        const from = here.member;
        setImmediate(() => {
          const station = isHere() ? this.reach(id, replicaOf(to)) : null;
          if (station?.member === to) station.message(from, message);
        });
      },
      sendControl: (replica, message) => {
        const from = here.member;
        setImmediate(() => {
          if (isHere()) this.reach(id, replica)?.control(from, message);
        });
      },
      onMessage: (handler) => {
        here.message = handler;
      },
      onControl: (handler) => {
        here.control = handler;
      },
      become: (member) => {
        here.member = member;
      },
      setPeers: () => {},
      connected: () =>
        [...this.stations.keys()].filter((other) => other !== id && this.reach(id, other) !== null),
      fetch: (from) => {
        this.fetched.push(from);
        const copies = this.reach(id, from)?.copies ?? null;
        if (copies === null) return Promise.reject(new SnapshotError('sourceUnavailable', 'not there'));
        return copies.open();
      },
      offerSnapshots: (source) => {
        here.copies = source;
      },
      faults: () => [],
      close: () => {
        if (isHere()) this.stations.delete(id);
        return Promise.resolve();
      },
    };
  }
}
