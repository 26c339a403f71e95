/**
 * The log store on segment files: the composition of its parts, and purging.
 *
 * On disk: `segment-NNNNNNNNNN.barista` files (layout.ts), at times `next.tmp` (the next one in the making), and a lock.
 * Guarantees: see ports/log-store.ts. One limit, stated: a bit that flips in the very last group within `sealAfterMs` of its
 * write and just before a crash looks like a torn write, and is cut.
 */
import { randomBytes } from 'node:crypto';
import type { GroupId, LogRecord, RecoveredLog, Slot } from '../../multipaxos/types.ts';
import { LogStoreError, type LogStore } from '../../ports/log-store.ts';
import { lockDirectory } from './directory-lock.ts';
import { createEntryReader } from './entry-reader.ts';
import { asLogStoreError } from './errors.ts';
import { createGroupWriter, type GroupWriter } from './group-writer.ts';
import { FRAME_HEADER_BYTES, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, roundUpToSector } from './layout.ts';
import { NO_BALLOT, higherSlot, recoverSegments, type LogState, type RecoveredSegments } from './recover.ts';
import { nodeSegmentDirectory, type SegmentDirectory } from './segment-file.ts';
import { createSegmentSet, type SegmentSet } from './segment-set.ts';

const DEFAULT_SEGMENT_BYTES = 16 * 1024 * 1024;
const DEFAULT_SEAL_AFTER_MS = 10;

export interface SegmentLogOptions {
  readonly group: GroupId;
  /** Size of a new segment; an append that is larger gets a segment of its own size. */
  readonly segmentBytes?: number;
  /** How long the log is idle before its last records are sealed. */
  readonly sealAfterMs?: number;
}

/** Opens, or makes, the log in `directory`, and locks it. @throws LogStoreError */
export async function openSegmentLog(
  options: SegmentLogOptions & { readonly directory: string },
  openDirectory: (path: string) => Promise<SegmentDirectory> = nodeSegmentDirectory,
): Promise<LogStore> {
  const directory = await openDirectory(options.directory);
  const unlock = await lockDirectory(options.directory);
  try {
    const store = await openSegmentLogOn(directory, options);
    return {
      ...store,
      async close() {
        try {
          await store.close();
        } finally {
          await unlock();
        }
      },
    };
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** As openSegmentLog, on any file system and without a lock. */
export async function openSegmentLogOn(
  directory: SegmentDirectory,
  options: SegmentLogOptions,
): Promise<LogStore> {
  const segmentBytes = roundUpToSector(options.segmentBytes ?? DEFAULT_SEGMENT_BYTES);
  if (segmentBytes < SEGMENT_BYTES_MIN || segmentBytes > SEGMENT_BYTES_MAX) {
    throw new RangeError(`segmentBytes must be between ${SEGMENT_BYTES_MIN} and ${SEGMENT_BYTES_MAX}`);
  }
  const found = await guarded('opening the log', () => recoverSegments(directory, options.group));
  const segments = createSegmentSet(directory, segmentBytes, found.segments);
  const state = found.state ?? emptyState();
  const { index } = found;
  const sealAfterMs = options.sealAfterMs ?? DEFAULT_SEAL_AFTER_MS;
  try {
    if (found.state === null) await makeFirstSegment(segments, state, options.group);
    const writer = createGroupWriter({ group: options.group, segments, index, state, sealAfterMs });
    // From here on whatever was recovered counts as acknowledged, so damage to it must be told from a torn write.
    if (!state.sealed) await writer.append([]);
    const store = createStore(directory.path, options.group, segments, writer, state, found);
    const recovered = await recoveredLog(store.entries.slots, state, found);
    await store.finishPurge();
    return { ...store.port, recovered };
  } catch (error) {
    await segments.close();
    throw asLogStoreError(error, 'opening the log');
  }
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
    await writer.append([{ kind: 'purged', slot: through }]);
    index.dropThrough(through);
    await guarded('purging the log', () => segments.drop(dropped));
  };
  const port: Omit<LogStore, 'recovered'> = {
    async append(records: readonly LogRecord[]) {
      checkRecords(records, group);
      await writer.append(records);
    },
    async read(fromSlot, toSlot, bytesMax) {
      if (closing !== null) throw new LogStoreError('logClosed', 'the log is closed');
      const found = await guarded('reading the log', () => entries.range(fromSlot, toSlot, bytesMax));
      return found.map((one) => one.entry);
    },
    purge(upTo) {
      const mine = purging.then(() => purge(upTo));
      purging = mine.catch(() => undefined);
      return mine;
    },
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
  const { promised, commitPoint, purgedTo } = state;
  return { promised, commitPoint, purgedTo, tail: await readSlots(index.above(commitPoint)) };
}

function emptyState(): LogState {
  return {
    logId: randomBytes(8).toString('hex'),
    promised: NO_BALLOT,
    commitPoint: 0 as Slot,
    purgedTo: 0 as Slot,
    sequence: 1,
    end: 0,
    sealed: true,
  };
}

async function makeFirstSegment(segments: SegmentSet, state: LogState, group: GroupId): Promise<void> {
  const { logId, promised, commitPoint, purgedTo, sequence } = state;
  const header = { logId, group, firstSequence: sequence, promised, commitPoint, purgedTo };
  state.end = await segments.advance(FRAME_HEADER_BYTES, header);
}

function checkRecords(records: readonly LogRecord[], group: GroupId): void {
  for (const record of records) {
    const isEntry = record.kind === 'vote' || record.kind === 'chosen';
    if (isEntry && record.entry.group !== group) {
      throw new RangeError(`an entry of group ${record.entry.group} in the log of group ${group}`);
    }
    if ('slot' in record && !Number.isSafeInteger(record.slot))
      throw new RangeError(`${record.slot} is not a slot`);
  }
}

async function guarded<T>(doing: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw asLogStoreError(error, doing);
  }
}
