/**
 * Which files of relations WAL makes shorter, of those that are asked for. Pure. Source: src/include/catalog/storage_xlog.h, src/include/commands/dbcommands_xlog.h of PostgreSQL.
 *
 *   Storage TRUNCATE            u32 blocks that are left, u32 tablespace, u32 database, u32 relation, i32 which forks (1: main)
 *   Database CREATE_FILE_COPY   u32 database, and more: when it is replayed, all files of the database are those of its template again
 *
 * Invariants: it holds nothing but what it was asked for, and the first bytes of one record at a time.
 */
import type { Lsn } from '../lsn.ts';
import { readParts, readRelationFile } from './block-references.ts';
import { readU32 } from './little-endian.ts';
import { offsetOf, operationMask, recordHeaderBytes } from './record-header.ts';
import type { RecordObserver } from './record-observer.ts';
import type { WalFault } from './wal-fault.ts';

/** Of a relation's main fork. Its tablespace says nothing more: a relation that moves gets another number. */
export interface MainFork {
  /** 0: shared by all. */
  readonly database: number;
  readonly relation: number;
}

const storage = { manager: 2, truncate: 0x20, mainFork: 1, bytes: 20 } as const;
const databases = { manager: 4, fileCopy: 0x00, bytes: 4 } as const;
/** Neither kind of record is longer. */
const keptBytesMax = 128;

export class Shortenings implements RecordObserver {
  /** By name: the fewest pages that a truncation left; null: there was none. */
  private readonly left = new Map<string, number | null>();
  private readonly copied = new Set<number>();
  private readonly databases: ReadonlySet<number>;
  private readonly kept = new Uint8Array(keptBytesMax);
  private length = 0;
  /** Of the record at hand; null: it is not of interest. */
  private taken: number | null = null;

  constructor(wanted: readonly MainFork[]) {
    for (const fork of wanted) this.left.set(nameOf(fork), null);
    this.databases = new Set(wanted.map(({ database }) => database));
  }

  /** Whether the WAL explains that it has no more than so many pages. */
  explains(fork: MainFork, pages: number): boolean {
    const left = this.left.get(nameOf(fork)) ?? null;
    return this.copied.has(fork.database) || (left !== null && left <= pages);
  }

  begin(_start: Lsn, length: number): void {
    this.length = length;
    this.taken = length > keptBytesMax ? null : 0;
  }

  part(bytes: Uint8Array, from: number, to: number): void {
    if (this.taken === null) return;
    const isHeader = this.taken === 0 && to - from >= recordHeaderBytes;
    if (isHeader && !isOfInterest(bytes[from + offsetOf.manager]!)) {
      this.taken = null;
      return;
    }
    this.kept.set(bytes.subarray(from, to), this.taken);
    this.taken += to - from;
  }

  end(): WalFault | null {
    if (this.taken === this.length) this.take(this.kept.subarray(0, this.length));
    this.taken = null;
    return null;
  }

  giveUp(): void {
    this.taken = null;
  }

  private take(record: Uint8Array): void {
    const manager = record[offsetOf.manager]!;
    const operation = record[offsetOf.info]! & operationMask;
    const isTruncation = manager === storage.manager && operation === storage.truncate;
    const isCopy = manager === databases.manager && operation === databases.fileCopy;
    if (!isTruncation && !isCopy) return;
    const parts = readParts(record, record.length);
    if (typeof parts === 'string') return;
    const main = record.subarray(record.length - parts.mainBytes);
    if (isTruncation && main.length >= storage.bytes) this.truncated(main);
    if (isCopy && main.length >= databases.bytes && this.databases.has(readU32(main, 0)))
      this.copied.add(readU32(main, 0));
  }

  private truncated(main: Uint8Array): void {
    if ((readU32(main, 16) & storage.mainFork) === 0) return;
    const name = nameOf(readRelationFile(main, 4));
    const before = this.left.get(name);
    if (before !== undefined) this.left.set(name, Math.min(before ?? Infinity, readU32(main, 0)));
  }
}

function isOfInterest(manager: number): boolean {
  return manager === storage.manager || manager === databases.manager;
}

function nameOf({ database, relation }: MainFork): string {
  return `${database}/${relation}`;
}
