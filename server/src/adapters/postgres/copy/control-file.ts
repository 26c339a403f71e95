/**
 * What pg_control says of a cluster that never changes: its identifier, and the sizes and formats that its files rest on.
 *
 * Responsible for: reading these fields of PostgreSQL 15 and later, and telling a whole file from one that was read while it was being written. Knows nothing of states and checkpoints.
 * The fields that it wants stand behind others whose number differs by version, so they are found by a constant among them, the number 1234567.0, which PostgreSQL keeps there to recognize its own floating
 * point format.
 */
import { crcAdd, crcEnd, crcStart } from '../../../wal/record/crc32c.ts';

export interface ControlFacts {
  /** Drawn by initdb: the same on all replicas of a group, and in all backups of it. */
  readonly system: bigint;
  readonly controlVersion: number;
  readonly catalogVersion: number;
  readonly pageBytes: number;
  /** Of one file of a relation. */
  readonly segmentPages: number;
  readonly walPageBytes: number;
  readonly walSegmentBytes: number;
  readonly checksums: boolean;
}

/** The settings of the PostgreSQL that wrote this file by which it must be measured who replays its WAL. */
export interface ControlSettings {
  readonly max_connections: number;
  readonly max_worker_processes: number;
  readonly max_wal_senders: number;
  readonly max_prepared_transactions: number;
  readonly max_locks_per_transaction: number;
}

export class ControlFileError extends Error {
  override readonly name = 'ControlFileError';
}

const formatMark = Buffer.alloc(8);
formatMark.writeDoubleLE(1_234_567);
const nonceBytes = 32;
/** From this version on, one more byte stands before the nonce. */
const signednessFrom = 1800;

/** @throws ControlFileError if it is not a whole control file of a version that is known */
export function readControlFacts(bytes: Buffer): ControlFacts {
  const at = findMark(bytes);
  const controlVersion = bytes.readUInt32LE(8);
  const checksumsAt = at + 44;
  const nonceAt = checksumsAt + 4 + (controlVersion >= signednessFrom ? 1 : 0);
  const crcAt = Math.ceil((nonceAt + nonceBytes) / 4) * 4;
  if (crcAt + 4 > bytes.length) throw new ControlFileError(`pg_control has ${bytes.length} bytes only`);
  if (crcEnd(crcAdd(crcStart, bytes, 0, crcAt)) !== bytes.readUInt32LE(crcAt)) {
    throw new ControlFileError(`the checksum of pg_control (version ${controlVersion}) is wrong`);
  }
  return {
    system: bytes.readBigUInt64LE(0),
    controlVersion,
    catalogVersion: bytes.readUInt32LE(12),
    pageBytes: bytes.readUInt32LE(at + 8),
    segmentPages: bytes.readUInt32LE(at + 12),
    walPageBytes: bytes.readUInt32LE(at + 16),
    walSegmentBytes: bytes.readUInt32LE(at + 20),
    checksums: bytes.readUInt32LE(checksumsAt) !== 0,
  };
}

/** @throws ControlFileError if it is of no version that is known */
export function readControlSettings(bytes: Buffer): ControlSettings {
  const at = findMark(bytes);
  return {
    max_connections: bytes.readUInt32LE(at - 28),
    max_worker_processes: bytes.readUInt32LE(at - 24),
    max_wal_senders: bytes.readUInt32LE(at - 20),
    max_prepared_transactions: bytes.readUInt32LE(at - 16),
    max_locks_per_transaction: bytes.readUInt32LE(at - 12),
  };
}

function findMark(bytes: Buffer): number {
  for (let at = 64; at <= bytes.length - 128; at += 8)
    if (bytes.compare(formatMark, 0, 8, at, at + 8) === 0) return at;
  throw new ControlFileError('pg_control is of an unknown format, or damaged');
}
