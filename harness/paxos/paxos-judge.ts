/**
 * Judges a simulated group of single-decree Paxos from outside: by what is on disks, what is said, and what databases execute. It believes no replica.
 *
 * Rules: Agreement (one entry for each slot, decided by votes on a majority of disks), ChosenOnce, OneValuePerBallot, DurableBeforeRevealed, TellsWhatIsChosen,
 * InOrder, PurgeLeavesNobody, Bounded. Progress is judged at the end of a run (paxos-simulation.ts).
 */
import { ballotLabel, compareBallots, sameBallot } from '../../server/src/multipaxos/ballot.ts';
import { entryLabel } from '../../server/src/multipaxos/entry.ts';
import { majority } from '../../server/src/multipaxos/quorum.ts';
import type { Entry, SlotEntry } from '../../server/src/multipaxos/types/entries.ts';
import type { Ballot, ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { PaxosMessage } from '../../server/src/paxos/types/messages.ts';
import type { PaxosDisk, Written } from './paxos-disk.ts';

export interface PaxosFault {
  readonly rule: string;
  readonly detail: string;
}

export class PaxosJudge {
  readonly faults: PaxosFault[] = [];
  /** By slot: the label of what a majority has voted for in one ballot. */
  readonly chosen = new Map<Slot, string>();
  private readonly size: number;
  private readonly votes = new Map<string, { readonly label: string; readonly by: Set<ReplicaId> }>();
  private readonly slotOfLabel = new Map<string, Slot>();
  private readonly proposed = new Map<string, string>();

  constructor(size: number) {
    this.size = size;
  }

  fault(rule: string, detail: string): void {
    this.faults.push({ rule, detail });
  }

  /** Records are durable at `replica`. */
  flushed(replica: ReplicaId, written: readonly Written[]): void {
    for (const item of written) {
      if ('purge' in item) continue;
      for (const record of item.records) {
        if (record.kind === 'vote') this.voted(replica, record.slot, record.ballot, record.entry);
      }
    }
  }

  private voted(replica: ReplicaId, slot: Slot, ballot: Ballot, entry: Entry): void {
    const key = `${slot} ${ballotLabel(ballot)}`;
    const label = entryLabel(entry);
    const vote = this.votes.get(key) ?? { label, by: new Set<ReplicaId>() };
    this.votes.set(key, vote);
    if (vote.label !== label) this.fault('OneValuePerBallot', `${key}: votes for ${vote.label} and ${label}`);
    vote.by.add(replica);
    if (vote.by.size < majority(this.size)) return;
    const before = this.chosen.get(slot);
    if (before !== undefined && before !== label)
      this.fault('Agreement', `slot ${slot}: ${before}, then ${label}`);
    if (before !== undefined) return;
    this.chosen.set(slot, label);
    if (label === 'noop') return;
    const elsewhere = this.slotOfLabel.get(label);
    if (elsewhere !== undefined) this.fault('ChosenOnce', `${label} in slots ${elsewhere} and ${slot}`);
    this.slotOfLabel.set(label, slot);
  }

  hasChosen(label: string): boolean {
    return this.slotOfLabel.has(label);
  }

  said(from: ReplicaId, message: PaxosMessage, disk: PaxosDisk): void {
    if (message.kind === 'SlotAccept') {
      const key = `${message.slot} ${ballotLabel(message.ballot)}`;
      const label = entryLabel(message.entry);
      const before = this.proposed.get(key) ?? label;
      this.proposed.set(key, label);
      if (before !== label)
        this.fault('OneValuePerBallot', `${key}: ${from} proposes ${before} and ${label}`);
    }
    if (message.kind !== 'SlotPromise' && message.kind !== 'SlotAccepted') return;
    const { slot, ballot } = message;
    if (slot <= disk.purgedTo) return;
    const kept = disk.entries.get(slot);
    const isLearnt = kept?.ballot === null;
    const holds =
      message.kind === 'SlotPromise'
        ? compareBallots(disk.promiseOf(slot), ballot) >= 0
        : kept?.ballot != null && compareBallots(kept.ballot, ballot) >= 0;
    if (!holds && !isLearnt)
      this.fault(
        'DurableBeforeRevealed',
        `${from} says ${message.kind} of ${slot} in ${ballotLabel(ballot)}`,
      );
    if (message.kind === 'SlotAccepted' && kept?.ballot != null && sameBallot(kept.ballot, ballot))
      this.voted(from, slot, ballot, kept.entry);
  }

  /** `replica` says that these are chosen; `reported` is the last that it told of in this life. */
  told(replica: ReplicaId, entries: readonly SlotEntry[], reported: Slot): void {
    for (const [i, { slot, entry }] of entries.entries()) {
      if (slot !== reported + 1 + i)
        this.fault('InOrder', `${replica} tells slot ${slot} after ${reported + i}`);
      this.tells(replica, slot, entry);
    }
  }

  tells(replica: ReplicaId, slot: Slot, entry: Entry): void {
    const label = entryLabel(entry);
    const chosen = this.chosen.get(slot);
    if (chosen !== label)
      this.fault('TellsWhatIsChosen', `${replica} tells ${label} in slot ${slot}, chosen is ${chosen}`);
  }

  purges(
    replica: ReplicaId,
    upTo: Slot,
    others: readonly { readonly id: ReplicaId; readonly most: Slot }[],
  ): void {
    for (const { id, most } of others) {
      if (most < upTo)
        this.fault('PurgeLeavesNobody', `${replica} forgets ${upTo}, and ${id} had done ${most} at most`);
    }
  }
}
