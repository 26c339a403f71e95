/**
 * The outside judge of a run: sees what every disk, replica, database and client does, and trusts none of them.
 *
 * Responsible for: the rules below, each named. It decides by itself what is chosen (a majority has made its vote durable in
 * one ballot), and never asks the core. Agreement, PromiseKept and ChosenIsDurable are about acceptors and learners; the others
 * about databases and clients.
 */
import { ballotLabel, compareBallots } from '../../server/src/multipaxos/ballot.ts';
import { entryLabel } from '../../server/src/multipaxos/entry.ts';
import type {
  Ballot,
  EntryLabel,
  LogRecord,
  Message,
  ReplicaId,
  Slot,
} from '../../server/src/multipaxos/types.ts';

export type Rule =
  /** No two entries are chosen in one slot. */
  | 'Agreement'
  /** Only what a majority has made durable in one ballot is taken as chosen. */
  | 'OnlyChosenIsReported'
  /** Each replica reports chosen slots in order, each once in the life of its process. */
  | 'ReportedInOrder'
  /** No replica votes below a promise that it has revealed, not even after a crash. */
  | 'PromiseKept'
  /** What was revealed as voted for, or reported as chosen, is on that replica's disk until it is purged. */
  | 'ChosenIsDurable'
  /** Every database applies the same proposals in the same slots. */
  | 'AppliedAlike'
  /** What a client was told is committed stays. */
  | 'AcknowledgedIsKept'
  /** Reads and writes are linearizable. */
  | 'Linearizable'
  /** No two replicas hold a lease at once. */
  | 'OneLeaseHolder'
  /** Once healed, the group serves, and all replicas become equal. */
  | 'ProgressAfterHeal'
  /** The core itself found a broken invariant, or threw. */
  | 'CoreInvariant';

export class RuleBroken extends Error {
  override readonly name = 'RuleBroken';
  readonly rule: Rule;

  constructor(rule: Rule, detail: string, options?: { cause?: unknown }) {
    super(`${rule}: ${detail}`, options);
    this.rule = rule;
  }
}

/** What a client operation has to respect: taken when it begins. */
export interface Invocation {
  readonly key: number;
  /** Every operation on the key that has ended took effect at this slot or before. */
  readonly floor: number;
}

export class Judge {
  private readonly quorum: number;
  private readonly bits: ReadonlyMap<ReplicaId, number>;
  /** Per slot and ballot: who has a durable vote, a bit each. */
  private readonly votes = new Map<Slot, Map<string, number>>();
  private readonly chosen = new Map<Slot, EntryLabel>();
  private readonly revealed = new Map<ReplicaId, Ballot>();
  private readonly reportedTo = new Map<ReplicaId, Slot>();
  private readonly effectSlots = new Map<EntryLabel, Slot>();
  private readonly acknowledged = new Map<EntryLabel, Slot>();
  private readonly floors: number[];
  readonly counts = { chosen: 0, acknowledgedWrites: 0, reads: 0 };

  constructor(members: readonly ReplicaId[], keys: number) {
    this.quorum = Math.floor(members.length / 2) + 1;
    this.bits = new Map(members.map((member, index) => [member, 1 << index]));
    this.floors = Array.from({ length: keys }, () => 0);
  }

  // -------------------------------------------------------------------------------------------------- acceptors

  recordIsDurable(replica: ReplicaId, record: LogRecord): void {
    if (record.kind !== 'vote') return;
    const promised = this.revealed.get(replica);
    if (promised !== undefined && compareBallots(record.ballot, promised) < 0) {
      throw new RuleBroken(
        'PromiseKept',
        `${replica} voted in ${ballotLabel(record.ballot)} after ${ballotLabel(promised)}`,
      );
    }
    this.countVote(replica, record.slot, record.ballot, entryLabel(record.entry));
  }

  private countVote(replica: ReplicaId, slot: Slot, ballot: Ballot, label: EntryLabel): void {
    let ofSlot = this.votes.get(slot);
    if (ofSlot === undefined) this.votes.set(slot, (ofSlot = new Map()));
    const key = `${ballotLabel(ballot)} ${label}`;
    const voters = (ofSlot.get(key) ?? 0) | this.bits.get(replica)!;
    ofSlot.set(key, voters);
    if (countBits(voters) < this.quorum) return;
    const earlier = this.chosen.get(slot);
    if (earlier === undefined) {
      this.chosen.set(slot, label);
      this.counts.chosen += 1;
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

function countBits(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
