/**
 * Lists of rows on leaf pages of GIN indexes: PostgreSQL keeps the first row of each, and of the others how far they are from the one before, seven bits to the byte.
 *
 * Pure; never throws on what it reads. What does not fit is passed over.
 */
import { rowAt, type VisitRow, visitRow } from './row-pointer.ts';

const headBytes = 8;
const rowBytes = 6;
/** So many bits of a row are its place in its page. */
const offsetSize = 2 ** 11;
const numberBytesMax = 7;

/** Those of the lists that stand one behind the other between `from` and `end`. */
export function visitLists(bytes: Buffer, from: number, end: number, visit: VisitRow): void {
  for (let at = from; at + headBytes <= end; ) at = visitList(bytes, at, end, visit);
}

/** Returns where the next one begins. */
function visitList(bytes: Buffer, from: number, end: number, visit: VisitRow): number {
  const listEnd = from + headBytes + bytes.readUInt16LE(from + rowBytes);
  if (listEnd > end) return end;
  const { block, offset } = rowAt(bytes, from);
  visit(block, offset);
  let row = block * offsetSize + offset;
  for (let at = from + headBytes; at < listEnd; ) {
    let [more, count] = [0, 0];
    let byte = 0x80;
    for (; (byte & 0x80) !== 0 && count < numberBytesMax && at < listEnd; at += 1, count += 1) {
      byte = bytes[at]!;
      more += (byte & 0x7f) * 2 ** (7 * count);
    }
    row += more;
    visit(Math.floor(row / offsetSize), row % offsetSize);
  }
  return listEnd + (listEnd % 2);
}

/** An entry with a key has its rows behind it, or names the pages that have them. */
export function visitKeyEntry(bytes: Buffer, entry: number, length: number, visit: VisitRow): void {
  const { block: place, offset: count } = rowAt(bytes, entry);
  const [inPages, compressed] = [0xffff, 2 ** 31];
  const from = entry + (place % compressed);
  if (count === inPages || count === 0 || from >= entry + length) return;
  if (place >= compressed) {
    if (from + headBytes <= entry + length) visitList(bytes, from, entry + length, visit);
    return;
  }
  for (let n = 0; n < count && from + (n + 1) * rowBytes <= entry + length; n += 1)
    visitRow(bytes, from + n * rowBytes, visit);
}
