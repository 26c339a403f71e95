/**
 * Judges what a group in simulated time did from outside: by what clients were told, what standbys showed, and what every database has in the end.
 *
 * Responsible for: noticing whatever must not be, and saying it in one line each. Looks into the replicas for positions only, where that makes a mistake show at once instead of by luck.
 *
 * What must hold: transactions on lists are strictly serializable, as far as READ COMMITTED goes (group-history.ts); what was acknowledged is there in the end, once; what was said not to be committed is not; a list that anybody read is a beginning of what it is in the end; what was acknowledged before a read of the leader
 * began is in it, and what any read of a leader, or a linearizable one at a follower, had shown; every standby has a beginning of one chain; no two leaderships share a timeline, and all replicas agree on what each slot does; a primary is told of chosen WAL only; a directory has what it says. What protocol cores must keep is core/core-rule.ts.
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { RequestOutcome } from '../../server/src/ports/client-service.ts';
import { formatLsn, type Lsn } from '../../server/src/wal/lsn.ts';
import { timelineAt } from '../../server/src/wal/position.ts';
import type { Transaction, TransactionEnd } from '../../server/src/replica/testing/memory-client.ts';
import { checkListAppend } from '../checkers/list-append.ts';
import { ArchiveJudge } from './archive-judge.ts';
import { CoreJudge } from './core/core-judge.ts';
import { GroupHistory } from './group-history.ts';
import type { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import { type Append, appendsOf } from './appends.ts';
import { SlotJudge } from './slot-judge.ts';
import { StandbyJudge } from './standby-judge.ts';

/** A transaction that is under way. */
export interface BegunTransaction {
  readonly transaction: Transaction;
  readonly number: number;
  readonly acknowledgedBefore: number;
  /** How many values of each key that it reads a read of a leader, or a linearizable one, had shown. */
  readonly shownBefore: readonly number[];
  readonly call: ReturnType<GroupHistory['begins']>;
}

interface Read {
  readonly where: string;
  readonly key: string;
  readonly list: readonly string[];
  /** Acknowledgements that came before it began. Null: it may be stale. */
  readonly acknowledgedBefore: number | null;
}

/** What clients know of a key: how many acknowledgements there are, and how many of its values somebody was shown. */
export interface Known {
  readonly acknowledged: number;
  readonly shown: number;
}

interface Answer {
  readonly transaction: Transaction;
  readonly said: Exclude<TransactionEnd['kind'], 'asked'> | RequestOutcome['code'];
  readonly who: string;
}

interface Sample {
  readonly where: string;
  readonly commits: number;
  readonly last: string;
}

/** Callbacks that wait in all of a group: more than that is a queue without a bound. */
const waitingMax = 20_000;
/** The shipper's queue, what one read brings beyond it, and the window of the core. */
const unchosenBytesMax = 24 * 1024 * 1024;

export class GroupJudge {
  readonly faults: string[] = [];
  readonly counts = {
    done: 0,
    asked: 0,
    refused: 0,
    unknown: 0,
    askedAgain: 0,
    reads: 0,
    standbyReads: 0,
    /** Linearizable and bounded ones. */
    followerReads: 0,
    /** The longest that a connected majority took to serve. */
    majorityMs: 0,
  };
  private readonly history = new GroupHistory();
  /** Transactions, in the order in which they began. */
  begun = 0;
  /** Of those that were acknowledged the one that began last. */
  lastDone = 0;
  private readonly answers: Answer[] = [];
  private readonly acknowledged: (readonly Append[])[] = [];
  private readonly reads: Read[] = [];
  /** The longest list of each key that was shown to anybody, but for reads at standbys of any age. */
  private readonly shown = new Map<string, number>();
  /** The same, but for bounded ones. */
  private readonly linearized = new Map<string, number>();
  private readonly samples: Sample[] = [];
  readonly slots = new SlotJudge((what) => this.fault(what));
  private readonly standbys = new StandbyJudge((what) => this.fault(what));
  readonly archives = new ArchiveJudge(
    (what) => this.fault(what),
    (timeline) => this.standbys.chosenEnd(timeline),
  );
  readonly core: CoreJudge;

  constructor(machine: (id: ReplicaId) => MemoryMember) {
    this.core = new CoreJudge(machine, (what) => this.fault(what));
  }

  private fault(what: string): void {
    if (this.faults.length < 50) this.faults.push(what);
  }

  // ------------------------------------------------------------------------------------------- as it happens

  event(group: MemoryGroup, member: MemoryMember, event: TraceEvent): void {
    this.slots.event(member, event);
    this.standbys.event(member, event);
    this.core.event(event);
    if (event.layer === 'consensus') this.core.look(group);
  }

  begins(transaction: Transaction, nowMs: number): BegunTransaction {
    this.begun += 1;
    const call = this.history.begins(transaction, nowMs);
    const shownBefore = transaction.reads.map((key) => this.linearized.get(key) ?? 0);
    const { begun: number, acknowledged } = this;
    return { transaction, number, acknowledgedBefore: acknowledged.length, shownBefore, call };
  }

  ends(
    { transaction, number, acknowledgedBefore, shownBefore, call }: BegunTransaction,
    end: TransactionEnd,
    nowMs: number,
  ): void {
    this.counts[end.kind] += 1;
    this.history.ends(call, end, nowMs);
    if (end.kind === 'asked' && end.outcome === 'unknown') this.counts.unknown += 1;
    this.answers.push({
      transaction,
      said: end.kind === 'asked' ? end.outcome : end.kind,
      who: 'its client',
    });
    if (end.kind !== 'done') return;
    this.lastDone = Math.max(this.lastDone, number);
    this.acknowledged.push(appendsOf(transaction));
    for (const [index, key] of transaction.reads.entries()) {
      this.counts.reads += 1;
      const list = end.lists[index]!;
      this.reads.push({ where: 'the leader', key, list, acknowledgedBefore });
      if (list.length < shownBefore[index]!)
        this.fault(
          `a leader's read found ${list.length} values of ${key}, of which ${shownBefore[index]} had been shown`,
        );
      this.show(key, list, true);
    }
  }

  /** Of a key: what clients know now. What is read at a follower from now on must have it. */
  knownOf(key: string): Known {
    return { acknowledged: this.acknowledged.length, shown: this.shown.get(key) ?? 0 };
  }

  /** `known`: when it was asked for, or as long ago as a bounded read may be old. */
  followerRead(
    { id }: MemoryMember,
    key: string,
    list: readonly string[],
    { known, isLinearizable }: { readonly known: Known; readonly isLinearizable: boolean },
  ): void {
    const where = `a follower's read at ${id}`;
    this.counts.followerReads += 1;
    this.reads.push({ where, key, list, acknowledgedBefore: known.acknowledged });
    if (list.length < known.shown)
      this.fault(`${where} found ${list.length} values of ${key}, of which ${known.shown} had been shown`);
    this.show(key, list, isLinearizable);
  }

  private show(key: string, list: readonly string[], isLinearizable: boolean): void {
    for (const shown of isLinearizable ? [this.shown, this.linearized] : [this.shown])
      shown.set(key, Math.max(shown.get(key) ?? 0, list.length));
  }

  standbyRead({ id }: MemoryMember, key: string, list: readonly string[]): void {
    this.counts.standbyReads += 1;
    this.reads.push({ where: `the standby of ${id}`, key, list, acknowledgedBefore: null });
  }

  /** Of one whose COMMIT was not answered, when it is asked after again. */
  told(transaction: Transaction, { id }: MemoryMember, outcome: RequestOutcome['code']): void {
    if (outcome === 'unknown') return;
    this.counts.askedAgain += 1;
    this.answers.push({ transaction, said: outcome, who: `whoever asks ${id}` });
  }

  /** To be called now and then. */
  look(group: MemoryGroup): void {
    this.core.look(group);
    for (const { process } of group.members) this.slots.isChosen(process?.assembled?.payload.chosenEnd ?? 0);
    for (const member of group.members) {
      const { postgres, id } = member;
      const standby = postgres.run?.standby ?? null;
      // Before, its pages are of different moments, and it lets nobody in.
      if (standby !== null && standby.isReady) this.sample(id, postgres.run!.buffers.newestCommit());
      if (standby !== null) this.slots.replayed(id, standby.replayed);
      if (postgres.run === null) this.lookAtDisk(member);
    }
    for (const { process, id } of group.members) {
      const unchosen = process?.assembled?.payload.unchosenBytes ?? 0;
      if (unchosen > unchosenBytesMax) this.fault(`${id} keeps ${unchosen} bytes of WAL that is not chosen`);
    }
    this.standbys.look(group.members);
    this.archives.look(group.members);
    if (group.time.waiting > waitingMax) this.fault(`${group.time.waiting} callbacks wait`);
  }

  private sample(id: string, newest: { readonly count: number; readonly last: string } | null): void {
    if (newest !== null)
      this.samples.push({ where: `the standby of ${id}`, commits: newest.count, last: newest.last });
  }

  /** What its directory says that it has is there after any crash. */
  private lookAtDisk({ id, postgres: { disk } }: MemoryMember): void {
    const { state, control, wal } = disk;
    if (state === null || control === null || state.position.end === 0) return;
    if (state.role.kind === 'copying' || state.role.kind === 'founder') return;
    const last = (state.position.end - 1) as Lsn;
    if (wal.read(last, timelineAt(state.position, last), 1).length === 0)
      this.fault(`the directory of ${id} says that it has ${formatLsn(state.position.end)}, and has not`);
  }

  // --------------------------------------------------------------------------------------------- in the end

  /** Everybody is healthy, nobody writes, and all databases have `lists` and `chain`. */
  conclude(lists: ReadonlyMap<string, readonly string[]>, chain: readonly string[]): void {
    for (const { kind, summary } of checkListAppend(this.history.calls).anomalies)
      this.fault(`${kind}: ${summary}`);
    for (const answer of this.answers) this.concludeAnswer(answer, lists);
    for (const [key, list] of lists)
      if (new Set(list).size !== list.length) this.fault(`${key} has a value twice`);
    for (const read of this.reads) this.concludeRead(read, lists.get(read.key) ?? []);
    for (const { where, commits, last } of this.samples)
      if (chain[commits - 1] !== last)
        this.fault(`${where} had ${last} as commit ${commits}, which is ${chain[commits - 1]}`);
  }

  private concludeAnswer(
    { transaction, said, who }: Answer,
    lists: ReadonlyMap<string, readonly string[]>,
  ): void {
    const writes = appendsOf(transaction);
    const there = writes.map(({ key, value }) => lists.get(key)?.includes(value) ?? false);
    const [first] = writes;
    if (first === undefined) return;
    if (new Set(there).size > 1) this.fault(`only a part of ${first.value} is there`);
    const isCommitted = said === 'done' || said === 'committed';
    if (said !== 'unknown' && there[0] !== isCommitted)
      this.fault(`${first.value} is ${there[0] === true ? '' : 'not '}there, and ${who} heard: ${said}`);
  }

  private concludeRead({ where, key, list, acknowledgedBefore }: Read, now: readonly string[]): void {
    if (list.some((value, index) => now[index] !== value)) {
      this.fault(
        `${where} showed ${key} as ${list.join(' ').slice(0, 200)}, and it is ${now.join(' ').slice(0, 200)}`,
      );
      return;
    }
    if (acknowledgedBefore === null) return;
    for (const writes of this.acknowledged.slice(0, acknowledgedBefore))
      for (const write of writes)
        if (write.key === key && !list.includes(write.value))
          this.fault(`${where} did not show ${write.value} in ${key}, which was acknowledged before`);
  }
}
