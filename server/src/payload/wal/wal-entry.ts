/**
 * What an entry of the log holds when WAL is what travels, and its bytes.
 *
 * Pure. The first byte is the kind, the second the version of the format. Numbers are big-endian.
 *
 *   range       kind 1, version, ballot, u32 timeline, u64 start, the WAL to the end
 *   leadership  kind 2, version, ballot, u32 timeline, u64 fork, u64 next transaction id, u8 flags (1: resumes), u64 system identifier
 *   verify      kind 3, version, ballot, the name of the comparison in UTF-8 to the end
 *   ballot      u48 round, u8 length, the replica's name in UTF-8
 */
import type { Ballot, ReplicaId } from '../../multipaxos/types/names.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';

/** A range of WAL of the leader's timeline. It may begin and end inside a record, but ends at one's end or at a page's (see feed). Never empty. */
export interface WalRange {
  readonly kind: 'range';
  readonly leadership: Ballot;
  readonly timeline: Timeline;
  readonly start: Lsn;
  readonly data: Uint8Array;
}

/**
 * The beginning of a leadership. `fork`: the end of the last whole record that is chosen, where its timeline leaves the one before; what is chosen beyond, part of a record, is nobody's. `nextXid`: no transaction
 * with this id or a higher one has effect from before. `resumes`: the same replica led last, and its timeline goes on at the end of what is chosen. `system`: PostgreSQL's identifier of the cluster, which never changes.
 */
export interface LeadershipEntry {
  readonly kind: 'leadership';
  readonly leadership: Ballot;
  readonly timeline: Timeline;
  readonly fork: Lsn;
  readonly nextXid: bigint;
  readonly resumes: boolean;
  readonly system: bigint;
}

/** Asks every replica for a digest of its data as of this slot. */
export interface VerifyEntry {
  readonly kind: 'verify';
  readonly leadership: Ballot;
  readonly check: string;
}

export type WalEntry = WalRange | LeadershipEntry | VerifyEntry;

/** The bytes are not what this version writes: the log was written by another version, or by something else. */
export class WalEntryError extends Error {
  override readonly name = 'WalEntryError';
}

const version = 1;
const kinds = { range: 1, leadership: 2, verify: 3 } as const;

/** Bytes that a range needs besides its WAL. */
export function rangeOverhead(leadership: Ballot): number {
  return headBytes(leadership) + 12;
}

function headBytes({ replica }: Ballot): number {
  return 2 + 7 + Buffer.byteLength(replica);
}

/** `chunks` are joined into the entry: the only copy that is made of them. */
export function encodeRange(
  range: Omit<WalRange, 'kind' | 'data'>,
  chunks: readonly Uint8Array[],
): Uint8Array {
  let bytes = rangeOverhead(range.leadership);
  for (const chunk of chunks) bytes += chunk.byteLength;
  const out = Buffer.allocUnsafe(bytes);
  let at = writeHead(out, kinds.range, range.leadership);
  at = out.writeUInt32BE(range.timeline, at);
  at = out.writeBigUInt64BE(BigInt(range.start), at);
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.byteLength;
  }
  return out;
}

export function encodeLeadership(entry: Omit<LeadershipEntry, 'kind'>): Uint8Array {
  const out = Buffer.alloc(headBytes(entry.leadership) + 29);
  let at = writeHead(out, kinds.leadership, entry.leadership);
  at = out.writeUInt32BE(entry.timeline, at);
  at = out.writeBigUInt64BE(BigInt(entry.fork), at);
  at = out.writeBigUInt64BE(entry.nextXid, at);
  at = out.writeUInt8(entry.resumes ? 1 : 0, at);
  out.writeBigUInt64BE(entry.system, at);
  return out;
}

export function encodeVerify(leadership: Ballot, check: string): Uint8Array {
  const text = Buffer.from(check, 'utf8');
  const out = Buffer.alloc(headBytes(leadership) + text.length);
  text.copy(out, writeHead(out, kinds.verify, leadership));
  return out;
}

function writeHead(out: Buffer, kind: number, { round, replica }: Ballot): number {
  let at = out.writeUInt8(kind, 0);
  at = out.writeUInt8(version, at);
  at = out.writeUIntBE(round, at, 6);
  const length = out.write(replica, at + 1, 'utf8');
  out.writeUInt8(length, at);
  return at + 1 + length;
}

/** The data of a range is a view of `payload`. @throws WalEntryError */
export function decodeWalEntry(payload: Uint8Array): WalEntry {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  try {
    return decode(bytes);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new WalEntryError(`an entry of ${bytes.length} bytes is cut short`, { cause });
  }
}

function decode(bytes: Buffer): WalEntry {
  const kind = bytes.readUInt8(0);
  if (bytes.readUInt8(1) !== version)
    throw new WalEntryError(`an entry has format ${bytes[1]}, not ${version}`);
  const round = bytes.readUIntBE(2, 6);
  const end = 9 + bytes.readUInt8(8);
  if (end > bytes.length) throw new RangeError('the ballot is cut short');
  const leadership: Ballot = { round, replica: bytes.toString('utf8', 9, end) as ReplicaId };
  switch (kind) {
    case kinds.range: {
      const data = bytes.subarray(end + 12);
      if (data.length === 0) throw new WalEntryError('a range of WAL is empty');
      const start = Number(bytes.readBigUInt64BE(end + 4)) as Lsn;
      return { kind: 'range', leadership, timeline: bytes.readUInt32BE(end) as Timeline, start, data };
    }
    case kinds.leadership:
      return {
        kind: 'leadership',
        leadership,
        timeline: bytes.readUInt32BE(end) as Timeline,
        fork: Number(bytes.readBigUInt64BE(end + 4)) as Lsn,
        nextXid: bytes.readBigUInt64BE(end + 12),
        resumes: bytes.readUInt8(end + 20) === 1,
        system: bytes.readBigUInt64BE(end + 21),
      };
    case kinds.verify:
      return { kind: 'verify', leadership, check: bytes.toString('utf8', end) };
    default:
      throw new WalEntryError(`an entry is of the unknown kind ${kind}`);
  }
}
