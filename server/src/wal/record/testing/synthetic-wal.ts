/**
 * Writes WAL as PostgreSQL 18 does, from a list of what is to be in it, and tells where each record begins and ends.
 *
 * Written apart from the reader, after the same description, so that one can be held against the other; the goldens hold the reader against PostgreSQL.
 */
import { segmentBytes, walPageBytes, type Lsn } from '../../lsn.ts';
import { crcAdd, crcEnd, crcStart } from '../crc32c.ts';

/** `record`: with so many bytes of main data. `switch`: the rest of the segment stays empty. `unfinished`: a record that a crash left when it had filled so many more pages than its first one. */
export type WalItem =
  | { readonly kind: 'record'; readonly mainBytes: number }
  | { readonly kind: 'switch' }
  | { readonly kind: 'unfinished'; readonly pages: number };

export interface SyntheticRecord {
  /** Behind the page's header, if a page begins there. */
  readonly lsn: Lsn;
  /** Behind its last byte. */
  readonly lastByte: Lsn;
  /** As PostgreSQL counts it: aligned, or the end of the segment. */
  readonly end: Lsn;
}

export interface SyntheticWal {
  readonly start: Lsn;
  readonly bytes: Uint8Array;
  readonly records: readonly SyntheticRecord[];
}

const magic = 0xd118;
const flags = { continues: 1, long: 2, givesUp: 8 } as const;
const managers = { xlog: 0, message: 21 } as const;
const operations = { switch: 0x40, overwriteContrecord: 0xd0, message: 0 } as const;

/** `start`: the beginning of a page. */
export function writeWal(start: Lsn, items: readonly WalItem[]): SyntheticWal {
  const bytes = Buffer.alloc(items.reduce((sum, item) => sum + roomOf(item), walPageBytes));
  const records: SyntheticRecord[] = [];
  let at = 0;
  let previous = 0;

  function openPage(continues: number, givesUp: boolean): void {
    const isLong = (start + at) % segmentBytes === 0;
    const info =
      (continues > 0 ? flags.continues : 0) | (isLong ? flags.long : 0) | (givesUp ? flags.givesUp : 0);
    bytes.writeUInt16LE(magic, at);
    bytes.writeUInt16LE(info, at + 2);
    bytes.writeUInt32LE(1, at + 4);
    bytes.writeBigUInt64LE(BigInt(start + at), at + 8);
    bytes.writeUInt32LE(continues, at + 16);
    if (isLong) {
      bytes.writeBigUInt64LE(7n, at + 24);
      bytes.writeUInt32LE(segmentBytes, at + 32);
      bytes.writeUInt32LE(walPageBytes, at + 36);
    }
    at += isLong ? 40 : 24;
  }

  /** Where the record begins. */
  function beginRecord(givesUp: boolean): number {
    if ((start + at) % walPageBytes === 0) openPage(0, givesUp);
    return start + at;
  }

  /** Puts down the record up to its end, or to that of the page so many pages on. Returns false if it is not whole. */
  function put(record: Uint8Array, pagesMax: number): boolean {
    let taken = 0;
    for (let pages = 0; ; pages += 1) {
      const room = walPageBytes - ((start + at) % walPageBytes);
      const count = Math.min(room, record.length - taken);
      bytes.set(record.subarray(taken, taken + count), at);
      at += count;
      taken += count;
      if (taken === record.length) return true;
      if (pages === pagesMax) return false;
      openPage(record.length - taken, false);
    }
  }

  function writeRecord(record: Uint8Array, isSwitch: boolean, givesUp = false): void {
    const lsn = beginRecord(givesUp);
    put(seal(record, previous), Number.POSITIVE_INFINITY);
    const lastByte = (start + at) as Lsn;
    at = Math.ceil(at / 8) * 8;
    if (isSwitch) at = Math.ceil((start + at) / segmentBytes) * segmentBytes - start;
    records.push({ lsn: lsn as Lsn, lastByte, end: (start + at) as Lsn });
    previous = lsn;
  }

  for (const item of items) {
    if (item.kind === 'record')
      writeRecord(makeRecord(managers.message, operations.message, item.mainBytes), false);
    else if (item.kind === 'switch') writeRecord(makeRecord(managers.xlog, operations.switch, 0), true);
    else {
      const record = makeRecord(managers.message, operations.message, (item.pages + 2) * walPageBytes);
      beginRecord(false);
      put(seal(record, previous), item.pages);
      writeRecord(makeRecord(managers.xlog, operations.overwriteContrecord, 16), false, true);
    }
  }
  return { start, bytes: Uint8Array.prototype.slice.call(bytes, 0, at), records };
}

/** At least what it takes, with the headers of pages and padding. */
function roomOf(item: WalItem): number {
  if (item.kind === 'switch') return segmentBytes + walPageBytes;
  return item.kind === 'record' ? 256 + Math.ceil(item.mainBytes * 1.01) : (item.pages + 3) * walPageBytes;
}

/** Without the link to the record before, and without its checksum. */
function makeRecord(manager: number, info: number, mainBytes: number): Uint8Array {
  const partHeader = mainBytes === 0 ? [] : mainBytes < 256 ? [255, mainBytes] : [254, 0, 0, 0, 0];
  const record = Buffer.alloc(24 + partHeader.length + mainBytes);
  record.writeUInt32LE(record.length, 0);
  record.writeUInt32LE(700 + (mainBytes % 50), 4);
  record[16] = info;
  record[17] = manager;
  record.set(partHeader, 24);
  if (mainBytes >= 256) record.writeUInt32LE(mainBytes, 25);
  for (let i = 24 + partHeader.length; i < record.length; i += 1) record[i] = (i * 31 + mainBytes) & 0xff;
  return record;
}

function seal(record: Uint8Array, previous: number): Uint8Array {
  const sealed = Buffer.from(record);
  sealed.writeBigUInt64LE(BigInt(previous), 8);
  sealed.writeUInt32LE(crcEnd(crcAdd(crcAdd(crcStart, sealed, 24, sealed.length), sealed, 0, 20)), 20);
  return sealed;
}
