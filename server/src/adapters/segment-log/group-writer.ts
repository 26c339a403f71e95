/**
 * Group commit: an append to an idle log is written at once, and those that come meanwhile are gathered into the next frame. A frame is one write.
 *
 * Invariants kept:
 * - At most one write is in flight, so of all frames only the last can be torn (segment-scan.ts builds on it).
 * - Appends become durable, and visible in the index, in the order of the calls. If one fails, all that wait behind it fail too.
 * - After an error that leaves open what reached the disk, nothing is written any more: opening the log anew tells.
 */
import { LogStoreError } from '../../ports/log-store.ts';
import { asLogStoreError, isFull } from './errors.ts';
import {
  FRAME_HEADER_BYTES,
  SECTOR_BYTES,
  roundUpToSector,
  writeFrameHeader,
  type SegmentHeader,
} from './layout.ts';
import { encodeRecord, recordBytes, type StoredRecord } from './record-codec.ts';
import { higherSlot, rememberRecord, type LogState } from './recover.ts';
import { writeZeros, type Segment, type SegmentSet } from './segment-set.ts';
import type { SlotIndex } from './slot-index.ts';
import type { GroupId } from '../../multipaxos/types/names.ts';

/** What one write takes at most, unless a single append is larger. */
const GROUP_BYTES_MAX = 4 * 1024 * 1024;
/** Kept free at the end of each segment, for the notes of purges. */
const NOTES_BYTES = 2 * SECTOR_BYTES;

interface Waiting {
  readonly records: readonly StoredRecord[];
  readonly bytes: number;
  /** It may use the reserve, and so goes into a frame of its own. */
  readonly isNote: boolean;
  readonly resolve: () => void;
  readonly reject: (error: LogStoreError) => void;
}

interface Unfinished {
  readonly segment: Segment;
  readonly from: number;
  readonly to: number;
}

export interface GroupWriter {
  /** Without records: resolves when all earlier appends are durable. @throws LogStoreError */
  readonly append: (records: readonly StoredRecord[]) => Promise<void>;
  /** A small record without which no space can come free: there is room for it in the current segment though the disk is full. */
  readonly appendNote: (record: StoredRecord) => Promise<void>;
  /** Writes what waits and a seal, then refuses further appends. */
  readonly close: () => Promise<void>;
}

/** Calls once when it was not refreshed for a while. */
export interface IdleTimer {
  refresh(): void;
  stop(): void;
}

export interface GroupWriterOptions {
  readonly group: GroupId;
  readonly segments: SegmentSet;
  readonly index: SlotIndex;
  readonly state: LogState;
  /** How long the log must have been idle before a seal is written. */
  readonly sealAfterMs: number;
  readonly startIdleTimer: (ms: number, work: () => void) => IdleTimer;
}

/** In the time of the system. Keeps no process alive. */
export function systemIdleTimer(ms: number, work: () => void): IdleTimer {
  const timer = setTimeout(work, ms).unref();
  return { refresh: () => void timer.refresh(), stop: () => clearTimeout(timer) };
}

export function createGroupWriter(options: GroupWriterOptions): GroupWriter {
  const { segments, state } = options;
  const waiting: Waiting[] = [];
  let running: Promise<void> | null = null;
  let failed: LogStoreError | null = null;
  let closed = false;
  let unfinished: Unfinished | null = null;
  let buffer = Buffer.alloc(256 * 1024);

  const sealTimer = options.startIdleTimer(options.sealAfterMs, () => {
    // A seal that cannot be written leaves things as they were: the next append will meet the same error and report it.
    if (running === null && !state.sealed && failed === null) append([]).catch(() => undefined);
  });

  const enqueue = (records: readonly StoredRecord[], isNote: boolean): Promise<void> => {
    if (closed) return Promise.reject(new LogStoreError('logClosed', 'the log is closed'));
    if (failed !== null) return Promise.reject(failed);
    const bytes = records.reduce((sum, record) => sum + recordBytes(record), 0);
    return new Promise((resolve, reject) => {
      waiting.push({ records, bytes, isNote, resolve, reject });
      if (running === null) start();
    });
  };
  const append = (records: readonly StoredRecord[]): Promise<void> => enqueue(records, false);

  /** The write is under way when this returns: whatever else this turn of the event loop does, such as sending to others, goes on beside it. */
  const start = (): void => {
    const mine = run().then(() => {
      if (running !== mine) return;
      running = null;
      // Came between the last look and now.
      if (waiting.length > 0) start();
      else if (!closed) sealTimer.refresh();
    });
    running = mine;
  };

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = takeBatch(waiting);
      try {
        await writeFrame(
          batch.flatMap((one) => one.records),
          batch[0]?.isNote === true,
        );
        for (const one of batch) one.resolve();
      } catch (error) {
        const failure = asLogStoreError(error, 'appending to the log');
        if (failure.code === 'logFailed') failed = failure;
        for (const one of [...batch, ...waiting.splice(0)]) one.reject(failure);
      }
    }
  };

  const writeFrame = async (records: readonly StoredRecord[], isNote: boolean): Promise<void> => {
    if (records.length === 0 && state.sealed) return;
    if (unfinished !== null) await erase(unfinished);
    const payloadBytes = records.reduce((sum, record) => sum + recordBytes(record), 0);
    const frameBytes = roundUpToSector(FRAME_HEADER_BYTES + payloadBytes);
    const reserved = isNote ? 0 : NOTES_BYTES;
    if (state.end + frameBytes + reserved > segments.current().bytes)
      await startSegment(frameBytes + NOTES_BYTES);
    const segment = segments.current();
    const from = state.end;
    const { frame, offsets } = encodeFrame(records, payloadBytes, frameBytes, segment);
    try {
      await segment.file.write(frame, from);
    } catch (error) {
      if (isFull(error)) unfinished = { segment, from, to: from + frameBytes };
      throw error;
    }
    state.end += frameBytes;
    state.sequence++;
    state.sealed = records.length === 0;
    records.forEach((record, i) => {
      remember(record, segment, offsets[i] as number);
    });
    if (state.end * 2 > segment.bytes) segments.prepare();
  };

  /** A write that failed for want of space may have left a part of its frame. */
  const erase = async ({ segment, from, to }: Unfinished): Promise<void> => {
    await writeZeros(segment.file, from, to);
    unfinished = null;
  };

  const startSegment = async (frameBytes: number): Promise<void> => {
    state.end = await segments.advance(frameBytes, headerOf(options.group, state));
  };

  const encodeFrame = (
    records: readonly StoredRecord[],
    payloadBytes: number,
    frameBytes: number,
    segment: Segment,
  ): { readonly frame: Uint8Array; readonly offsets: number[] } => {
    if (buffer.length < frameBytes) buffer = Buffer.alloc(frameBytes);
    const { seed } = segment;
    const { sequence, end: from } = state;
    writeFrameHeader(buffer, 0, { sequence, payloadBytes, records: records.length }, seed, from);
    const offsets: number[] = [];
    let at = FRAME_HEADER_BYTES;
    for (const record of records) {
      offsets.push(from + at);
      at = encodeRecord(buffer, at, record, { seed, offset: from + at, sequence });
    }
    buffer.fill(0, at, frameBytes);
    const frame = buffer.subarray(0, frameBytes);
    // One enormous append must not hold its memory for ever.
    if (buffer.length > GROUP_BYTES_MAX * 2) buffer = Buffer.alloc(256 * 1024);
    return { frame, offsets };
  };

  const remember = (record: StoredRecord, segment: Segment, offset: number): void => {
    const isEntry = record.kind === 'vote' || record.kind === 'chosen';
    if (!isEntry) {
      rememberRecord(state, record);
      if (record.kind === 'base') options.index.dropThrough(state.purgedTo);
      // Its segment stays as long as the slot is not purged.
      if (record.kind === 'slotPromise') segment.maxSlot = higherSlot(segment.maxSlot, record.slot);
      return;
    }
    const { slot } = record;
    rememberRecord(state, { kind: 'entry', slot, ballot: record.kind === 'vote' ? record.ballot : null });
    options.index.set(slot, { segment: segment.number, offset, bytes: recordBytes(record) });
    segment.maxSlot = higherSlot(segment.maxSlot, slot);
  };

  return {
    append,
    appendNote: (record) => enqueue([record], true),
    async close() {
      if (closed) return;
      const last = failed === null ? append([]).catch(() => undefined) : null;
      closed = true;
      sealTimer.stop();
      await last;
      await running;
    },
  };
}

/** What the next segment must know of all that came before it. */
export function headerOf(group: GroupId, state: LogState): Omit<SegmentHeader, 'segment' | 'segmentBytes'> {
  const { logId, identity, promised, commitPoint, purgedTo, configuration, sequence } = state;
  return { logId, group, identity, firstSequence: sequence, promised, commitPoint, purgedTo, configuration };
}

/** The appends of the next frame: all that wait, as far as one write may be large. */
function takeBatch(waiting: Waiting[]): Waiting[] {
  let bytes = 0;
  let count = 0;
  while (count < waiting.length) {
    const next = waiting[count] as Waiting;
    bytes += next.bytes;
    if (count > 0 && (bytes > GROUP_BYTES_MAX || next.isNote)) break;
    count++;
    if (next.isNote) break;
  }
  return waiting.splice(0, count);
}
