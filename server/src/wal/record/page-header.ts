/**
 * The header of a WAL page: what it says, and whether it can be true. Pure. Source: src/include/access/xlog_internal.h of PostgreSQL.
 *
 *   u16 magic, u16 flags, u32 timeline, u64 address of the page, u32 bytes of the record that began earlier and goes on here, 4 bytes unused
 *   and on the first page of a segment: u64 system identifier, u32 size of a segment, u32 size of a page
 */
import { formatLsn, segmentBytes, walPageBytes, type Lsn } from '../lsn.ts';
import { readU16, readU32, readU64 } from './little-endian.ts';
import type { WalFault } from './wal-fault.ts';

export const shortHeaderBytes = 24;
export const longHeaderBytes = 40;

/** A page's magic number tells the major version that wrote it. */
const versionOfMagic: Readonly<Record<number, PostgresVersion>> = {
  0xd110: 15,
  0xd113: 16,
  0xd116: 17,
  0xd118: 18,
};
export type PostgresVersion = 15 | 16 | 17 | 18;

const flags = {
  /** Goes on with a record that began on an earlier page. */
  continues: 0x01,
  longHeader: 0x02,
  /** The record that the page before began was never finished, and is given up: a new one begins here. */
  givesUp: 0x08,
} as const;
const flagsAll = 0x0f;

export interface PageHeader {
  readonly version: PostgresVersion;
  readonly timeline: number;
  /** Bytes of the record that began on an earlier page, up to its end, which may be on a later one. 0: none goes on here. */
  readonly continues: number;
  readonly givesUp: boolean;
}

/** How long the header is of the page that begins at `page`. */
export function pageHeaderBytes(page: number): number {
  return page % segmentBytes === 0 ? longHeaderBytes : shortHeaderBytes;
}

/** `bytes` begin with the whole header of the page at `page`. */
export function readPageHeader(bytes: Uint8Array, page: Lsn): PageHeader | WalFault {
  const version = versionOfMagic[readU16(bytes, 0)];
  const info = readU16(bytes, 2);
  const wrong = version === undefined ? whyUnknown(bytes) : whyWrong(bytes, page, info);
  if (version === undefined || wrong !== null) {
    const text = wrong ?? 'unknown';
    return { code: text === nothing ? 'zeros' : 'pageHeader', at: page, text };
  }
  const continues = readU32(bytes, 16);
  if (((info & flags.continues) !== 0) !== continues > 0) {
    return {
      code: 'pageHeader',
      at: page,
      text: `${continues} bytes go on here, but the page's flags are ${info}`,
    };
  }
  return { version, timeline: readU32(bytes, 4), continues, givesUp: (info & flags.givesUp) !== 0 };
}

const nothing = 'nothing was written there';

function whyUnknown(bytes: Uint8Array): string {
  for (let at = 0; at < shortHeaderBytes; at += 1) {
    if (bytes[at] !== 0) {
      return `the page's magic number is ${readU16(bytes, 0).toString(16)}, of no version from 15 to 18`;
    }
  }
  return nothing;
}

function whyWrong(bytes: Uint8Array, page: Lsn, info: number): string | null {
  if ((info & ~flagsAll) !== 0) return `the page has unknown flags: ${info.toString(16)}`;
  const address = readU64(bytes, 8);
  if (address !== page) return `the page says that it is at ${formatLsn(address as Lsn)}`;
  const isLong = (info & flags.longHeader) !== 0;
  if (isLong !== (pageHeaderBytes(page) === longHeaderBytes)) {
    return isLong ? 'a segment begins there, which is not of 16 MB' : 'no segment begins there';
  }
  if (!isLong) return null;
  const [segment, size] = [readU32(bytes, 32), readU32(bytes, 36)];
  if (segment === segmentBytes && size === walPageBytes) return null;
  return `it is written in segments of ${segment} bytes and pages of ${size}`;
}
