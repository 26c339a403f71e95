/** Development only. What the toy's slots hold: made-up ranges of WAL and leaderships, told as a real replica tells them. */
import type {
  RangeContent,
  RelationName,
  RunningTransaction,
  SlotAnswer,
  SlotContent,
  WalChange,
  WalTransaction,
} from '../../server/src/api/wal-summary.ts';
import type { Ballot } from '../../server/src/multipaxos/types/names.ts';
import { formatLsn } from '../src/model/wal-position.ts';
import { slot } from './toy-replica.ts';
import type { ToyEntry } from './toy-replica.ts';

export interface ToyStatement {
  readonly xid: number;
  readonly sql: string;
}

export type ToyContent =
  | { readonly kind: 'start' }
  | {
      readonly kind: 'leadership';
      readonly timeline: number;
      readonly fork: number;
      readonly nextXid: number;
    }
  | {
      readonly kind: 'range';
      readonly leadership: Ballot;
      readonly timeline: number;
      readonly start: number;
      readonly end: number;
      readonly statements: readonly ToyStatement[];
    };

/** Long enough to see that there is room for the positions of an old database. */
export const walStart = 0x1a_3b000060;

export function rangeBytes(statements: readonly ToyStatement[]): number {
  // Now and then the first change of a page after a checkpoint.
  const images = statements.filter(({ xid }) => xid % 17 === 0).length;
  return statements.reduce((sum, { sql }) => sum + 160 + 8 * Math.round(sql.length / 4), 0) + images * 6200;
}

export function slotAnswer(at: number, entry: ToyEntry): SlotAnswer {
  return { slot: slot(at), label: entry.label, content: contentOf(entry) };
}

function contentOf({ content, ballot }: ToyEntry): SlotContent {
  switch (content.kind) {
    case 'start':
      return { kind: 'leaderStart', ballot };
    case 'leadership': {
      const { timeline, fork, nextXid } = content;
      const fields = { timeline, fork: formatLsn(fork), nextXid: String(nextXid), resumes: false };
      return { kind: 'leadership', leadership: ballot, ...fields };
    }
    case 'range':
      return rangeContent(content);
    default:
      return content satisfies never;
  }
}

function rangeContent(range: Extract<ToyContent, { kind: 'range' }>): RangeContent {
  const { leadership, timeline, start, end, statements } = range;
  const transactions = statements.map(transactionOf);
  const images = statements.filter(({ xid }) => xid % 17 === 0).length;
  const records = transactions.reduce((sum, { records }) => sum + records, 0);
  return {
    kind: 'range',
    leadership,
    timeline,
    start: formatLsn(start),
    end: formatLsn(end),
    bytes: end - start,
    records: records + 1,
    images,
    imageBytes: images * 6100,
    bytesBefore: images > 0 ? 1240 : 0,
    bytesAfter: 0,
    transactions,
    transactionsMore: 0,
    background: images > 0 ? [change(16_441, named('carts', 'table'), { records: 2 })] : [],
    backgroundMore: 0,
    operations: [
      { manager: 'Heap', operation: 'HOT_UPDATE', records: statements.length, bytes: 72 * statements.length },
      {
        manager: 'Btree',
        operation: 'INSERT_LEAF',
        records: statements.length,
        bytes: 64 * statements.length,
      },
      {
        manager: 'Transaction',
        operation: 'COMMIT',
        records: statements.length,
        bytes: 34 * statements.length,
      },
    ],
    operationsMore: 0,
    fault: null,
  };
}

function transactionOf({ xid, sql }: ToyStatement): WalTransaction {
  const [, verb = '', table = 'orders'] =
    /(insert into|update|delete from|create table)\s+(?:if not exists\s+)?(\w+)/i.exec(sql) ?? [];
  const rows = { 'insert into': { inserted: 1 }, update: { updated: 1 }, 'delete from': { deleted: 3 } };
  const counted = rows[verb.toLowerCase() as keyof typeof rows] ?? {};
  const relation = 16_400 + table.length;
  const isGone = xid % 23 === 0;
  const changes = [change(relation, isGone ? null : named(table, 'table'), { records: 2, ...counted })];
  if (verb.toLowerCase() === 'insert into')
    changes.push(change(relation + 50, named(`${table}_pkey`, 'index', table), { records: 1 }));
  if (verb.toLowerCase() === 'create table') {
    for (const catalog of ['pg_class', 'pg_attribute', 'pg_type'])
      changes.push(change(1249, { ...named(catalog, 'table'), isSystem: true }, { records: 9 }));
  }
  const ends = xid % 29 === 0 ? 'abort' : 'commit';
  return { xid, ends, endsAtUs: 0, name: null, records: 3, bytes: 188, changes, changesMore: 0 };
}

function named(name: string, kind: RelationName['kind'], table: string | null = null): RelationName {
  return { name, kind, table, isSystem: false };
}

function change(relation: number, name: RelationName | null, counts: Partial<WalChange>): WalChange {
  const none = { inserted: 0, updated: 0, deleted: 0, records: 1 };
  return { tablespace: 1663, database: 16_384, relation, name, ...none, ...counts };
}

export function runningTransaction(
  { xid, sql }: ToyStatement,
  sinceMs: number,
  state: RunningTransaction['state'],
): RunningTransaction {
  return {
    pid: 4000 + (xid % 8),
    xid,
    state,
    user: 'barista',
    database: 'barista',
    sql,
    sinceMs: Math.round(sinceMs),
  };
}
