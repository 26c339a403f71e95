/**
 * The log store on segment files, on any file system and without a lock: the composition of its parts, and purging. Where a directory is and who may have it: segment-log.ts.
 *
 * On disk: `segment-NNNNNNNNNN.barista` files (layout.ts), at times `next.tmp` (the next one in the making), and a lock.
 * Guarantees: see ports/log-store.ts. One limit, stated: a bit that flips in the very last group within `sealAfterMs` of its
 * write and just before a crash looks like a torn write, and is cut.
 */
import type { GroupId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../multipaxos/types/records.ts';
import { drawnName } from '../../ports/drawn-name.ts';
import { LogStoreError, type LogStore, type NewLog } from '../../ports/log-store.ts';
import { createEntryReader } from './entry-reader.ts';
import { asLogStoreError } from './errors.ts';
import {
  createGroupWriter,
  headerOf,
  systemIdleTimer,
  type GroupWriter,
  type IdleTimer,
} from './group-writer.ts';
import {
  FRAME_HEADER_BYTES,
  HEADER_BYTES_MAX,
  SEGMENT_BYTES_MAX,
  SEGMENT_BYTES_MIN,
  roundUpToSector,
  segmentOfName,
} from './layout.ts';
import { recordBytes, type StoredRecord } from './record-codec.ts';
import { higherSlot, recoverSegments, type LogState, type RecoveredSegments } from './recover.ts';
import type { SegmentDirectory } from './segment-directory.ts';
import { createSegmentSet, type SegmentSet } from './segment-set.ts';

const DEFAULT_SEGMENT_BYTES = 16 * 1024 * 1024;
const DEFAULT_SEAL_AFTER_MS = 10;
const NOTE_ATTEMPTS = 5;
/** Space comes free by whole segments, and two of them (the current one and the next) hold nothing that can go. */
const SEGMENTS_OF_BOUND = 16;
/** Every segment header holds one. */
const CONFIGURATION_BYTES_MAX = HEADER_BYTES_MAX / 2;

export interface SegmentLogOptions {
  readonly group: GroupId;
  /** Size of a new segment; an append that is larger gets a segment of its own size. */
  readonly segmentBytes?: number;
  /** What the log is held to by purging. Segments are made so small that a purge can go well below it. */
  readonly logBytesMax?: number;
  /** How long the log is idle before its last records are sealed. */
  readonly sealAfterMs?: number;
  /** Default: in the system's time. */
  readonly startIdleTimer?: (ms: number, work: () => void) => IdleTimer;
  /** Tells this log from any other. Default: drawn at random. */
  readonly logId?: string;
}

/** Makes a log where there is none. @throws LogStoreError logExists... */
export async function createSegmentLogOn(
  directory: SegmentDirectory,
  options: SegmentLogOptions,
  newLog: NewLog,
): Promise<LogStore> {
  const segmentBytes = segmentBytesOf(options);
  await guarded('creating the log', async () => {
    if ((await directory.list()).some((name) => segmentOfName(name) !== null)) {
      throw new LogStoreError('logExists', `${directory.path} holds a log already`);
    }
    // A segment gets its name when its header is durable: until then there is no log.
    const segments = createSegmentSet(directory, segmentBytes, []);
    await segments.advance(FRAME_HEADER_BYTES, headerOf(options.group, firstState(newLog, options.logId)));
    await segments.close();
  });
  return openSegmentLogOn(directory, options);
}

/** @throws LogStoreError logMissing, logCorrupt... */
export async function openSegmentLogOn(
  directory: SegmentDirectory,
  options: SegmentLogOptions,
): Promise<LogStore> {
  const segmentBytes = segmentBytesOf(options);
  const found = await guarded('opening the log', () => recoverSegments(directory, options.group));
  const { state, index } = found;
  if (state === null) throw missing(directory.path);
  const segments = createSegmentSet(directory, segmentBytes, found.segments);
  const { group, sealAfterMs = DEFAULT_SEAL_AFTER_MS, startIdleTimer = systemIdleTimer } = options;
  try {
    const writer = createGroupWriter({ group, segments, index, state, sealAfterMs, startIdleTimer });
    // From here on whatever was recovered counts as acknowledged, so damage to it must be told from a torn write.
    if (!state.sealed) await writer.append([]);
    const store = createStore(directory.path, group, segments, writer, state, found);
    const recovered = await recoveredLog(store.entries.slots, state, found);
    await store.finishPurge();
    return { ...store.port, identity: state.identity, recovered };
  } catch (error) {
    await segments.close();
    throw asLogStoreError(error, 'opening the log');
  }
}

export function missing(path: string): LogStoreError {
  return new LogStoreError('logMissing', `there is no log in ${path}`);
}

function segmentBytesOf({ segmentBytes, logBytesMax }: SegmentLogOptions): number {
  const share = Math.min(DEFAULT_SEGMENT_BYTES, (logBytesMax ?? Infinity) / SEGMENTS_OF_BOUND);
  const bytes = roundUpToSector(segmentBytes ?? Math.max(share, SEGMENT_BYTES_MIN));
  if (bytes < SEGMENT_BYTES_MIN || bytes > SEGMENT_BYTES_MAX) {
    throw new RangeError(`segmentBytes must be between ${SEGMENT_BYTES_MIN} and ${SEGMENT_BYTES_MAX}`);
  }
  return bytes;
}

function createStore(
  path: string,
  group: GroupId,
  segments: SegmentSet,
  writer: GroupWriter,
  state: LogState,
  { index }: RecoveredSegments,
) {
  const entries = createEntryReader({ path, group, segments, index });
  let purging = Promise.resolve();
  let closing: Promise<void> | null = null;

  const removable = (upTo: Slot) => {
    const closed = segments.list().slice(0, -1);
    const firstKept = closed.findIndex((segment) => segment.maxSlot > upTo);
    return firstKept === -1 ? closed : closed.slice(0, firstKept);
  };
  const purge = async (upTo: Slot): Promise<void> => {
    const dropped = removable(upTo);
    if (dropped.length === 0) return;
    const through = dropped.reduce((slot, segment) => higherSlot(slot, segment.maxSlot), state.purgedTo);
    // The promise and the commit point need no rewriting: the header of every later segment has them.
    await noted({ kind: 'purged', slot: through });
    index.dropThrough(through);
    await guarded('purging the log', () => segments.drop(dropped));
  };
  const noted = async (record: StoredRecord): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      try {
        await writer.appendNote(record);
        return;
      } catch (error) {
        // An append before it found no space, and all behind that one failed with it. There is room for the note.
        const isFull = error instanceof LogStoreError && error.code === 'logFull';
        if (!isFull || attempt === NOTE_ATTEMPTS) throw error;
      }
    }
  };
  const startPurge = (upTo: Slot): Promise<void> => {
    const mine = purging.then(() => purge(upTo));
    purging = mine.catch(() => undefined);
    return mine;
  };
  const port: Omit<LogStore, 'recovered' | 'identity'> = {
    async append(records: readonly LogRecord[]) {
      checkRecords(records, group);
      await writer.append(records);
      // What is below a base is of no use. If it cannot be removed now, the next purge or opening does it.
      for (const record of records)
        if (record.kind === 'base') startPurge(record.slot).catch(() => undefined);
    },
    async read(fromSlot, toSlot, bytesMax) {
      if (closing !== null) throw new LogStoreError('logClosed', 'the log is closed');
      const found = await guarded('reading the log', () => entries.range(fromSlot, toSlot, bytesMax));
      return found.map((one) => one.entry);
    },
    purge: startPurge,
    stats: () => ({ purgedTo: state.purgedTo, bytes: segments.bytes(), segments: segments.list().length }),
    close() {
      closing ??= (async () => {
        await writer.close();
        await purging;
        await guarded('closing the log', () => segments.close());
      })();
      return closing;
    },
  };
  /** Removes what a purge that a crash cut short has left. */
  const finishPurge = () => segments.drop(removable(state.purgedTo));
  return { port, entries, finishPurge };
}

async function recoveredLog(
  readSlots: (slots: readonly Slot[]) => Promise<RecoveredLog['tail'][number][]>,
  state: LogState,
  { index }: RecoveredSegments,
): Promise<RecoveredLog> {
  // Only what is chosen is ever purged.
  state.commitPoint = higherSlot(state.commitPoint, state.purgedTo);
  const { promised, commitPoint, purgedTo, configuration } = state;
  const tail = await readSlots(index.above(commitPoint));
  const slotPromises = [...state.slotPromises]
    .filter(([slot]) => slot > commitPoint)
    .sort(([a], [b]) => a - b)
    .map(([slot, ballot]) => ({ slot, ballot }));
  state.slotPromises.clear();
  const recovered = { promised, commitPoint, purgedTo, configuration, tail };
  return slotPromises.length === 0 ? recovered : { ...recovered, slotPromises };
}

function firstState({ identity, configuration, base, promised }: NewLog, logId = drawnName(8)): LogState {
  return {
    logId,
    identity,
    promised,
    commitPoint: base,
    purgedTo: base,
    configuration,
    slotPromises: new Map(),
    sequence: 1,
    end: 0,
    sealed: true,
  };
}

function checkRecords(records: readonly LogRecord[], group: GroupId): void {
  for (const record of records) {
    const isEntry = record.kind === 'vote' || record.kind === 'chosen';
    if (isEntry && record.entry.group !== group) {
      throw new RangeError(`an entry of group ${record.entry.group} in the log of group ${group}`);
    }
    if ('slot' in record && !Number.isSafeInteger(record.slot))
      throw new RangeError(`${record.slot} is not a slot`);
    if ('configuration' in record && recordBytes(record) > CONFIGURATION_BYTES_MAX)
      throw new RangeError(`a configuration of ${recordBytes(record)} bytes is too large for the log`);
  }
}

async function guarded<T>(doing: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw asLogStoreError(error, doing);
  }
}
