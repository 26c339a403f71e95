/**
 * What is in a range of WAL, for people to look at.
 *
 * Responsible for: reading its records and adding them up, in bounded lists. Pure. Knows files by their numbers; name-relations.ts puts in what they are called.
 * Costs a microsecond or two for a record, so it is done for a slot that somebody asks for, never on the way of a commit.
 */
import type { RangeContent, WalOperationCount } from '../../../api/wal-summary.ts';
import { formatLsn, walPageBytes, type Lsn } from '../../../wal/lsn.ts';
import { pageHeaderBytes, shortHeaderBytes } from '../../../wal/record/page-header.ts';
import { segmentEnd } from '../../../wal/record/places.ts';
import { RecordReader } from '../../../wal/record/record-reader.ts';
import type { WalRecord } from '../../../wal/record/wal-record.ts';
import { beginWalkAt, type WalkPosition } from '../../../wal/record/walk-position.ts';
import type { WalRange } from '../wal-entry.ts';
import { ChangeTally } from './change-tally.ts';
import { TransactionTallies } from './transaction-tallies.ts';

export const transactionsMax = 50;
export const changesMax = 20;
export const operationsMax = 20;

/** `begin`: what is known of the WAL before it; by default only that a range begins with a page or a record. */
export function summarizeRange(range: WalRange, begin: WalkPosition = beginOf(range)): RangeContent {
  const { leadership, timeline, start, data } = range;
  const tally = new RangeTally();
  const reader = new RecordReader(begin, (record) => tally.add(record), { checksums: true });
  const fault = reader.add(data);
  const end = (start + data.length) as Lsn;
  const { unfinished } = reader;
  const first = tally.firstRecord ?? unfinished?.lsn ?? null;
  return {
    kind: 'range',
    leadership,
    timeline,
    start: formatLsn(start),
    end: formatLsn(end),
    bytes: data.length,
    bytesBefore: first === null ? data.length : Math.max(0, withPageHeader(first) - start),
    bytesAfter: unfinished === null ? 0 : end - Math.max(start, withPageHeader(unfinished.lsn)),
    ...tally.result(),
    fault: fault === null ? null : `${formatLsn(fault.at)}: ${fault.text}`,
  };
}

/** Behind a switch, what is left of a segment holds nothing, not even page headers. */
function beginOf({ start, data }: WalRange): WalkPosition {
  const isEmpty =
    start % walPageBytes === 0 && data.subarray(0, shortHeaderBytes).every((byte) => byte === 0);
  const begin = beginWalkAt(start);
  return isEmpty ? { ...begin, lastRecordEnd: segmentEnd(start + 1) } : begin;
}

/** Where a record begins, with the header of the page if it is the first there. */
function withPageHeader(lsn: Lsn): number {
  const page = (lsn - (lsn % walPageBytes)) as Lsn;
  return lsn - page === pageHeaderBytes(page) ? page : lsn;
}

type Counts = Pick<
  RangeContent,
  | 'records'
  | 'images'
  | 'imageBytes'
  | 'transactions'
  | 'transactionsMore'
  | 'background'
  | 'backgroundMore'
  | 'operations'
  | 'operationsMore'
>;

class RangeTally {
  firstRecord: Lsn | null = null;
  private records = 0;
  private images = 0;
  private imageBytes = 0;
  private readonly transactions = new TransactionTallies();
  private readonly background = new ChangeTally();
  private readonly operations = new Map<
    string,
    { -readonly [K in keyof WalOperationCount]: WalOperationCount[K] }
  >();

  add(record: WalRecord): void {
    this.firstRecord ??= record.lsn;
    this.records += 1;
    this.imageBytes += record.imageBytes;
    for (const { imageBytes } of record.blocks) if (imageBytes > 0) this.images += 1;
    if (!this.transactions.add(record)) this.background.add(record);
    this.countOperation(record);
  }

  private countOperation({ manager, operation, length }: WalRecord): void {
    const key = `${manager} ${operation}`;
    const found = this.operations.get(key);
    if (found === undefined) this.operations.set(key, { manager, operation, records: 1, bytes: length });
    else {
      found.records += 1;
      found.bytes += length;
    }
  }

  result(): Counts {
    const { records, images, imageBytes, transactions } = this;
    const background = this.background.list();
    const operations = [...this.operations.values()].sort((a, b) => b.records - a.records);
    return {
      records,
      images,
      imageBytes,
      transactions: transactions.list(transactionsMax, changesMax),
      transactionsMore: Math.max(0, transactions.count - transactionsMax),
      background: background.slice(0, changesMax),
      backgroundMore: Math.max(0, background.length - changesMax),
      operations: operations.slice(0, operationsMax),
      operationsMore: Math.max(0, operations.length - operationsMax),
    };
  }
}
