/** Whether a statement says with its first word that it changes data, reads, or commits. Pure, and quick: it is asked of every statement that passes. */
import { dash, isSpace, isWordByte, newline, slash, star } from '../../../pgwire/sql-bytes.ts';

const changing: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'merge']);
const reading: ReadonlySet<string> = new Set(['select', 'with', 'values', 'table']);
const committing: ReadonlySet<string> = new Set(['commit', 'end']);
const wordBytesMax = 6;

/** Of the first statement of the text in `bytes`. */
export function changesData(bytes: Buffer, from: number, to: number): boolean {
  return beginsWith(changing, bytes, from, to);
}

/** A function in it may change data all the same. */
export function readsData(bytes: Buffer, from: number, to: number): boolean {
  return beginsWith(reading, bytes, from, to);
}

/** What PostgreSQL lets a transaction do that may not write: to tell or end others, or to act in another database. What hides in functions of the client's is not seen. */
const beside =
  /notify|dblink|pg_(?:cancel|terminate)_backend|pg_reload_conf|pg_switch_wal|lo_export|pg_logical_|pg_create_|pg_drop_|pg_replication_|pg_rotate_logfile|pg_stat_reset/i;

export function actsBeside(bytes: Buffer, from: number, to: number): boolean {
  return beside.test(bytes.toString('latin1', from, to));
}

export function commitsData(bytes: Buffer, from: number, to: number): boolean {
  return beginsWith(committing, bytes, from, to);
}

function beginsWith(words: ReadonlySet<string>, bytes: Buffer, from: number, to: number): boolean {
  const begin = beginOfWord(bytes, from, to);
  let end = begin;
  while (end < to && end - begin <= wordBytesMax && isWordByte(bytes[end]!)) end += 1;
  if (end === begin || end - begin > wordBytesMax) return false;
  return words.has(bytes.toString('latin1', begin, end).toLowerCase());
}

/** Behind spaces and comments; comments within comments are not looked into. */
function beginOfWord(bytes: Buffer, from: number, to: number): number {
  let at = from;
  for (;;) {
    while (at < to && isSpace(bytes[at]!)) at += 1;
    const next = at + 1 < to ? bytes[at + 1] : 0;
    // Not by a search for each comment, which costs more than a short one is long.
    if (bytes[at] === dash && next === dash) {
      while (at < to && bytes[at] !== newline) at += 1;
      at = Math.min(to, at + 1);
    } else if (bytes[at] === slash && next === star) {
      at += 2;
      while (at < to && !(bytes[at] === star && bytes[at + 1] === slash)) at += 1;
      at = Math.min(to, at + 2);
    } else return at;
  }
}
