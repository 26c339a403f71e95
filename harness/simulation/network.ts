/**
 * The simulated network: loses, duplicates, delays, reorders, and is cut in one or both directions of any link.
 *
 * Responsible for: when and whether a message arrives. A message on its way when a link is cut is lost. Links are those of replicas; a
 * message goes to one incarnation, and whoever delivers it drops it if that is no more.
 */
import { replicaOf } from '../../server/src/multipaxos/configuration.ts';
import type { Message } from '../../server/src/multipaxos/types/messages.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { EventQueue } from './event-queue.ts';
import type { NetworkOptions } from './options.ts';
import type { Random } from '../workload/seeded-random.ts';

export class SimulatedNetwork {
  private options: NetworkOptions;
  private readonly queue: EventQueue;
  private readonly random: Random;
  private readonly deliver: (from: ReplicaId, to: ReplicaId, message: Message) => void;
  private readonly cuts = new Set<string>();

  constructor(
    parts: { readonly queue: EventQueue; readonly random: Random; readonly options: NetworkOptions },
    deliver: (from: ReplicaId, to: ReplicaId, message: Message) => void,
  ) {
    this.queue = parts.queue;
    this.random = parts.random;
    this.options = parts.options;
    this.deliver = deliver;
  }

  send(from: ReplicaId, to: ReplicaId, message: Message): void {
    const { loss, duplication } = this.options;
    if (this.random.chance(loss)) return;
    this.transmit(from, to, message);
    if (this.random.chance(duplication)) this.transmit(from, to, message);
  }

  /** For what replicas ask each other beside the protocol: lost and delayed like any message. */
  call(from: ReplicaId, to: ReplicaId, arrive: () => void): void {
    if (this.random.chance(this.options.loss)) return;
    this.queue.after(this.delayMs(), () => {
      if (this.reaches(from, to)) arrive();
    });
  }

  reaches(from: ReplicaId, to: ReplicaId): boolean {
    return this.cuts.size === 0 || !this.cuts.has(`${replicaOf(from)}>${replicaOf(to)}`);
  }

  cut(from: ReplicaId, to: ReplicaId): void {
    this.cuts.add(`${from}>${to}`);
  }

  mend(): void {
    this.cuts.clear();
  }

  /** From now on nothing is lost, duplicated or reordered. */
  behave(): void {
    this.options = { ...this.options, loss: 0, duplication: 0, reordering: 0 };
    this.mend();
  }

  private delayMs(): number {
    const { delayMsMin, delayMsMean, reordering, reorderMsMax } = this.options;
    const delayMs = delayMsMin + this.random.exponential(delayMsMean);
    return this.random.chance(reordering) ? delayMs + this.random.unit() * reorderMsMax : delayMs;
  }

  private transmit(from: ReplicaId, to: ReplicaId, message: Message): void {
    this.queue.after(this.delayMs(), () => {
      if (this.reaches(from, to)) this.deliver(from, to, message);
    });
  }
}
