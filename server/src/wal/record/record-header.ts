/**
 * The header of a WAL record. Pure. Source: src/include/access/xlogrecord.h of PostgreSQL.
 *
 *   u32 length in all, u32 transaction id, u64 where the record before begins, u8 info, u8 resource manager, 2 bytes unused, u32 CRC-32C
 *
 * A record begins at a multiple of 8, so that its length is never cut by the end of a page; the rest of its header may be.
 */
import { formatLsn, type Lsn } from '../lsn.ts';
import { readU64 } from './little-endian.ts';

export const recordHeaderBytes = 24;
/** Bytes of a header that may lie beyond the end of a page. */
export const headerTails: readonly number[] = [8, 16];
export const offsetOf = { length: 0, xid: 4, previous: 8, info: 16, manager: 17, checksum: 20 } as const;
/** What a record's info says of the operation; the lower bits are the same for all resource managers. */
export const operationMask = 0xf0;

const builtInManagers = 22;
const firstCustomManager = 128;

/** A record after which the rest of its segment is left empty. Its header is at `at`. */
export function isSwitch(bytes: Uint8Array, at: number): boolean {
  return bytes[at + offsetOf.manager] === 0 && (bytes[at + offsetOf.info]! & operationMask) === 0x40;
}

/** Why no record has this length; null: one may. */
export function whyNoLength(length: number): string | null {
  if (length >= recordHeaderBytes) return null;
  return length === 0 ? 'nothing was written there' : `no record has ${length} bytes`;
}

/**
 * Why the header at `at`, but for its length, is not that of a record that begins at `start`; null: it may be.
 * `lastStart`: where the record before it begins; null: it is not known.
 */
export function whyNoHeader(
  bytes: Uint8Array,
  at: number,
  start: number,
  lastStart: number | null,
): string | null {
  const manager = bytes[at + offsetOf.manager]!;
  if (manager >= builtInManagers && manager < firstCustomManager)
    return `there is no resource manager ${manager}`;
  const previous = readU64(bytes, at + offsetOf.previous);
  if (lastStart === null ? previous < start : previous === lastStart) return null;
  return `it says that the record before it begins at ${formatLsn(previous as Lsn)}`;
}

/** Where the next record may begin, at `position` or after it. */
export function aligned(position: number): number {
  return Math.ceil(position / 8) * 8;
}
