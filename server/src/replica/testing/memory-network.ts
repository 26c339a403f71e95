/** Transports that hand messages to each other within one process, for tests of the shell. Links can be cut. */
import type { LinkFault } from '../../api/status.ts';
import type { Message, ReplicaId } from '../../multipaxos/types.ts';
import type { Transport } from '../../ports/transport.ts';

type Handler = (from: ReplicaId, message: Message) => void;

export class MemoryNetwork {
  private readonly handlers = new Map<ReplicaId, Handler>();
  private readonly isolated = new Set<ReplicaId>();

  isolate(replica: ReplicaId): void {
    this.isolated.add(replica);
  }

  heal(): void {
    this.isolated.clear();
  }

  transport(id: ReplicaId): Transport & { faults(): readonly LinkFault[] } {
    return {
      send: (to, message) => {
        setImmediate(() => {
          if (!this.isolated.has(id) && !this.isolated.has(to)) this.handlers.get(to)?.(id, message);
        });
      },
      onMessage: (handler) => this.handlers.set(id, handler),
      connected: () => [...this.handlers.keys()].filter((other) => other !== id),
      faults: () => [],
      close: () => {
        this.handlers.delete(id);
        return Promise.resolve();
      },
    };
  }
}
