/**
 * Whom clients are served by, and the gateway's door to agreement (ports/agreement.ts).
 *
 * Responsible for: the generation of this replica's leadership, telling gateways when service changes, and the lease check. Decides
 * nothing about consensus: it is told.
 *
 * Invariant: within one generation the replica was leader without a break; whoever shows an old generation gets nothing.
 */
import type { TransactionPayload } from '../apply/effects.ts';
import type { OrderedApply } from '../apply/ordered-apply.ts';
import type { Ballot, ReplicaId, Slot } from '../multipaxos/types.ts';
import type {
  Agreement,
  AgreementOutcome,
  ProposedMark,
  Service,
  TransactionOutcome,
} from '../ports/agreement.ts';
import type { Proposals } from './proposals.ts';

export interface ServiceOptions {
  readonly id: ReplicaId;
  readonly partBytesMax: number;
  readonly proposals: Proposals;
  readonly pgwireOf: (replica: ReplicaId) => { readonly host: string; readonly port: number } | null;
  /** The core's lease check. */
  readonly coreLeaseHeld: () => boolean;
  readonly commitPoint: () => Slot;
  readonly apply: Pick<OrderedApply, 'clearToCommit' | 'outcomes'>;
  readonly onCommitted: (slot: Slot) => void;
  readonly onCommitFailed: (slot: Slot, reason: string) => void;
  /** A broken invariant: nobody may be answered any more. */
  readonly onFatal: (error: Error) => void;
  readonly leasePollMs: number;
}

export class ReplicaService implements Agreement {
  readonly partBytesMax: number;
  private readonly options: ServiceOptions;
  private generation = 0;
  private leadership: Ballot | null = null;
  private current: Service = { kind: 'nowhere', reason: 'the replica is starting' };
  private readonly listeners = new Set<(service: Service) => void>();

  constructor(options: ServiceOptions) {
    this.options = options;
    this.partBytesMax = options.partBytesMax;
  }

  service(): Service {
    return this.current;
  }

  onServiceChange(listener: (service: Service) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** From now on clients are served here. */
  serveHere(leadership: Ballot): void {
    this.generation++;
    this.leadership = leadership;
    this.options.proposals.startLeading(leadership);
    this.change({ kind: 'here', generation: this.generation });
  }

  /** From now on clients are served by `leader`, if anybody is known. Ends a leadership of this replica. */
  serveElsewhere(leader: ReplicaId | null, reason: string): void {
    if (this.current.kind === 'here') {
      this.generation++;
      this.options.proposals.stopLeading(reason);
    }
    const address = leader === null || leader === this.options.id ? null : this.options.pgwireOf(leader);
    if (leader === null || address === null) this.change({ kind: 'nowhere', reason });
    else this.change({ kind: 'at', leader, ...address });
  }

  private change(service: Service): void {
    const before = this.current;
    this.current = service;
    if (before.kind === 'at' && service.kind === 'at' && before.leader === service.leader) return;
    for (const listener of this.listeners) listener(service);
  }

  private holds(generation: number): boolean {
    return this.current.kind === 'here' && this.generation === generation;
  }

  async agree(parts: AsyncIterable<TransactionPayload>, generation: number): Promise<AgreementOutcome> {
    const outcome = await this.options.proposals.agree(parts, () => this.holds(generation));
    if (outcome.code === 'chosen') await this.clearToCommit(outcome.slot);
    return outcome;
  }

  private clearToCommit(slot: Slot): Promise<void> | null {
    const { apply, onFatal } = this.options;
    try {
      return apply.clearToCommit(slot);
    } catch (error) {
      onFatal(error as Error);
      throw error;
    }
  }

  mark(generation: number): Omit<ProposedMark, 'transaction'> | null {
    const { leadership } = this;
    if (leadership === null || !this.holds(generation)) return null;
    return { leadership, above: this.options.commitPoint() };
  }

  outcomeOf(proposed: ProposedMark, waitMs: number): Promise<TransactionOutcome> {
    return this.options.apply.outcomes.awaitOutcome(proposed, waitMs);
  }

  committed(slot: Slot): void {
    this.options.onCommitted(slot);
  }

  commitFailed(slot: Slot, reason: string): void {
    this.options.onCommitFailed(slot, reason);
  }

  leaseHeld(generation: number): boolean {
    return this.holds(generation) && this.options.coreLeaseHeld();
  }

  async awaitLease(generation: number): Promise<boolean> {
    while (this.holds(generation)) {
      if (this.options.coreLeaseHeld()) return true;
      await new Promise((resolve) => setTimeout(resolve, this.options.leasePollMs));
    }
    return false;
  }
}
