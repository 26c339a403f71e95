/**
 * The log store in memory, for tests, the simulator and the browser: what is "durable" lives in a MemoryDisk, which outlives the store.
 *
 * Invariants kept: those of ports/log-store.ts, with a MemoryDisk in the place of the machine's disk. Knows nothing of Node.
 * A purge forgets exactly what was asked for.
 */
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog, SlotBallot } from '../../multipaxos/types/records.ts';
import { LogStoreError, type LogIdentity, type LogStore, type NewLog } from '../../ports/log-store.ts';

type Kept = RecoveredLog['tail'][number];

/** What survives a crash. Make one with `createMemoryDisk`, a log on it with `createMemoryLog`, then open that as often as needed. */
export interface MemoryDisk {
  readonly group: GroupId;
  /** Null: there is no log on it. */
  log: { readonly identity: LogIdentity; configuration: Configuration } | null;
  promised: Ballot;
  commitPoint: Slot;
  purgedTo: Slot;
  readonly entries: Map<Slot, Kept>;
  readonly slotPromises: Map<Slot, Ballot>;
  locked: boolean;
  /** Records that still fit; an append that needs more fails with logFull. */
  recordsFree: number;
}

export function createMemoryDisk(group: GroupId): MemoryDisk {
  return {
    group,
    log: null,
    promised: { round: 0, replica: '' as ReplicaId },
    commitPoint: 0 as Slot,
    purgedTo: 0 as Slot,
    entries: new Map(),
    slotPromises: new Map(),
    locked: false,
    recordsFree: Number.POSITIVE_INFINITY,
  };
}

/** Forgets the process that had the disk open, as its death would. What was not yet acknowledged is gone. */
export function crashMemoryDisk(disk: MemoryDisk): MemoryDisk {
  const log = disk.log === null ? null : { ...disk.log };
  const slotPromises = new Map(disk.slotPromises);
  const survivor = { ...disk, log, entries: new Map(disk.entries), slotPromises, locked: false };
  disk.recordsFree = 0;
  return survivor;
}

/** Makes a log on a disk that has none, and opens it. @throws LogStoreError logExists, logLocked */
export async function createMemoryLog(
  disk: MemoryDisk,
  { identity, configuration, base, promised }: NewLog,
): Promise<LogStore> {
  refuseIfLocked(disk);
  if (disk.log !== null) throw new LogStoreError('logExists', `group ${disk.group} has a log already`);
  disk.log = { identity, configuration };
  disk.purgedTo = base;
  disk.commitPoint = base;
  disk.promised = promised;
  return openMemoryLog(disk);
}

/** @throws LogStoreError logMissing, logLocked */
export async function openMemoryLog(disk: MemoryDisk): Promise<LogStore> {
  refuseIfLocked(disk);
  const { log } = disk;
  if (log === null) throw new LogStoreError('logMissing', `there is no log of group ${disk.group}`);
  disk.locked = true;
  let closed = false;
  const tail = [...disk.entries.values()].filter((kept) => kept.slot > disk.commitPoint);
  return {
    identity: log.identity,
    recovered: {
      promised: disk.promised,
      commitPoint: disk.commitPoint,
      purgedTo: disk.purgedTo,
      configuration: log.configuration,
      tail: tail.sort((a, b) => a.slot - b.slot),
      ...promisesAbove(disk),
    },
    async append(records) {
      refuseIfClosed(closed);
      const copies = records.map(copyRecord);
      // A turn of the microtask queue stands for the write: nothing is visible before it.
      await Promise.resolve();
      if (copies.length > disk.recordsFree) throw new LogStoreError('logFull', 'no space left in memory');
      disk.recordsFree -= copies.length;
      for (const record of copies) keep(disk, log, record);
    },
    async read(fromSlot, toSlot, bytesMax) {
      refuseIfClosed(closed);
      return readEntries(disk, fromSlot, toSlot, bytesMax);
    },
    async purge(upTo) {
      refuseIfClosed(closed);
      forgetThrough(disk, upTo);
    },
    stats: () => ({ purgedTo: disk.purgedTo, bytes: bytesKept(disk), segments: 1 }),
    async close() {
      if (!closed) disk.locked = false;
      closed = true;
    },
  };
}

function refuseIfClosed(closed: boolean): void {
  if (closed) throw new LogStoreError('logClosed', 'the log is closed');
}

function refuseIfLocked(disk: MemoryDisk): void {
  if (disk.locked) throw new LogStoreError('logLocked', `the log of group ${disk.group} is open already`);
}

function forgetThrough(disk: MemoryDisk, upTo: Slot): void {
  for (const slot of disk.entries.keys()) if (slot <= upTo) disk.entries.delete(slot);
  for (const slot of disk.slotPromises.keys()) if (slot <= upTo) disk.slotPromises.delete(slot);
  disk.purgedTo = higher(disk.purgedTo, upTo);
  disk.commitPoint = higher(disk.commitPoint, upTo);
}

function keep(disk: MemoryDisk, log: NonNullable<MemoryDisk['log']>, record: LogRecord): void {
  switch (record.kind) {
    case 'promise':
      keepPromise(disk, record.ballot);
      return;
    case 'commitPoint':
      disk.commitPoint = higher(disk.commitPoint, record.slot);
      return;
    case 'base':
      forgetThrough(disk, record.slot);
      keepConfiguration(log, record.configuration);
      return;
    case 'configuration':
      keepConfiguration(log, record.configuration);
      return;
    case 'vote':
      keepPromise(disk, record.ballot);
      keepEntry(disk, { slot: record.slot, ballot: record.ballot, entry: record.entry });
      return;
    case 'chosen':
      keepEntry(disk, { slot: record.slot, ballot: null, entry: record.entry });
      return;
    case 'slotPromise':
      keepSlotPromise(disk, record);
  }
}

function keepSlotPromise({ slotPromises, purgedTo }: MemoryDisk, { slot, ballot }: SlotBallot): void {
  const before = slotPromises.get(slot);
  if (slot > purgedTo && (before === undefined || isHigher(ballot, before))) slotPromises.set(slot, ballot);
}

function promisesAbove({ slotPromises, commitPoint }: MemoryDisk): Pick<RecoveredLog, 'slotPromises'> {
  const above = [...slotPromises].filter(([slot]) => slot > commitPoint).sort(([a], [b]) => a - b);
  return above.length === 0 ? {} : { slotPromises: above.map(([slot, ballot]) => ({ slot, ballot })) };
}

function keepPromise(disk: MemoryDisk, ballot: Ballot): void {
  if (isHigher(ballot, disk.promised)) disk.promised = ballot;
}

function keepConfiguration(log: NonNullable<MemoryDisk['log']>, configuration: Configuration): void {
  if (configuration.version >= log.configuration.version) log.configuration = configuration;
}

function keepEntry(disk: MemoryDisk, kept: Kept): void {
  if (kept.slot > disk.purgedTo) disk.entries.set(kept.slot, kept);
}

function readEntries(disk: MemoryDisk, fromSlot: Slot, toSlot: Slot, bytesMax: number): Entry[] {
  const found: Entry[] = [];
  let bytes = 0;
  for (let slot = fromSlot; slot <= toSlot; slot++) {
    const kept = disk.entries.get(slot);
    if (kept === undefined) break;
    bytes += entryBytes(kept.entry);
    if (found.length > 0 && bytes > bytesMax) break;
    found.push(kept.entry);
  }
  return found;
}

function isHigher(a: Ballot, b: Ballot): boolean {
  return a.round === b.round ? a.replica > b.replica : a.round > b.round;
}

function higher(a: Slot, b: Slot): Slot {
  return a > b ? a : b;
}

/** The caller may reuse its buffers once an append has resolved. */
function copyRecord(record: LogRecord): LogRecord {
  if ((record.kind !== 'vote' && record.kind !== 'chosen') || record.entry.kind !== 'command') return record;
  return { ...record, entry: { ...record.entry, payload: record.entry.payload.slice() } };
}

function entryBytes(entry: Entry): number {
  return 32 + (entry.kind === 'command' ? entry.payload.length : 0);
}

function bytesKept(disk: MemoryDisk): number {
  let bytes = 0;
  for (const kept of disk.entries.values()) bytes += entryBytes(kept.entry);
  return bytes;
}
