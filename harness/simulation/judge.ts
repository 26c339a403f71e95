/**
 * The outside judge of a run: sees what every disk, replica, database and client does, and trusts none of them.
 *
 * Responsible for: the rules below, each named. It decides by itself what is chosen (a majority of the voters in force has made its vote durable in
 * one ballot), and never asks the core. Agreement, PromiseKept and ChosenIsDurable are about acceptors and learners; the others
 * about databases and clients.
 */
import { ballotLabel, compareBallots } from '../../server/src/multipaxos/ballot.ts';
import { entryLabel } from '../../server/src/multipaxos/entry.ts';
import { hasMajority } from '../../server/src/multipaxos/quorum.ts';
import type { Vote } from '../../server/src/multipaxos/types/entries.ts';
import type { Configuration } from '../../server/src/multipaxos/types/members.ts';
import type { Message } from '../../server/src/multipaxos/types/messages.ts';
import type { Ballot, EntryLabel, ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { LogRecord } from '../../server/src/multipaxos/types/records.ts';
import { JudgeOfMembers } from './judge-members.ts';
import { RuleBroken } from './rules.ts';

/** What a client operation has to respect: taken when it begins. */
export interface Invocation {
  readonly key: number;
  /** Every operation on the key that has ended took effect at this slot or before. */
  readonly floor: number;
}

export class Judge {
  /** Who votes in which slots, from what was chosen. */
  readonly members: JudgeOfMembers;
  /** Per slot and ballot: who has a durable vote. */
  private readonly votes = new Map<Slot, Map<string, Set<ReplicaId>>>();
  private readonly chosen = new Map<Slot, EntryLabel>();
  private readonly revealed = new Map<ReplicaId, Ballot>();
  private readonly reportedTo = new Map<ReplicaId, Slot>();
  private readonly effectSlots = new Map<EntryLabel, Slot>();
  private readonly acknowledged = new Map<EntryLabel, Slot>();
  private readonly floors: number[];
  readonly counts = { chosen: 0, acknowledgedWrites: 0, reads: 0 };

  constructor(founding: Configuration, keys: number) {
    this.members = new JudgeOfMembers(founding);
    this.floors = Array.from({ length: keys }, () => 0);
  }

  // -------------------------------------------------------------------------------------------------- acceptors

  /** `replica`: the incarnation whose log it is. */
  recordIsDurable(replica: ReplicaId, record: LogRecord): void {
    this.members.recordIsDurable(replica, record);
    if (record.kind !== 'vote') return;
    const promised = this.revealed.get(replica);
    if (promised !== undefined && compareBallots(record.ballot, promised) < 0) {
      throw new RuleBroken(
        'PromiseKept',
        `${replica} voted in ${ballotLabel(record.ballot)} after ${ballotLabel(promised)}`,
      );
    }
    this.countVote(replica, record);
  }

  private countVote(replica: ReplicaId, { slot, ballot, entry }: Vote): void {
    const label = entryLabel(entry);
    let ofSlot = this.votes.get(slot);
    if (ofSlot === undefined) this.votes.set(slot, (ofSlot = new Map()));
    const key = `${ballotLabel(ballot)} ${label}`;
    let voters = ofSlot.get(key);
    if (voters === undefined) ofSlot.set(key, (voters = new Set()));
    voters.add(replica);
    if (!hasMajority(this.members.votersAt(slot), voters)) return;
    const earlier = this.chosen.get(slot);
    if (earlier === undefined) {
      this.chosen.set(slot, label);
      this.counts.chosen += 1;
      if (entry.kind === 'configuration') this.members.chosen(slot, ballot, entry);
    } else if (earlier !== label) {
      throw new RuleBroken('Agreement', `${earlier} and ${label} are chosen in slot ${slot}`);
    }
  }

  messageLeaves(from: ReplicaId, message: Message): void {
    if (message.kind !== 'Promise' && message.kind !== 'Accepted') return;
    const before = this.revealed.get(from);
    if (before === undefined || compareBallots(message.ballot, before) > 0)
      this.revealed.set(from, message.ballot);
  }

  // --------------------------------------------------------------------------------------------------- learners

  processBegins(replica: ReplicaId, reportedTo: Slot): void {
    this.reportedTo.set(replica, reportedTo);
  }

  reports(replica: ReplicaId, slot: Slot, label: EntryLabel, isOnDisk: boolean): void {
    const last = this.reportedTo.get(replica) ?? 0;
    if (slot !== last + 1) throw new RuleBroken('ReportedInOrder', `${replica}: slot ${slot} after ${last}`);
    this.reportedTo.set(replica, slot);
    const chosen = this.chosen.get(slot);
    if (chosen !== label) {
      throw new RuleBroken(
        'OnlyChosenIsReported',
        `${replica}: ${label} in slot ${slot}, where ${chosen ?? 'nothing'} is chosen`,
      );
    }
    if (!isOnDisk)
      throw new RuleBroken('ChosenIsDurable', `${replica}: slot ${slot} is reported, not on its disk`);
  }

  // --------------------------------------------------------------------------------------------------- databases

  /** `effectSlot`: where the proposal took effect in this database. */
  applies(replica: ReplicaId, slot: Slot, label: EntryLabel, effectSlot: Slot | null): void {
    const chosen = this.chosen.get(slot);
    if (chosen !== label)
      throw new RuleBroken('AppliedAlike', `${replica}: ${label} in slot ${slot}, not ${chosen}`);
    if (effectSlot === null) return;
    const elsewhere = this.effectSlots.get(label);
    if (elsewhere === undefined) this.effectSlots.set(label, effectSlot);
    else if (elsewhere !== effectSlot) {
      throw new RuleBroken(
        'AppliedAlike',
        `${replica}: ${label} took effect in slot ${effectSlot}, not ${elsewhere}`,
      );
    }
  }

  // ----------------------------------------------------------------------------------------------------- clients

  begins(key: number): Invocation {
    return { key, floor: this.floors[key]! };
  }

  writeAcknowledged(invocation: Invocation, label: EntryLabel): void {
    const slot = this.effectSlots.get(label);
    if (slot === undefined) throw new RuleBroken('AcknowledgedIsKept', `${label} took effect nowhere`);
    if (slot <= invocation.floor && !this.acknowledged.has(label)) {
      throw new RuleBroken(
        'Linearizable',
        `${label} took effect in slot ${slot}, before what ended at ${invocation.floor}`,
      );
    }
    this.acknowledged.set(label, slot);
    this.raiseFloor(invocation.key, slot);
    this.counts.acknowledgedWrites += 1;
  }

  /** `value` is the label of the write that was read; null for the initial value. */
  readAnswered(invocation: Invocation, value: EntryLabel | null): void {
    const slot = value === null ? 0 : this.effectSlots.get(value);
    if (slot === undefined) throw new RuleBroken('Linearizable', `read ${value}, which took effect nowhere`);
    if (slot < invocation.floor) {
      throw new RuleBroken(
        'Linearizable',
        `read ${value ?? 'the initial value'} of slot ${slot} after an operation at slot ${invocation.floor} had ended`,
      );
    }
    this.raiseFloor(invocation.key, slot);
    this.counts.reads += 1;
  }

  private raiseFloor(key: number, slot: number): void {
    if (slot > this.floors[key]!) this.floors[key] = slot;
  }

  leaseHolders(holders: readonly ReplicaId[]): void {
    if (holders.length > 1) throw new RuleBroken('OneLeaseHolder', `${holders.join(' and ')} hold a lease`);
  }

  /** At the end, for each database: everything acknowledged is there, where it was. */
  databaseAtEnd(replica: ReplicaId, effects: ReadonlyMap<EntryLabel, Slot>): void {
    for (const [label, slot] of this.acknowledged) {
      if (effects.get(label) !== slot) {
        throw new RuleBroken('AcknowledgedIsKept', `${label} of slot ${slot} is missing at ${replica}`);
      }
    }
  }
}
