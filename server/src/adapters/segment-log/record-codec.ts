/**
 * The binary form of one log record. Pure. Payload bytes are copied once, into the buffer that is written.
 *
 *   record := crc u32, body bytes u32, low half of the frame's sequence u32, kind u8, 3 zero bytes, body
 *
 * Configurations are rare, and held as JSON to the end of their record.
 *
 * Invariants kept:
 * - The checksum covers all that follows it and starts from the record's own place in the log (segment and offset), so a
 *   record can be verified alone, and only where it was written.
 * - `encode` writes exactly `recordBytes(record)` bytes; decoding yields an equal record.
 */
import { crc32 } from 'node:zlib';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { Ballot, GroupId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord, SlotBallot } from '../../multipaxos/types/records.ts';
import {
  ballotBytes,
  entryBytes,
  jsonBytes,
  readBallot,
  readEntry,
  readJson,
  writeBallot,
  writeEntry,
} from './entry-codec.ts';

export const RECORD_HEADER_BYTES = 16;

/** What a segment holds: the port's records, and how far the log was purged. */
export type StoredRecord = LogRecord | { readonly kind: 'purged'; readonly slot: Slot };

const KIND = {
  promise: 1,
  vote: 2,
  chosen: 3,
  commitPoint: 4,
  purged: 5,
  configuration: 6,
  base: 7,
  slotPromise: 8,
} as const;

/** Bytes that the record takes in a segment, header included. */
export function recordBytes(record: StoredRecord): number {
  if (record.kind === 'promise') return RECORD_HEADER_BYTES + ballotBytes(record.ballot);
  if (record.kind === 'configuration') return RECORD_HEADER_BYTES + jsonBytes(record.configuration);
  const withSlot = RECORD_HEADER_BYTES + 8;
  if (record.kind === 'base') return withSlot + jsonBytes(record.configuration);
  if (record.kind === 'slotPromise') return withSlot + ballotBytes(record.ballot);
  if (record.kind === 'vote') return withSlot + ballotBytes(record.ballot) + entryBytes(record.entry);
  if (record.kind === 'chosen') return withSlot + entryBytes(record.entry);
  return withSlot;
}

function writeBody(bytes: Buffer, at: number, record: StoredRecord): number {
  if (record.kind === 'promise') return writeBallot(bytes, at, record.ballot);
  if (record.kind === 'configuration')
    return at + bytes.write(JSON.stringify(record.configuration), at, 'utf8');
  bytes.writeDoubleLE(record.slot, at);
  if (record.kind === 'slotPromise') return writeBallot(bytes, at + 8, record.ballot);
  if (record.kind === 'vote')
    return writeEntry(bytes, writeBallot(bytes, at + 8, record.ballot), record.entry);
  if (record.kind === 'chosen') return writeEntry(bytes, at + 8, record.entry);
  if (record.kind === 'base')
    return at + 8 + bytes.write(JSON.stringify(record.configuration), at + 8, 'utf8');
  return at + 8;
}

/** Where a record stands: what its checksum starts from. */
export interface RecordPlace {
  /** segmentSeed of its segment. */
  readonly seed: number;
  readonly offset: number;
  readonly sequence: number;
}

function checksum(bytes: Buffer, at: number, end: number, seed: number, offset: number): number {
  return crc32(bytes.subarray(at + 4, end), (seed ^ offset) >>> 0);
}

/** Writes `record` at `at`; returns where it ends. */
export function encodeRecord(bytes: Buffer, at: number, record: StoredRecord, place: RecordPlace): number {
  const end = writeBody(bytes, at + RECORD_HEADER_BYTES, record);
  bytes.writeUInt32LE(end - at - RECORD_HEADER_BYTES, at + 4);
  bytes.writeUInt32LE(place.sequence % 2 ** 32, at + 8);
  bytes.writeUInt32LE(KIND[record.kind], at + 12);
  bytes.writeUInt32LE(checksum(bytes, at, end, place.seed, place.offset), at);
  return end;
}

/** Where the record that starts at `at` ends, if it is intact, else null. `sequence` null: of whatever frame. */
export function verifyRecord(
  bytes: Buffer,
  at: number,
  place: Omit<RecordPlace, 'sequence'> & { readonly sequence: number | null },
): number | null {
  if (at + RECORD_HEADER_BYTES > bytes.length) return null;
  const end = at + RECORD_HEADER_BYTES + bytes.readUInt32LE(at + 4);
  if (end > bytes.length) return null;
  if (place.sequence !== null && bytes.readUInt32LE(at + 8) !== place.sequence % 2 ** 32) return null;
  return bytes.readUInt32LE(at) === checksum(bytes, at, end, place.seed, place.offset) ? end : null;
}

/** What recovery needs of a record; the entry stays where it is. */
export type RecordSummary =
  | { readonly kind: 'promise'; readonly ballot: Ballot }
  | { readonly kind: 'entry'; readonly slot: Slot; readonly ballot: Ballot | null }
  | ({ readonly kind: 'slotPromise' } & SlotBallot)
  | { readonly kind: 'commitPoint'; readonly slot: Slot }
  | { readonly kind: 'purged'; readonly slot: Slot }
  | { readonly kind: 'configuration'; readonly configuration: Configuration }
  | { readonly kind: 'base'; readonly slot: Slot; readonly configuration: Configuration };

/** Reads an intact record (see verifyRecord) without its entry. @throws RangeError if its kind is unknown */
export function summarizeRecord(bytes: Buffer, at: number): RecordSummary {
  const body = at + RECORD_HEADER_BYTES;
  const end = body + bytes.readUInt32LE(at + 4);
  switch (bytes.readUInt8(at + 12)) {
    case KIND.promise:
      return { kind: 'promise', ballot: readBallot(bytes, body).ballot };
    case KIND.vote:
      return { kind: 'entry', slot: readSlot(bytes, body), ballot: readBallot(bytes, body + 8).ballot };
    case KIND.chosen:
      return { kind: 'entry', slot: readSlot(bytes, body), ballot: null };
    case KIND.slotPromise:
      return { kind: 'slotPromise', slot: readSlot(bytes, body), ballot: readBallot(bytes, body + 8).ballot };
    case KIND.commitPoint:
      return { kind: 'commitPoint', slot: readSlot(bytes, body) };
    case KIND.purged:
      return { kind: 'purged', slot: readSlot(bytes, body) };
    case KIND.configuration:
      return { kind: 'configuration', configuration: readJson(bytes, body, end) as Configuration };
    case KIND.base: {
      const configuration = readJson(bytes, body + 8, end) as Configuration;
      return { kind: 'base', slot: readSlot(bytes, body), configuration };
    }
    default:
      throw new RangeError(`record of unknown kind ${bytes[at + 12]}`);
  }
}

export interface StoredEntry {
  readonly slot: Slot;
  readonly ballot: Ballot | null;
  readonly entry: Entry;
}

/** Decodes an intact vote or chosen record that ends at `end`; the payload is a copy. */
export function decodeEntryRecord(bytes: Buffer, at: number, end: number, group: GroupId): StoredEntry {
  const body = at + RECORD_HEADER_BYTES;
  const slot = readSlot(bytes, body);
  if (bytes[at + 12] === KIND.chosen) {
    return { slot, ballot: null, entry: readEntry(bytes, body + 8, end, group) };
  }
  const { ballot, next } = readBallot(bytes, body + 8);
  return { slot, ballot, entry: readEntry(bytes, next, end, group) };
}

function readSlot(bytes: Buffer, at: number): Slot {
  return bytes.readDoubleLE(at) as Slot;
}
