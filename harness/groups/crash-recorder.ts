/**
 * Tells what a process that died does not: the flush that its crash let through, and the crash.
 *
 * Responsible for: which records of those that were being written are on the disk, by what the next life of the log begins with. Of a log that was lost, of which nobody will ever read, none of them are.
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import { compareBallots, sameBallot } from '../../server/src/multipaxos/ballot.ts';
import { replicaOf } from '../../server/src/multipaxos/configuration.ts';
import { entryLabel } from '../../server/src/multipaxos/entry.ts';
import type { ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { LogRecord } from '../../server/src/multipaxos/types/records.ts';
import type { CoreSnapshot, CoreTraceEvent } from '../../server/src/multipaxos/types/trace.ts';
import type { MemberWatch } from '../../server/src/replica/testing/member-watch.ts';

type ConsensusEvent = Extract<TraceEvent, { layer: 'consensus' }>;

/** What is on a disk for certain. */
type OnDisk = Pick<CoreSnapshot, 'commitPoint' | 'lastSlot' | 'configuration'>;

const nothing: OnDisk = { commitPoint: 0 as Slot, lastSlot: 0 as Slot, configuration: 0 };

export class CrashRecorder implements MemberWatch {
  /** Of each member: what its log was asked to keep, and has not said to have. */
  private readonly writing = new Map<ReplicaId, (readonly LogRecord[])[]>();
  /** And what it has said to have, of which the core has not heard: a process may die in between. */
  private readonly unheard = new Map<ReplicaId, readonly LogRecord[]>();
  private readonly onDisk = new Map<ReplicaId, OnDisk>();
  /** Of each replica, whatever its incarnation: the last event of its cores. */
  private readonly last = new Map<ReplicaId, ConsensusEvent>();
  /** Of each run: its last event, whatever its layer. */
  private readonly newest = new Map<string, TraceEvent>();

  logOpens(): void {}

  writes(member: ReplicaId, records: readonly LogRecord[]): void {
    const known = this.writing.get(member) ?? [];
    // A log that has no room is asked again.
    if (!known.includes(records)) this.writing.set(member, [...known, records]);
  }

  areDurable(member: ReplicaId, records: readonly LogRecord[]): void {
    const known = this.writing.get(member) ?? [];
    this.writing.set(
      member,
      known.filter((one) => one !== records),
    );
    this.unheard.set(member, [...(this.unheard.get(member) ?? []), ...records]);
  }

  private hears(member: ReplicaId): void {
    for (const record of this.unheard.get(member) ?? []) this.note(member, gained(record));
    this.unheard.delete(member);
  }

  /** What is purged was chosen, whatever the hint on the disk says. */
  letsGo(member: ReplicaId, upTo: Slot): void {
    this.note(member, { commitPoint: upTo });
  }

  sends(): void {}

  private note(member: ReplicaId, more: Partial<OnDisk>): void {
    const { commitPoint, lastSlot, configuration } = this.onDisk.get(member) ?? nothing;
    this.onDisk.set(member, {
      commitPoint: Math.max(commitPoint, more.commitPoint ?? 0) as Slot,
      lastSlot: Math.max(lastSlot, more.commitPoint ?? 0, more.lastSlot ?? 0) as Slot,
      configuration: Math.max(configuration, more.configuration ?? 0),
    });
  }

  /** Of everything that is told, before it is recorded. @returns the end of the life before, if it begins another */
  endBefore(event: TraceEvent): readonly TraceEvent[] {
    const { run, replica, layer } = event;
    this.newest.set(run, event);
    if (layer !== 'consensus') return [];
    const before = this.last.get(replicaOf(replica));
    this.last.set(replicaOf(replica), event);
    if (event.name === 'Fsync') this.hears(replica);
    if (event.name !== 'Restart') return [];
    const ends = before === undefined ? [] : this.ends(before, event);
    this.note(replica, event.state);
    return ends;
  }

  private ends(before: ConsensusEvent, restart: ConsensusEvent): readonly TraceEvent[] {
    const { run, replica, layer } = before;
    const isLost = replica !== restart.replica;
    const survivors = isLost ? [] : this.survivors(restart);
    const state = isLost ? this.lost(before) : restart.state;
    const ends: CoreTraceEvent[] = [{ name: 'Crash', state }];
    if (survivors.length > 0) ends.unshift(flushOf(before, survivors));
    const { seq, atUs } = this.newest.get(run)!;
    const common = { run, replica, atUs, layer };
    return ends.map((end, index) => Object.assign({}, common, { seq: seq + 1 + index }, end));
  }

  private lost({ replica, state }: ConsensusEvent): CoreSnapshot {
    const { durablePromised } = state;
    const promised = { ballot: durablePromised, promised: durablePromised, durablePromised };
    return { role: 'follower', serving: false, ...promised, ...(this.onDisk.get(replica) ?? nothing) };
  }

  /** A log keeps what it was given up to some record. */
  private survivors(restart: ConsensusEvent): readonly LogRecord[] {
    const { replica } = restart;
    const records = [...(this.unheard.get(replica) ?? []), ...(this.writing.get(replica) ?? []).flat()];
    this.unheard.delete(replica);
    this.writing.delete(replica);
    return records.slice(0, records.findLastIndex((record) => isThere(record, restart)) + 1);
  }
}

function gained(record: LogRecord): Partial<OnDisk> {
  switch (record.kind) {
    case 'promise':
    case 'slotPromise':
      return {};
    case 'vote':
    case 'chosen':
      return { lastSlot: record.slot };
    case 'commitPoint':
      return { commitPoint: record.slot };
    case 'base':
      return { commitPoint: record.slot, configuration: record.configuration.version };
    case 'configuration':
      return { configuration: record.configuration.version };
    default:
      return record satisfies never;
  }
}

function isThere(record: LogRecord, { state, votes = [] }: ConsensusEvent): boolean {
  switch (record.kind) {
    case 'promise':
      return compareBallots(state.promised, record.ballot) >= 0;
    case 'vote':
      return votes.some(
        ([slot, ballot]) => slot === record.slot && ballot !== null && sameBallot(ballot, record.ballot),
      );
    case 'chosen':
      return votes.some(
        ([slot, ballot, label]) =>
          slot === record.slot && ballot === null && label === entryLabel(record.entry),
      );
    case 'commitPoint':
    case 'base':
      return state.commitPoint >= record.slot;
    case 'configuration':
      return state.configuration >= record.configuration.version;
    // No log of Multi-Paxos has any.
    case 'slotPromise':
      return false;
    default:
      return record satisfies never;
  }
}

function flushOf({ state }: ConsensusEvent, survivors: readonly LogRecord[]): CoreTraceEvent {
  let { durablePromised } = state;
  const votes: NonNullable<CoreTraceEvent['votes']>[number][] = [];
  let base: Slot | undefined;
  for (const record of survivors) {
    const isBallot = record.kind === 'promise' || record.kind === 'vote';
    if (isBallot && compareBallots(record.ballot, durablePromised) > 0) durablePromised = record.ballot;
    if (record.kind === 'vote') votes.push([record.slot, record.ballot, entryLabel(record.entry)]);
    if (record.kind === 'chosen') votes.push([record.slot, null, entryLabel(record.entry)]);
    if (record.kind === 'base') base = record.slot;
  }
  return {
    name: 'Fsync',
    votes,
    ...(base !== undefined && { base }),
    state: { ...state, durablePromised },
  };
}
