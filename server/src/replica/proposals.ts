/**
 * The replica's side of agreement: queues transactions, proposes them in groups, and tells each its outcome.
 *
 * Responsible for: proposal ids, group commit of proposals, the parts of large transactions, back-pressure, and what a session is told when
 * leadership is lost. Does not touch PostgreSQL or the network.
 *
 * Invariants: a proposal's promise settles exactly once; the queue holds at most `queueMax` proposals and `queueBytesMax` bytes; the last part of
 * a transaction is proposed only when the earlier ones are chosen; a session is told "unknown" only if the log did not tell the truth in time.
 */
import { ballotNone, compareBallots, higherBallot } from '../multipaxos/ballot.ts';
import { entryLabel, proposalLabel } from '../multipaxos/entry.ts';
import type { ApplyTraceEvent } from '../api/events.ts';
import type { Ballot, Effect, EntryLabel, ProposalId, Slot, SlotEntry } from '../multipaxos/types.ts';
import type { TransactionPayload } from '../apply/effects.ts';
import { encodePayload } from '../apply/payload.ts';
import type { AgreementOutcome } from '../ports/agreement.ts';

interface Pending {
  readonly proposal: ProposalId;
  readonly leadership: Ballot;
  readonly label: EntryLabel;
  readonly payload: Uint8Array;
  readonly harvested: boolean;
  slot: Slot | null;
  readonly settle: (outcome: AgreementOutcome) => void;
}

export interface ProposalsOptions {
  /** Unique to this run of this replica. */
  readonly client: string;
  readonly queueMax: number;
  readonly queueBytesMax: number;
  /** Proposals handed to the core at once. */
  readonly groupMax: number;
  /** After losing leadership: how long to wait for the log to tell what became of a proposal. */
  readonly doubtMs: number;
  readonly propose: (proposals: readonly { proposal: ProposalId; payload: Uint8Array }[]) => void;
  /** True while proposals had better gather. */
  readonly busy: () => boolean;
  readonly onEvent: (event: ApplyTraceEvent) => void;
}

export class Proposals {
  private readonly options: ProposalsOptions;
  private queue: Pending[] = [];
  private queueBytes = 0;
  private readonly inFlight = new Map<EntryLabel, Pending>();
  private readonly bySlot = new Map<Slot, Pending>();
  private nextRequest = 1;
  private scheduled = false;
  /** Null while this replica does not serve. */
  private leadership: Ballot | null = null;
  /** Of the newest leader whose beginning is known to be chosen. */
  private newestStart: Ballot = ballotNone;
  /** The last that was told to be chosen. */
  private passed: Slot | null = null;
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
    const begun: { transaction: string | null } = { transaction: null };
    try {
      for await (const part of parts) {
        const { leadership } = this;
        if (leadership === null || !stillLeading()) {
          return { code: 'notLeader', reason: 'this replica is not the leader any more' };
        }
        const whole = { ...part, leadership, partSlots: part.last ? partSlots : [] };
        const outcome = await this.enqueue(encodePayload(whole), leadership, part.sql);
        if (part.last && outcome.code !== 'overloaded') begun.transaction = null;
        if (part.last || outcome.code === 'overloaded') return outcome;
        // An earlier part in doubt is harmless: without its last part the transaction never takes effect.
        if (outcome.code !== 'chosen') return { code: 'notLeader', reason: outcome.reason };
        partSlots.push(outcome.slot);
        begun.transaction = part.transaction;
      }
      throw new Error('a transaction without a last part');
    } finally {
      if (begun.transaction !== null && stillLeading()) this.abandon(begun.transaction, partSlots.length);
    }
  }

  /**
   * Without an end its parts would keep every replica from purging the log for as long as this leadership lasts. An end that names
   * no parts takes no effect (isGivenUp).
   */
  private abandon(transaction: string, part: number): void {
    const { leadership } = this;
    if (leadership === null) return;
    const end = { transaction, part, last: true, partSlots: [], effects: [], sql: [], leadership };
    void this.push(encodePayload(end), leadership, []);
  }

  private enqueue(
    payload: Uint8Array,
    leadership: Ballot,
    sql: readonly string[],
  ): Promise<AgreementOutcome> {
    const { queueMax, queueBytesMax } = this.options;
    const full = this.queue.length >= queueMax || this.queueBytes + payload.byteLength > queueBytesMax;
    // One that is larger than the bound goes by itself.
    if (full && this.queue.length > 0) {
      const reason = `${this.queue.length} transactions of ${this.queueBytes} bytes wait already`;
      return Promise.resolve({ code: 'overloaded', reason });
    }
    return this.push(payload, leadership, sql);
  }

  /** Something that is no transaction: it has a slot of its own, and no session waits for it. */
  proposeAlone(payload: Uint8Array): Promise<AgreementOutcome> {
    const { leadership } = this;
    if (leadership === null)
      return Promise.resolve({ code: 'notLeader', reason: 'this replica does not lead' });
    return this.push(payload, leadership, null);
  }

  /** `sql` null: it is no transaction. */
  private push(
    payload: Uint8Array,
    leadership: Ballot,
    sql: readonly string[] | null,
  ): Promise<AgreementOutcome> {
    const proposal = { client: this.options.client, request: this.nextRequest++ };
    const label = proposalLabel(proposal);
    if (sql !== null) this.options.onEvent({ name: 'Harvest', label, sql });
    return new Promise((settle) => {
      this.queue.push({ proposal, leadership, label, payload, harvested: sql !== null, slot: null, settle });
      this.queueBytes += payload.byteLength;
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
    if (this.leadership === null || this.queue.length === 0) return;
    const group = this.queue.splice(0, this.options.groupMax);
    for (const pending of group) {
      this.queueBytes -= pending.payload.byteLength;
      this.inFlight.set(pending.label, pending);
    }
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
        this.finish(pending, { code: 'notLeader', reason: 'this replica is not the leader' });
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
    this.queueBytes += pending.payload.byteLength;
  }

  onChosen(entries: readonly SlotEntry[]): void {
    for (const { slot, entry } of entries) {
      // The log went on from a copied database: what lay in between, beginnings of leaders too, is not told any more.
      const leftOut = this.passed !== null && slot !== this.passed + 1;
      if (leftOut && this.leadership === null)
        this.doubt('its outcome lies in a stretch of the log that is gone');
      this.passed = slot;
      if (entry.kind === 'leaderStart') this.begins(entry.ballot);
      const pending = this.bySlot.get(slot);
      if (pending !== undefined) this.finish(pending, this.outcome(pending, slot, entryLabel(entry)));
    }
    if (this.leadership !== null) this.schedule();
  }

  /**
   * Everything below is chosen and told already, and what an older leadership executed takes no effect above (ADR 8): so whatever of it is still
   * in flight has come to nothing, wherever its votes may be.
   */
  private begins(leadership: Ballot): void {
    this.newestStart = higherBallot(this.newestStart, leadership);
    for (const pending of this.inFlight.values()) {
      if (compareBallots(pending.leadership, this.newestStart) >= 0) continue;
      this.finish(pending, { code: 'superseded', reason: 'another leader began before it was chosen' });
    }
  }

  /** A proposal that was chosen behind the beginning of a newer leader takes no effect (see ProposedTransaction). */
  private outcome(pending: Pending, slot: Slot, label: EntryLabel): AgreementOutcome {
    if (label === pending.label && compareBallots(pending.leadership, this.newestStart) >= 0) {
      return { code: 'chosen', slot, label };
    }
    return { code: 'superseded', reason: `slot ${slot} went to another leader's log` };
  }

  private finish(pending: Pending, outcome: AgreementOutcome): void {
    this.inFlight.delete(pending.label);
    if (pending.slot !== null) this.bySlot.delete(pending.slot);
    const { label, harvested } = pending;
    if (harvested && outcome.code !== 'chosen') this.options.onEvent({ name: 'AbortTransaction', label });
    pending.settle(outcome);
  }

  /** Its beginning is chosen, so nothing of an earlier leadership is in doubt any more. */
  startLeading(leadership: Ballot): void {
    this.leadership = leadership;
    if (this.doubtTimer !== null) clearTimeout(this.doubtTimer);
    this.doubtTimer = null;
  }

  /** What waits in the queue was never proposed; of what is in flight the log tells, as soon as another leader begins. */
  stopLeading(reason: string): void {
    this.leadership = null;
    const queued = this.queue;
    this.queue = [];
    this.queueBytes = 0;
    for (const pending of queued) this.finish(pending, { code: 'notLeader', reason });
    if (this.doubtTimer !== null || this.inFlight.size === 0) return;
    this.doubtTimer = setTimeout(() => {
      this.doubtTimer = null;
      if (this.leadership === null) this.doubt(`${reason}; its outcome was not known in time`);
    }, this.options.doubtMs);
  }

  private doubt(reason: string): void {
    for (const pending of this.inFlight.values()) this.finish(pending, { code: 'unknown', reason });
  }

  /** The replica stops: nobody will tell any more. */
  close(): void {
    this.stopLeading('the replica is stopping');
    if (this.doubtTimer !== null) clearTimeout(this.doubtTimer);
    this.doubtTimer = null;
    this.doubt('the replica stopped before its outcome was known');
  }
}
