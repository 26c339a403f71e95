/**
 * Judges acceptors by their disks and by what they tell, and decides by itself what is chosen: a majority of the voters in force has made its vote durable in one ballot.
 *
 * Never asks a core.
 */
import { ballotLabel, ballotNone, compareBallots } from '../../../server/src/multipaxos/ballot.ts';
import { entryLabel } from '../../../server/src/multipaxos/entry.ts';
import type { Vote } from '../../../server/src/multipaxos/types/entries.ts';
import type { Message } from '../../../server/src/multipaxos/types/messages.ts';
import type { Ballot, EntryLabel, ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../../server/src/multipaxos/types/records.ts';
import type { CoreTraceEvent } from '../../../server/src/multipaxos/types/trace.ts';
import type { CoreFault } from './core-rule.ts';
import { isMajority, type MembersJudge } from './members-judge.ts';

/** The last record of a slot; `ballot` null: it was learnt as chosen. */
interface Kept {
  readonly ballot: Ballot | null;
  readonly label: EntryLabel;
}

/** What is on the disk of one. */
interface Acceptor {
  promised: Ballot;
  /** The highest that it has told of. */
  revealed: Ballot;
  readonly kept: Map<Slot, Kept>;
  /** Everything up to here was looked at. */
  chosenTo: Slot;
}

interface Chosen {
  readonly label: EntryLabel;
  readonly ballot: Ballot;
}

export class AcceptorJudge {
  private readonly fault: CoreFault;
  private readonly members: MembersJudge;
  private readonly acceptors = new Map<ReplicaId, Acceptor>();
  /** Per slot, ballot and entry: who has, or had, a durable vote. */
  private readonly votes = new Map<Slot, Map<string, Set<ReplicaId>>>();
  private readonly chosen = new Map<Slot, Chosen>();
  /** The highest slot in which something is chosen. */
  newestChosen = 0 as Slot;
  /** By the label of its ballot: from where on each candidate wants to be told of votes. */
  private readonly prepared = new Map<string, Slot>();

  constructor(members: MembersJudge, fault: CoreFault) {
    this.members = members;
    this.fault = fault;
  }

  private acceptor(member: ReplicaId): Acceptor {
    const known = this.acceptors.get(member);
    if (known !== undefined) return known;
    const zero = 0 as Slot;
    const acceptor = {
      promised: ballotNone,
      revealed: ballotNone,
      kept: new Map<Slot, Kept>(),
      chosenTo: zero,
    };
    this.acceptors.set(member, acceptor);
    return acceptor;
  }

  // ------------------------------------------------------------------------------------------------------ disks

  /** What the disk has beyond what it said to be durable may have been written just before a crash, and counts from now on. */
  logOpens(member: ReplicaId, recovered: RecoveredLog): void {
    const acceptor = this.acceptor(member);
    const { promised, purgedTo, tail } = recovered;
    if (compareBallots(promised, acceptor.promised) < 0)
      this.fault(
        'RestartKnowsAll',
        `the log of ${member} has forgotten its promise of ${ballotLabel(acceptor.promised)}`,
      );
    acceptor.promised = promised;
    const start = Math.max(recovered.commitPoint, purgedTo) as Slot;
    this.allChosen(member, start);
    const found = new Map(tail.map((item) => [item.slot, item]));
    for (const [slot, { ballot, label }] of acceptor.kept) {
      const item = found.get(slot);
      const isThere =
        item !== undefined && (item.ballot === null || (ballot !== null && !isBelow(item.ballot, ballot)));
      if (slot > start && !isThere)
        this.fault('RestartKnowsAll', `the log of ${member} has forgotten ${label} in slot ${slot}`);
    }
    for (const item of tail) {
      const { ballot } = item;
      const kept = acceptor.kept.get(item.slot);
      const isNews = kept === undefined || nameOf(kept) !== nameOf({ ballot, label: entryLabel(item.entry) });
      if (!isNews) continue;
      if (ballot === null) this.isDurable(member, { kind: 'chosen', slot: item.slot, entry: item.entry });
      else this.isDurable(member, { kind: 'vote', slot: item.slot, ballot, entry: item.entry });
    }
  }

  isDurable(member: ReplicaId, record: LogRecord): void {
    const acceptor = this.acceptor(member);
    switch (record.kind) {
      case 'promise':
        acceptor.promised = higher(acceptor.promised, record.ballot);
        return;
      case 'vote':
        acceptor.promised = higher(acceptor.promised, record.ballot);
        if (isBelow(record.ballot, acceptor.revealed))
          this.fault(
            'PromiseKept',
            `${member} voted in ${ballotLabel(record.ballot)} after ${ballotLabel(acceptor.revealed)}`,
          );
        acceptor.kept.set(record.slot, { ballot: record.ballot, label: entryLabel(record.entry) });
        this.count(member, record);
        return;
      case 'chosen':
        acceptor.kept.set(record.slot, { ballot: null, label: entryLabel(record.entry) });
        this.isChosen(member, record.slot, entryLabel(record.entry));
        return;
      case 'commitPoint':
        this.allChosen(member, record.slot);
        return;
      case 'base':
        this.allChosen(member, record.slot);
        this.purges(acceptor, record.slot);
        return;
      case 'configuration':
      case 'slotPromise':
        return;
      default:
        record satisfies never;
    }
  }

  letsGo(member: ReplicaId, upTo: Slot): void {
    this.purges(this.acceptor(member), upTo);
  }

  private purges({ kept }: Acceptor, upTo: Slot): void {
    for (const slot of kept.keys()) if (slot <= upTo) kept.delete(slot);
  }

  private count(member: ReplicaId, { slot, ballot, entry }: Vote): void {
    const label = entryLabel(entry);
    const ofSlot = this.votes.get(slot) ?? new Map<string, Set<ReplicaId>>();
    this.votes.set(slot, ofSlot);
    const key = nameOf({ ballot, label });
    const voters = ofSlot.get(key) ?? new Set();
    ofSlot.set(key, voters.add(member));
    if (!isMajority(this.members.votersAt(slot), voters)) return;
    const earlier = this.chosen.get(slot);
    if (earlier === undefined) {
      this.chosen.set(slot, { label, ballot });
      if (slot > this.newestChosen) this.newestChosen = slot;
      if (entry.kind === 'configuration') this.members.chosen(slot, ballot, entry);
    } else if (earlier.label !== label)
      this.fault('Agreement', `${earlier.label} and ${label} are chosen in slot ${slot}`);
  }

  // ----------------------------------------------------------------------------------------- what is said of them

  /** `member` takes `label` for chosen in a slot; null: whatever it is. */
  isChosen(member: ReplicaId, slot: Slot, label: EntryLabel | null): void {
    const chosen = this.chosen.get(slot);
    if (chosen !== undefined && (label === null || label === chosen.label)) return;
    this.fault(
      'OnlyChosenIsTaken',
      `${member}: ${label ?? 'anything'} in slot ${slot}, where ${chosen?.label ?? 'nothing'} is chosen`,
    );
  }

  /** `member` says so of everything up to `slot`. */
  allChosen(member: ReplicaId, slot: Slot): void {
    const acceptor = this.acceptor(member);
    while (acceptor.chosenTo < slot) {
      const next = (acceptor.chosenTo + 1) as Slot;
      this.isChosen(member, next, null);
      // One is enough to be told of.
      acceptor.chosenTo = this.chosen.has(next) ? next : slot;
    }
  }

  /** The highest slot that was chosen in a ballot below. */
  chosenBelow(ballot: Ballot): Slot {
    let highest = 0 as Slot;
    for (const [slot, { ballot: chosenIn }] of this.chosen)
      if (slot > highest && isBelow(chosenIn, ballot)) highest = slot;
    return highest;
  }

  /** A core says what it begins with. */
  restarts(member: ReplicaId, { state, votes = [] }: CoreTraceEvent): void {
    const { promised, kept } = this.acceptor(member);
    if (compareBallots(state.promised, promised) !== 0)
      this.fault(
        'RestartKnowsAll',
        `${member} begins with ${ballotLabel(state.promised)}, and its log has ${ballotLabel(promised)}`,
      );
    const known = new Set(votes.map(([slot, ballot, label]) => `${slot} ${nameOf({ ballot, label })}`));
    for (const [slot, item] of kept)
      if (slot > state.commitPoint && !known.has(`${slot} ${nameOf(item)}`))
        this.fault('RestartKnowsAll', `${member} begins without its vote for ${item.label} in slot ${slot}`);
  }

  // --------------------------------------------------------------------------------------------------- messages

  sends(member: ReplicaId, message: Message): void {
    if ('commitPoint' in message) this.allChosen(member, message.commitPoint);
    if (message.kind === 'Prepare') {
      const key = ballotLabel(message.ballot);
      this.prepared.set(key, Math.max(this.prepared.get(key) ?? 0, message.commitPoint) as Slot);
    }
    if (message.kind !== 'Promise' && message.kind !== 'Accepted') return;
    const acceptor = this.acceptor(member);
    acceptor.revealed = higher(acceptor.revealed, message.ballot);
    if (isBelow(acceptor.promised, message.ballot))
      this.fault(
        'RevealedIsDurable',
        `${member} tells its ${message.kind} of ${ballotLabel(message.ballot)}`,
      );
    if (message.kind === 'Promise') this.tellsVotes(member, acceptor, message);
    else this.hasVoted(member, message);
  }

  private hasVoted(
    member: ReplicaId,
    { ballot, firstSlot, lastSlot }: Extract<Message, { kind: 'Accepted' }>,
  ): void {
    const prefix = `${ballotLabel(ballot)} `;
    for (let slot = firstSlot; slot <= lastSlot; slot = (slot + 1) as Slot) {
      const ofSlot = [...(this.votes.get(slot) ?? [])];
      if (!ofSlot.some(([key, voters]) => key.startsWith(prefix) && voters.has(member)))
        this.fault('RevealedIsDurable', `${member} tells its vote of ${prefix}in slot ${slot}`);
    }
  }

  private tellsVotes(
    member: ReplicaId,
    { kept }: Acceptor,
    { ballot, commitPoint, votes }: Extract<Message, { kind: 'Promise' }>,
  ): void {
    const from = Math.max(commitPoint, this.prepared.get(ballotLabel(ballot)) ?? 0);
    const told = new Map(votes.map((vote) => [vote.slot, vote.ballot]));
    for (const [slot, item] of kept) {
      if (slot <= from || item.ballot === null || !isBelow(item.ballot, ballot)) continue;
      const said = told.get(slot);
      if (said === undefined || isBelow(said, item.ballot))
        this.fault(
          'PromiseTellsVotes',
          `${member} promises ${ballotLabel(ballot)} and is silent of ${item.label} in slot ${slot}`,
        );
    }
  }
}

function nameOf({ ballot, label }: Kept): string {
  return `${ballot === null ? 'learnt' : ballotLabel(ballot)} ${label}`;
}

function isBelow(left: Ballot, right: Ballot): boolean {
  return compareBallots(left, right) < 0;
}

function higher(left: Ballot, right: Ballot): Ballot {
  return isBelow(left, right) ? right : left;
}
