/**
 * Which blocks a record changes, and where its own data is. Pure. Source: src/include/access/xlogrecord.h of PostgreSQL.
 *
 * After its header a record has headers of parts, then the parts in the same order:
 *   block       u8 number (0 to 32), u8 fork and flags, u16 bytes of data; with an image: u16 bytes of it, u16 where its hole begins, u8 flags, if it is compressed and has a hole u16 bytes of the hole;
 *               unless it is of the same relation as the one before: u32 tablespace, u32 database, u32 relation; u32 block
 *   origin      253, u16        top-level transaction  252, u32
 *   main data   255, u8 bytes; or 254, u32 bytes; always the last
 */
import { readU16, readU32 } from './little-endian.ts';
import { recordHeaderBytes } from './record-header.ts';

export type Fork = 'main' | 'fsm' | 'vm' | 'init';

/** A file of a relation, by numbers: `relation` is its `relfilenode`, which is not the table's oid. `database` 0: shared by all. */
export interface RelationFile {
  readonly tablespace: number;
  readonly database: number;
  readonly relation: number;
}

export interface BlockReference extends RelationFile {
  readonly fork: Fork;
  readonly block: number;
  /** Bytes of the image of the whole block that the record carries, as they are in the WAL; 0: it carries none. */
  readonly imageBytes: number;
  readonly dataBytes: number;
}

export interface RecordParts {
  readonly blocks: readonly BlockReference[];
  /** The record's last bytes: what is about no block. */
  readonly mainBytes: number;
  /** The transaction of which this record's is a subtransaction, in the first record of that; else null. */
  readonly topLevelXid: number | null;
  /** Where the change came from by logical replication; 0: it was made here. */
  readonly origin: number;
}

const ids = { blockMax: 32, topLevelXid: 252, origin: 253, mainLong: 254, mainShort: 255 } as const;
const blockFlags = { fork: 0x0f, image: 0x10, sameRelation: 0x80 } as const;
const imageFlags = { hole: 0x01, compressed: 0x1c } as const;
const forks: readonly Fork[] = ['main', 'fsm', 'vm', 'init'];

/** A string: what is wrong with the record. `bytes` are the whole record, or so much of it that all headers are there; `length` is the record's. */
export function readParts(bytes: Uint8Array, length: number): RecordParts | string {
  const blocks: BlockReference[] = [];
  let [mainBytes, topLevelXid, origin]: [number, number | null, number] = [0, null, 0];
  let at = recordHeaderBytes;
  /** What the parts take that were announced. */
  let partBytes = 0;
  // The parts fill the record exactly, so the headers end where what is left is what was announced.
  while (length - at > partBytes) {
    const id = bytes[at];
    if (id === undefined) return 'its headers go on beyond its end';
    if (id <= ids.blockMax) {
      const block = readBlock(bytes, at, blocks.at(-1));
      if (typeof block === 'string') return block;
      blocks.push(block.reference);
      partBytes += block.reference.dataBytes + block.reference.imageBytes;
      at = block.next;
    } else if (id === ids.mainShort || id === ids.mainLong) {
      mainBytes = id === ids.mainShort ? (bytes[at + 1] ?? 0) : readU32(bytes, at + 1);
      partBytes += mainBytes;
      at += id === ids.mainShort ? 2 : 5;
      break;
    } else if (id === ids.topLevelXid) {
      topLevelXid = readU32(bytes, at + 1);
      at += 5;
    } else if (id === ids.origin) {
      origin = readU16(bytes, at + 1);
      at += 3;
    } else return `it has a part of the unknown kind ${id}`;
  }
  if (at + partBytes !== length) return `its parts take ${at + partBytes} bytes, and it has ${length}`;
  return { blocks, mainBytes, topLevelXid, origin };
}

function readBlock(
  bytes: Uint8Array,
  start: number,
  before: BlockReference | undefined,
): { readonly reference: BlockReference; readonly next: number } | string {
  const flags = bytes[start + 1]!;
  const fork = forks[flags & blockFlags.fork];
  if (fork === undefined) return `a block is of the unknown fork ${flags & blockFlags.fork}`;
  const dataBytes = readU16(bytes, start + 2);
  let at = start + 4;
  let imageBytes = 0;
  if ((flags & blockFlags.image) !== 0) {
    imageBytes = readU16(bytes, at);
    const image = bytes[at + 4]!;
    at += 5;
    if ((image & imageFlags.compressed) !== 0 && (image & imageFlags.hole) !== 0) at += 2;
  }
  let file: RelationFile | undefined = before;
  if ((flags & blockFlags.sameRelation) === 0) {
    file = readRelationFile(bytes, at);
    at += relationFileBytes;
  }
  if (file === undefined) return 'its first block is said to be of the same relation as the one before';
  const { tablespace, database, relation } = file;
  const block = readU32(bytes, at);
  return {
    reference: { tablespace, database, relation, fork, block, imageBytes, dataBytes },
    next: at + 4,
  };
}

export const relationFileBytes = 12;

export function readRelationFile(bytes: Uint8Array, at: number): RelationFile {
  return {
    tablespace: readU32(bytes, at),
    database: readU32(bytes, at + 4),
    relation: readU32(bytes, at + 8),
  };
}
