/**
 * Writes one record of WAL as PostgreSQL 18 does: its header, its link to the record before, its checksum, and the headers of the pages that it comes by. Pure.
 *
 * Written apart from the reader (record/), which tests hold against it.
 */
import { segmentBytes, walPageBytes, type Lsn, type Timeline } from '../../lsn.ts';
import { crcAdd, crcEnd, crcStart } from '../crc32c.ts';
import { longHeaderBytes, shortHeaderBytes } from '../page-header.ts';
import { aligned, offsetOf, recordHeaderBytes } from '../record-header.ts';

/** Where the next record is put. `previous`: where the one before begins. */
export interface WalPlace {
  readonly at: Lsn;
  readonly previous: Lsn;
  readonly timeline: Timeline;
  readonly system: bigint;
}

export interface NewRecord {
  /** Number of the resource manager. */
  readonly manager: number;
  readonly info: number;
  /** A full id; a record has its lower 32 bits. 0n: it belongs to no transaction. */
  readonly xid: bigint;
  readonly main: Uint8Array;
  /** The page at which it is put was to go on with a record that a crash left unfinished: that one is given up. */
  readonly givesUp?: boolean;
}

export interface EncodedRecord {
  /** From the place on: page headers, the record, padding. */
  readonly bytes: Buffer;
  /** Where the record itself begins. */
  readonly start: Lsn;
  /** Aligned: the next one is put here. */
  readonly end: Lsn;
}

const magic = 0xd118;
const flags = { continues: 1, long: 2, givesUp: 8 } as const;
const mainDataShort = 255;
const mainDataLong = 254;

export function encodeRecord(place: WalPlace, record: NewRecord): EncodedRecord {
  const content = seal(contentOf(record), place.previous);
  const pages = Math.ceil(content.length / (walPageBytes - longHeaderBytes)) + 2;
  const bytes = Buffer.alloc(content.length + pages * longHeaderBytes + 8);
  let at = place.at as number;
  const put = (part: Uint8Array): void => {
    bytes.set(part, at - place.at);
    at += part.length;
  };
  if (at % walPageBytes === 0) put(pageHeader(place, at, 0, record.givesUp ?? false));
  const start = at as Lsn;
  for (let taken = 0; taken < content.length; ) {
    if (at % walPageBytes === 0) put(pageHeader(place, at, content.length - taken, false));
    const room = walPageBytes - (at % walPageBytes);
    put(content.subarray(taken, taken + room));
    taken += Math.min(room, content.length - taken);
  }
  const end = aligned(at) as Lsn;
  return { bytes: bytes.subarray(0, end - place.at), start, end };
}

function pageHeader({ timeline, system }: WalPlace, at: number, continues: number, givesUp: boolean): Buffer {
  const isLong = at % segmentBytes === 0;
  const header = Buffer.alloc(isLong ? longHeaderBytes : shortHeaderBytes);
  const info =
    (continues > 0 ? flags.continues : 0) | (isLong ? flags.long : 0) | (givesUp ? flags.givesUp : 0);
  header.writeUInt16LE(magic, 0);
  header.writeUInt16LE(info, 2);
  header.writeUInt32LE(timeline, 4);
  header.writeBigUInt64LE(BigInt(at), 8);
  header.writeUInt32LE(continues, 16);
  if (isLong) {
    header.writeBigUInt64LE(system, 24);
    header.writeUInt32LE(segmentBytes, 32);
    header.writeUInt32LE(walPageBytes, 36);
  }
  return header;
}

/** Without the link to the record before, and without its checksum. */
function contentOf({ manager, info, xid, main }: NewRecord): Buffer {
  const partHeader = mainHeader(main.length);
  const content = Buffer.alloc(recordHeaderBytes + partHeader.length + main.length);
  content.writeUInt32LE(content.length, offsetOf.length);
  content.writeUInt32LE(Number(BigInt.asUintN(32, xid)), offsetOf.xid);
  content[offsetOf.info] = info;
  content[offsetOf.manager] = manager;
  content.set(partHeader, recordHeaderBytes);
  content.set(main, recordHeaderBytes + partHeader.length);
  return content;
}

function mainHeader(bytes: number): Buffer {
  if (bytes === 0) return Buffer.alloc(0);
  if (bytes < 256) return Buffer.from([mainDataShort, bytes]);
  const header = Buffer.alloc(5);
  header[0] = mainDataLong;
  header.writeUInt32LE(bytes, 1);
  return header;
}

function seal(content: Buffer, previous: Lsn): Buffer {
  content.writeBigUInt64LE(BigInt(previous), offsetOf.previous);
  const body = crcAdd(crcStart, content, recordHeaderBytes, content.length);
  content.writeUInt32LE(crcEnd(crcAdd(body, content, 0, offsetOf.checksum)), offsetOf.checksum);
  return content;
}
