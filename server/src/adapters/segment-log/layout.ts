/**
 * How a segment file is laid out: its header and the frame around each group of records. Pure: bytes in, bytes out.
 *
 *   segment := header (a multiple of 4,096 bytes) frame* zeros
 *   frame   := frame header (32 bytes) record* padding, a multiple of 512 bytes
 *   record  := record header (16 bytes) body                                        (record-codec.ts)
 *
 * Invariants kept:
 * - A frame starts on a sector border, so writing one never rewrites a byte of an earlier one.
 * - Every checksum covers where its bytes stand: log, segment, offset and sequence. Bytes left over from another log, another
 *   segment or an earlier attempt can therefore never be taken for data.
 * - A frame header says nothing about records of other frames; segment headers carry what must outlive purged segments: whose log it
 *   is, the promise, the commit point, the newest configuration and how far the log was purged.
 */
import { crc32 } from 'node:zlib';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { Ballot, GroupId, Slot } from '../../multipaxos/types/names.ts';
import type { LogIdentity } from '../../ports/log-store.ts';

export const SECTOR_BYTES = 512;
/** A header takes as many of these as its names need: one, unless there are many members. */
export const HEADER_BLOCK_BYTES = 4096;
/** What is read to find out how long the header is, and the longest there can be. */
export const HEADER_BYTES_MAX = 256 * 1024;
export const FRAME_HEADER_BYTES = 32;
export const SEGMENT_BYTES_MIN = 16 * 1024;
/** Offsets are kept in 32 bits. */
export const SEGMENT_BYTES_MAX = 1024 * 1024 * 1024;
/** 1 knew neither identity nor configuration; no release wrote it. */
const FORMAT_VERSION = 2;
const SEGMENT_MAGIC = 'BARISLOG';
const FRAME_MAGIC = 0x46_4d_52_42;
const PREFIX_BYTES = 16;

/** What a segment knows from its first moment: all that must survive the unlinking of the segments before it. */
export interface SegmentHeader {
  /** Random, made once for a log; the same in all its segments. */
  readonly logId: string;
  readonly group: GroupId;
  /** The same in all segments of a log. */
  readonly identity: LogIdentity;
  /** Counts from 1. */
  readonly segment: number;
  readonly segmentBytes: number;
  /** Sequence of the first frame written here; the segment before ends just below. */
  readonly firstSequence: number;
  readonly promised: Ballot;
  readonly commitPoint: Slot;
  /** Below it the log was purged, or has its base. */
  readonly purgedTo: Slot;
  /** The newest that was recorded. */
  readonly configuration: Configuration;
}

export interface FrameHeader {
  /** Counts up by one from frame to frame through the whole log. */
  readonly sequence: number;
  readonly payloadBytes: number;
  /** 0 for a seal: a frame without records, which proves that the frame before it was durable. */
  readonly records: number;
}

export type HeaderVerdict =
  | { readonly kind: 'ok'; readonly header: SegmentHeader; readonly headerBytes: number }
  | { readonly kind: 'otherVersion'; readonly reason: string }
  | { readonly kind: 'bad'; readonly reason: string };

const SEGMENT_NAME = /^segment-(\d{10})\.barista$/;

export function segmentName(segment: number): string {
  return `segment-${String(segment).padStart(10, '0')}.barista`;
}

/** The number in a segment's file name, or null if the name is not one. */
export function segmentOfName(name: string): number | null {
  const match = SEGMENT_NAME.exec(name);
  return match === null ? null : Number(match[1]);
}

export function roundUpToSector(bytes: number): number {
  return Math.ceil(bytes / SECTOR_BYTES) * SECTOR_BYTES;
}

/** Where the checksums of a segment start from. */
export function segmentSeed(logId: string, segment: number): number {
  return crc32(`${logId}/${segment}`);
}

/** Bytes that the header takes, whatever the size of its segment will be. @throws RangeError if its names are too long */
export function segmentHeaderBytes(header: Omit<SegmentHeader, 'segmentBytes'>): number {
  const body = headerBody({ ...header, segmentBytes: SEGMENT_BYTES_MAX });
  const bytes = Math.ceil((PREFIX_BYTES + body.length) / HEADER_BLOCK_BYTES) * HEADER_BLOCK_BYTES;
  if (bytes > HEADER_BYTES_MAX) throw new RangeError(`segment header of ${bytes} bytes: too many members`);
  return bytes;
}

function headerBody(header: SegmentHeader): Buffer {
  return Buffer.from(JSON.stringify({ version: FORMAT_VERSION, ...header }), 'utf8');
}

/** Encodes a segment header into exactly `segmentHeaderBytes(header)`: magic, length, checksum, JSON. */
export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const body = headerBody(header);
  const bytes = Buffer.alloc(segmentHeaderBytes(header));
  bytes.write(SEGMENT_MAGIC, 0, 'latin1');
  bytes.writeUInt32LE(body.length, 8);
  bytes.writeUInt32LE(crc32(body), 12);
  body.copy(bytes, PREFIX_BYTES);
  return bytes;
}

export function decodeSegmentHeader(bytes: Buffer): HeaderVerdict {
  if (bytes.length < HEADER_BLOCK_BYTES) return { kind: 'bad', reason: 'the segment header is cut off' };
  if (bytes.toString('latin1', 0, 8) !== SEGMENT_MAGIC)
    return { kind: 'bad', reason: 'not a segment of a log' };
  const length = bytes.readUInt32LE(8);
  const body = bytes.subarray(PREFIX_BYTES, PREFIX_BYTES + length);
  if (body.length < length || crc32(body) !== bytes.readUInt32LE(12)) {
    return { kind: 'bad', reason: 'the segment header fails its checksum' };
  }
  const { version, ...header } = JSON.parse(body.toString('utf8')) as SegmentHeader & { version: number };
  if (version === FORMAT_VERSION) return { kind: 'ok', header, headerBytes: segmentHeaderBytes(header) };
  const reason = `the log has format version ${version}; this Barista reads and writes version ${FORMAT_VERSION} only`;
  return { kind: 'otherVersion', reason };
}

/** Writes a frame header at `at`, which in the file is `offset`. */
export function writeFrameHeader(
  bytes: Buffer,
  at: number,
  header: FrameHeader,
  seed: number,
  offset: number,
): void {
  bytes.writeUInt32LE(FRAME_MAGIC, at);
  bytes.writeDoubleLE(header.sequence, at + 8);
  bytes.writeUInt32LE(header.payloadBytes, at + 16);
  bytes.writeUInt32LE(header.records, at + 20);
  bytes.writeUInt32LE(offset, at + 24);
  bytes.writeUInt32LE(0, at + 28);
  bytes.writeUInt32LE(frameChecksum(bytes, at, seed), at + 4);
}

/** The frame header at `at` (the same offset in the file), or null if there is none that is valid. */
export function readFrameHeader(bytes: Buffer, at: number, seed: number): FrameHeader | null {
  if (at + FRAME_HEADER_BYTES > bytes.length || bytes.readUInt32LE(at) !== FRAME_MAGIC) return null;
  if (bytes.readUInt32LE(at + 4) !== frameChecksum(bytes, at, seed) || bytes.readUInt32LE(at + 24) !== at)
    return null;
  return {
    sequence: bytes.readDoubleLE(at + 8),
    payloadBytes: bytes.readUInt32LE(at + 16),
    records: bytes.readUInt32LE(at + 20),
  };
}

function frameChecksum(bytes: Buffer, at: number, seed: number): number {
  return crc32(bytes.subarray(at + 8, at + FRAME_HEADER_BYTES), seed);
}
