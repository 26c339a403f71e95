/** What a slot holds, in words: transactions, what they changed, and the rest. Pure. */
import type {
  OperationContent,
  RangeContent,
  RelationName,
  SlotContent,
  TransactionEndKind,
  WalChange,
} from '../../../server/src/api/wal-summary.ts';
import { formatBytes, formatCount } from './format.ts';
import { formatBallot } from './cluster-view.ts';
import { unreachable } from './unreachable.ts';

const ends: Readonly<Record<TransactionEndKind, string>> = {
  commit: 'committed',
  abort: 'rolled back',
  prepare: 'prepared',
  commitPrepared: 'committed (was prepared)',
  abortPrepared: 'rolled back (was prepared)',
};

export function describeEnd(kind: TransactionEndKind | null): string {
  return kind === null ? 'goes on' : ends[kind];
}

/** Such as `1 inserted, 2 deleted`; of a file without rows: how many records are about it. */
export function describeRows({ inserted, updated, deleted, records }: WalChange): string {
  const rows = [
    inserted > 0 ? `${formatCount(inserted)} inserted` : null,
    updated > 0 ? `${formatCount(updated)} updated` : null,
    deleted > 0 ? `${formatCount(deleted)} deleted` : null,
  ].filter((part) => part !== null);
  return rows.length > 0 ? rows.join(', ') : plural(records, 'record');
}

export function describeFile({ name, relation }: WalChange): string {
  return name?.name ?? `file ${relation}`;
}

export interface SortedChanges {
  /** Tables of users, and what may be one. */
  readonly tables: readonly WalChange[];
  /** The others in one phrase, such as `2 indexes, 9 of PostgreSQL’s own`; null: there are none. */
  readonly rest: string | null;
}

/** Tables are what a reader knows; indexes, TOAST and catalogs follow from them. */
export function sortChanges(changes: readonly WalChange[], more: number): SortedChanges {
  const tables = changes.filter(isTable);
  const others = changes.filter((change) => !isTable(change));
  const count = (kind: RelationName['kind']): number =>
    others.filter(({ name }) => name !== null && !name.isSystem && name.kind === kind).length;
  const system = others.filter((change) => isSystem(change)).length;
  const parts = [
    count('index') > 0 ? plural(count('index'), 'index', 'indexes') : null,
    count('sequence') > 0 ? plural(count('sequence'), 'sequence') : null,
    count('toast') > 0 ? `${formatCount(count('toast'))} TOAST` : null,
    count('other') > 0 ? plural(count('other'), 'other file') : null,
    system > 0 ? `${formatCount(system)} of PostgreSQL’s own` : null,
    more > 0 ? `${formatCount(more)} more` : null,
  ].filter((part) => part !== null);
  return { tables, rest: parts.length === 0 ? null : parts.join(', ') };
}

/** Files below are PostgreSQL's own, unless they were written anew. */
const firstUserRelation = 16_384;

function isSystem({ name, relation }: WalChange): boolean {
  return name?.isSystem ?? relation < firstUserRelation;
}

function isTable(change: WalChange): boolean {
  return !isSystem(change) && (change.name === null || change.name.kind === 'table');
}

export function describeCounts({ records, images, imageBytes }: RangeContent): string {
  const text = plural(records, 'record');
  return images === 0 ? text : `${text}, ${plural(images, 'page image')} (${formatBytes(imageBytes)})`;
}

/** Records that this slot has in part; null: there are none. */
export function describeCuts({ bytesBefore, bytesAfter, bytes }: RangeContent): string | null {
  if (bytesBefore === bytes)
    return 'All of it is part of one record, or what a switch of segments left empty.';
  const parts = [
    bytesBefore > 0
      ? `${formatBytes(bytesBefore)} at the beginning go on with an earlier slot’s record`
      : null,
    bytesAfter > 0
      ? `${formatBytes(bytesAfter)} at the end are the beginning of a record of later slots`
      : null,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : `${parts.join('; ')}.`;
}

/** Of what holds neither WAL nor an operation. */
export function describeContent(content: Exclude<SlotContent, RangeContent | OperationContent>): string {
  switch (content.kind) {
    case 'leadership': {
      const { leadership, timeline, fork, nextXid, resumes } = content;
      const who = `${leadership.replica} leads in ballot ${formatBallot(leadership)}`;
      const how = resumes
        ? `The same replica led before: timeline ${timeline} goes on at ${fork}.`
        : `Timeline ${timeline} begins at ${fork}; what others wrote beyond is nobody’s.`;
      return `${who}. ${how} Transactions from ${nextXid} on are its own.`;
    }
    case 'verify':
      return 'All replicas compare their data as of this slot.';
    case 'noop':
      return 'Fills a hole that an earlier proposer left.';
    case 'leaderStart':
      return `The first mark of the leader with ballot ${formatBallot(content.ballot)}: nothing of older ballots counts above it.`;
    case 'members':
      return `The members, version ${content.version}: ${content.members.join(', ')}.`;
    case 'unreadable':
      return `It cannot be read: ${content.reason}.`;
    default:
      return unreachable(content);
  }
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** One below the other, each ended once, however its client wrote it. */
export function joinStatements(statements: readonly string[]): string {
  return statements.map((sql) => `${sql.trim().replace(/;$/, '')};`).join('\n');
}
