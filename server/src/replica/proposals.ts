/**
 * The replica's side of agreement: queues transactions, proposes them in groups, and tells each its outcome.
 *
 * Responsible for: proposal ids, group commit of proposals, the parts of large transactions, back-pressure, and what a session is told when
 * leadership is lost. Does not touch PostgreSQL or the network.
 *
 * Invariants: a proposal's promise settles exactly once; the queue holds at most `queueMax` proposals; the last part of
 * a transaction is proposed only when the earlier ones are chosen.
 */
import { entryLabel, proposalLabel } from '../multipaxos/entry.ts';
import type { Effect, EntryLabel, ProposalId, Slot, SlotEntry } from '../multipaxos/types.ts';
import type { TransactionPayload } from '../apply/effects.ts';
import { encodePayload } from '../apply/payload.ts';
import type { AgreementOutcome } from '../ports/agreement.ts';

interface Pending {
  readonly proposal: ProposalId;
  readonly label: EntryLabel;
  readonly payload: Uint8Array;
  slot: Slot | null;
  readonly settle: (outcome: AgreementOutcome) => void;
}

export interface ProposalsOptions {
  /** Unique to this run of this replica. */
  readonly client: string;
  readonly queueMax: number;
  /** Proposals handed to the core at once. */
  readonly groupMax: number;
  /** After losing leadership: how long to wait for the log to tell what became of a proposal. */
  readonly doubtMs: number;
  readonly propose: (proposals: readonly { proposal: ProposalId; payload: Uint8Array }[]) => void;
  /** True while proposals had better gather. */
  readonly busy: () => boolean;
}

export class Proposals {
  private readonly options: ProposalsOptions;
  private queue: Pending[] = [];
  private readonly inFlight = new Map<EntryLabel, Pending>();
  private readonly bySlot = new Map<Slot, Pending>();
  private nextRequest = 1;
  private scheduled = false;
  private leading = false;
  private doubtTimer: NodeJS.Timeout | null = null;

  constructor(options: ProposalsOptions) {
    this.options = options;
  }

  /** Proposes every part in turn. Resolves once the last is chosen or cannot be. */
  async agree(
    parts: AsyncIterable<TransactionPayload>,
    stillLeading: () => boolean,
  ): Promise<AgreementOutcome> {
    const partSlots: Slot[] = [];
    for await (const part of parts) {
      if (!stillLeading()) return { code: 'notLeader', reason: 'this replica is no longer the leader' };
      const outcome = await this.enqueue(encodePayload(part.last ? { ...part, partSlots } : part));
      if (part.last || outcome.code === 'overloaded') return outcome;
      // An earlier part in doubt is harmless: without its last part the transaction never takes effect.
      if (outcome.code !== 'chosen') return { code: 'notLeader', reason: outcome.reason };
      partSlots.push(outcome.slot);
    }
    throw new Error('a transaction without a last part');
  }

  private enqueue(payload: Uint8Array): Promise<AgreementOutcome> {
    if (!this.leading)
      return Promise.resolve({ code: 'notLeader', reason: 'this replica is not the leader' });
    if (this.queue.length >= this.options.queueMax) {
      return Promise.resolve({
        code: 'overloaded',
        reason: `${this.options.queueMax} transactions wait already`,
      });
    }
    const proposal = { client: this.options.client, request: this.nextRequest++ };
    return new Promise((settle) => {
      this.queue.push({ proposal, label: proposalLabel(proposal), payload, slot: null, settle });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.scheduled || this.queue.length === 0) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      if (!this.options.busy()) this.flush();
    });
  }

  /** Hands what waits to the core: called when the log is idle or slots have been chosen. */
  flush(): void {
    if (!this.leading || this.queue.length === 0) return;
    const group = this.queue.splice(0, this.options.groupMax);
    for (const pending of group) this.inFlight.set(pending.label, pending);
    this.options.propose(group.map(({ proposal, payload }) => ({ proposal, payload })));
  }

  onProposal(effect: Extract<Effect, { kind: 'proposed' | 'refused' }>): void {
    const pending = this.inFlight.get(proposalLabel(effect.proposal));
    if (pending === undefined) return;
    if (effect.kind === 'proposed') {
      pending.slot = effect.slot;
      this.bySlot.set(effect.slot, pending);
      return;
    }
    this.inFlight.delete(pending.label);
    switch (effect.code) {
      case 'windowFull':
        this.requeue(pending);
        return;
      case 'notLeader':
        pending.settle({ code: 'notLeader', reason: 'this replica is not the leader' });
        return;
      case 'duplicate':
        throw new Error(`proposal ${pending.label} was made twice`);
      default:
        effect.code satisfies never;
    }
  }

  private requeue(pending: Pending): void {
    const at = this.queue.findIndex(({ proposal }) => proposal.request > pending.proposal.request);
    this.queue.splice(at === -1 ? this.queue.length : at, 0, pending);
  }

  onChosen(entries: readonly SlotEntry[]): void {
    for (const { slot, entry } of entries) {
      const pending = this.bySlot.get(slot);
      if (pending === undefined) continue;
      const label = entryLabel(entry);
      this.finish(
        pending,
        label === pending.label
          ? { code: 'chosen', slot, label }
          : { code: 'superseded', reason: `slot ${slot} went to another proposal after a change of leader` },
      );
    }
    if (this.leading) this.schedule();
  }

  private finish(pending: Pending, outcome: AgreementOutcome): void {
    this.inFlight.delete(pending.label);
    if (pending.slot !== null) this.bySlot.delete(pending.slot);
    pending.settle(outcome);
  }

  startLeading(): void {
    this.leading = true;
  }

  /** What waits in the queue was never proposed; what is in flight stays in doubt for a bounded time. */
  stopLeading(reason: string): void {
    this.leading = false;
    const queued = this.queue;
    this.queue = [];
    for (const pending of queued) pending.settle({ code: 'notLeader', reason });
    if (this.doubtTimer !== null || this.inFlight.size === 0) return;
    this.doubtTimer = setTimeout(() => {
      this.doubtTimer = null;
      if (this.leading) return;
      for (const pending of this.inFlight.values()) {
        this.finish(pending, { code: 'unknown', reason: `${reason}; its outcome was not known in time` });
      }
    }, this.options.doubtMs);
  }
}
