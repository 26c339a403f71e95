/**
 * Judges what a group in memory did from outside: by what clients were told, what standbys showed, and what every database has in the end.
 *
 * Responsible for: noticing whatever must not be, and saying it in one line each. Looks into the replicas for positions only, where that makes a mistake show at once instead of by luck.
 *
 * What must hold: what was acknowledged is there in the end, once; what was said not to be committed is not; a list that anybody read is a beginning of what it is in the end; what was acknowledged before a read of the leader
 * began is in it; every standby has a beginning of one chain; no two leaderships share a timeline, and all replicas agree on what each slot does; a primary is told of chosen WAL only; a directory has what it says.
 */
import type { TraceEvent } from '../../api/events.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import { formatLsn, type Lsn } from '../../wal/lsn.ts';
import { timelineAt } from '../../wal/position.ts';
import type { Transaction, TransactionEnd } from './memory-client.ts';
import type { MemoryGroup } from './memory-group.ts';
import type { MemoryMember } from './memory-member.ts';

interface Read {
  readonly where: string;
  readonly key: string;
  readonly list: readonly string[];
  /** Acknowledgements that came before it began. Null: it may be stale. */
  readonly acknowledgedBefore: number | null;
}

interface Sample {
  readonly where: string;
  readonly commits: number;
  readonly last: string;
}

/** Callbacks that wait in all of a group: more than that is a queue without a bound. */
const waitingMax = 20_000;

export class MemoryJudge {
  readonly faults: string[] = [];
  readonly counts = { done: 0, asked: 0, refused: 0, unknown: 0, reads: 0, standbyReads: 0, leaderships: 0 };
  private readonly ended: { readonly transaction: Transaction; readonly end: TransactionEnd }[] = [];
  private readonly acknowledged: Transaction[] = [];
  private readonly reads: Read[] = [];
  private readonly samples: Sample[] = [];
  private readonly timelines = new Map<number, string>();
  /** The highest position that any replica has said to be chosen. */
  private chosenTo = 0 as Lsn;
  private readonly effects = new Map<Slot, string>();

  get acknowledgements(): number {
    return this.acknowledged.length;
  }

  private fault(what: string): void {
    if (this.faults.length < 50) this.faults.push(what);
  }

  // ------------------------------------------------------------------------------------------- as it happens

  ends(transaction: Transaction, end: TransactionEnd, acknowledgedBefore: number): void {
    this.counts[end.kind] += 1;
    if (end.kind === 'asked' && end.outcome === 'unknown') this.counts.unknown += 1;
    this.ended.push({ transaction, end });
    if (end.kind !== 'done') return;
    this.acknowledged.push(transaction);
    for (const [index, key] of transaction.reads.entries()) {
      this.counts.reads += 1;
      this.reads.push({ where: 'the leader', key, list: end.lists[index]!, acknowledgedBefore });
    }
  }

  standbyRead({ id }: MemoryMember, key: string, list: readonly string[]): void {
    this.counts.standbyReads += 1;
    this.reads.push({ where: `the standby of ${id}`, key, list, acknowledgedBefore: null });
  }

  event({ id }: { readonly id: string }, event: TraceEvent): void {
    if (event.layer !== 'apply') return;
    if (event.name === 'BeginLeadership') {
      const { timeline, leadership, resumes, slot, fork } = event;
      const who = `${leadership.round} of ${leadership.replica}`;
      this.effect(id, slot, `leadership ${who} on ${timeline} at ${fork}`);
      if (resumes) return;
      const before = this.timelines.get(timeline);
      if (before === undefined) this.counts.leaderships += 1;
      if (before !== undefined && before !== who)
        this.fault(`timeline ${timeline} is of ${before} and, says ${id}, of ${who}`);
      this.timelines.set(timeline, who);
    }
    if (event.name === 'Release') this.isChosen(event.position);
    if (event.name === 'Feed') this.isChosen(event.end);
    if (event.name === 'Feed') this.effect(id, event.slot, `WAL ${event.start} ${event.end}`);
  }

  private isChosen(end: number): void {
    if (end > this.chosenTo) this.chosenTo = end as Lsn;
  }

  private effect(id: string, slot: Slot, what: string): void {
    const before = this.effects.get(slot);
    if (before !== undefined && before !== what)
      this.fault(`slot ${slot} is "${what}" for ${id}, and "${before}" for others`);
    this.effects.set(slot, what);
  }

  /** A primary was told that everything below is chosen. */
  reported(member: MemoryMember | undefined, position: Lsn): void {
    const chosen = member?.process?.assembled?.payload.chosenEnd ?? null;
    if (chosen !== null && position > chosen)
      this.fault(`${member!.id} reported ${formatLsn(position)}, and ${formatLsn(chosen)} is chosen`);
  }

  /** To be called now and then. */
  look(group: MemoryGroup): void {
    for (const { process } of group.members) this.isChosen(process?.assembled?.payload.chosenEnd ?? 0);
    for (const member of group.members) {
      const { postgres, id } = member;
      const standby = postgres.run?.standby ?? null;
      if (standby !== null) this.sample(id, postgres.run!.buffers.commits());
      if (standby !== null && standby.replayed > this.chosenTo)
        this.fault(
          `the standby of ${id} has replayed ${formatLsn(standby.replayed)}, and ${formatLsn(this.chosenTo)} is chosen`,
        );
      if (postgres.run === null) this.lookAtDisk(member);
    }
    if (group.time.waiting > waitingMax) this.fault(`${group.time.waiting} callbacks wait`);
  }

  private sample(id: string, commits: readonly string[]): void {
    const last = commits.at(-1);
    if (last !== undefined)
      this.samples.push({ where: `the standby of ${id}`, commits: commits.length, last });
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
    for (const { transaction, end } of this.ended) this.concludeTransaction(transaction, end, lists);
    for (const [key, list] of lists)
      if (new Set(list).size !== list.length) this.fault(`${key} has a value twice`);
    for (const read of this.reads) this.concludeRead(read, lists.get(read.key) ?? []);
    for (const { where, commits, last } of this.samples)
      if (chain[commits - 1] !== last)
        this.fault(`${where} had ${last} as commit ${commits}, which is ${chain[commits - 1]}`);
  }

  private concludeTransaction(
    { writes }: Transaction,
    end: TransactionEnd,
    lists: ReadonlyMap<string, readonly string[]>,
  ): void {
    const there = writes.map(({ key, value }) => lists.get(key)?.includes(value) ?? false);
    const [first] = writes;
    if (first === undefined) return;
    if (new Set(there).size > 1) this.fault(`only a part of ${first.value} is there`);
    const said = end.kind === 'asked' ? end.outcome : end.kind;
    const isCommitted = said === 'done' || said === 'committed';
    if (said !== 'unknown' && there[0] !== isCommitted)
      this.fault(`${first.value} is ${there[0] === true ? '' : 'not '}there, and its client heard: ${said}`);
  }

  private concludeRead({ where, key, list, acknowledgedBefore }: Read, now: readonly string[]): void {
    if (list.some((value, index) => now[index] !== value)) {
      this.fault(
        `${where} showed ${key} as ${list.join(' ').slice(0, 200)}, and it is ${now.join(' ').slice(0, 200)}`,
      );
      return;
    }
    if (acknowledgedBefore === null) return;
    for (const { writes } of this.acknowledged.slice(0, acknowledgedBefore))
      for (const write of writes)
        if (write.key === key && !list.includes(write.value))
          this.fault(`${where} did not show ${write.value} in ${key}, which was acknowledged before`);
  }
}
