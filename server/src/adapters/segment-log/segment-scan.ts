/**
 * Reads the bytes of one segment from its first frame to its end, and tells a torn tail from corruption. Pure.
 *
 * One write is in flight at a time and the next starts only when it is durable. So of all frames only the last can be
 * torn, and the mere start of a later frame (its header, sealed or not) proves that the ones before it were durable once.
 * Hence: an invalid frame with any valid frame header after it is corruption; without one it is the torn remains of a write
 * that nobody was told about. A seal is written after the last frame of a burst, so that this holds for an idle log's last records too.
 */
import { FRAME_HEADER_BYTES, SECTOR_BYTES, readFrameHeader, roundUpToSector } from './layout.ts';
import type { FrameHeader } from './layout.ts';
import { RECORD_HEADER_BYTES, summarizeRecord, verifyRecord } from './record-codec.ts';
import type { RecordSummary } from './record-codec.ts';

export interface Damage {
  readonly offset: number;
  /** The slot that the damaged record claims, if it claims a plausible one. */
  readonly slot: number | null;
  readonly reason: string;
  /** Durable once for certain: corruption, not a torn write. */
  readonly wasDurable: boolean;
}

export interface SegmentScan {
  /** Sequence of the next frame, and where it would start. */
  readonly nextSequence: number;
  readonly end: number;
  /** Whether the last frame is a seal, or there is none. */
  readonly sealed: boolean;
  /** What is wrong at `end`, if anything is. */
  readonly damage: Damage | null;
}

export type RecordVisitor = (record: RecordSummary, offset: number, bytes: number) => void;

export interface ScanStart {
  /** Where the first frame stands. */
  readonly headerBytes: number;
  readonly seed: number;
  readonly firstSequence: number;
}

/** Scans `bytes`, the whole segment. `visit` sees the records of intact frames only, in order. */
export function scanSegment(
  bytes: Buffer,
  { headerBytes, seed, firstSequence }: ScanStart,
  visit: RecordVisitor,
): SegmentScan {
  let end = headerBytes;
  let nextSequence = firstSequence;
  // A segment has its name only when all before it is durable, so one without frames leaves nothing to prove.
  let sealed = true;
  for (;;) {
    const header = readFrameHeader(bytes, end, seed);
    const damage =
      header === null || header.sequence !== nextSequence
        ? damagedHeader(bytes, end, seed)
        : damagedRecords(bytes, end, seed, header);
    if (header === null || damage !== null) return { nextSequence, end, sealed, damage };
    visitFrame(bytes, end, header, visit);
    end += roundUpToSector(FRAME_HEADER_BYTES + header.payloadBytes);
    sealed = header.records === 0;
    nextSequence++;
  }
}

function damagedHeader(bytes: Buffer, at: number, seed: number): Damage | null {
  const wasDurable = laterFrameExists(bytes, at, seed);
  if (!wasDurable && firstNonZero(bytes, at) === null) return null;
  return { offset: at, slot: null, reason: 'the header of a group of records is damaged', wasDurable };
}

function damagedRecords(bytes: Buffer, frameAt: number, seed: number, header: FrameHeader): Damage | null {
  const frameEnd = frameAt + FRAME_HEADER_BYTES + header.payloadBytes;
  let at = frameAt + FRAME_HEADER_BYTES;
  for (let i = 0; i < header.records; i++) {
    const end = verifyRecord(bytes, at, { seed, offset: at, sequence: header.sequence });
    if (end === null || end > frameEnd) {
      const wasDurable = laterFrameExists(bytes, frameAt, seed);
      return { offset: at, slot: claimedSlot(bytes, at), reason: 'a record fails its checksum', wasDurable };
    }
    at = end;
  }
  return null;
}

function visitFrame(bytes: Buffer, frameAt: number, header: FrameHeader, visit: RecordVisitor): void {
  let at = frameAt + FRAME_HEADER_BYTES;
  for (let i = 0; i < header.records; i++) {
    const length = RECORD_HEADER_BYTES + bytes.readUInt32LE(at + 4);
    visit(summarizeRecord(bytes, at), at, length);
    at += length;
  }
}

function laterFrameExists(bytes: Buffer, from: number, seed: number): boolean {
  for (let at = from + SECTOR_BYTES; at + FRAME_HEADER_BYTES <= bytes.length; at += SECTOR_BYTES) {
    if (readFrameHeader(bytes, at, seed) !== null) return true;
  }
  return false;
}

/** Where the first byte that is not zero stands at or after `from`, or null. */
export function firstNonZero(bytes: Buffer, from: number): number | null {
  for (let at = from; at < bytes.length; at += SECTOR_BYTES) {
    const sector = bytes.subarray(at, at + SECTOR_BYTES);
    if (!sector.equals(ZERO_SECTOR.subarray(0, sector.length))) return at;
  }
  return null;
}

const ZERO_SECTOR = Buffer.alloc(SECTOR_BYTES);

function claimedSlot(bytes: Buffer, at: number): number | null {
  const kind = bytes[at + 12];
  if (at + RECORD_HEADER_BYTES + 8 > bytes.length || (kind !== 2 && kind !== 3)) return null;
  const slot = bytes.readDoubleLE(at + RECORD_HEADER_BYTES);
  return Number.isSafeInteger(slot) && slot > 0 ? slot : null;
}
