/** Rows of PostgreSQL as tuples of Thrift, without an object for each value between the two. Pure. */
import { cellOf } from './cells.ts';
import { wireType } from './wire-types.ts';

const headBytes = 8;

/** The payload of a DataRow as a struct Tuple in the binary protocol; null: it is not whole. */
export function tupleOf(row: Buffer): Buffer | null {
  if (row.length < 2) return null;
  const count = row.readUInt16BE(0);
  const cells: Buffer[] = [];
  let at = 2;
  let bytes = headBytes + 1;
  for (let index = 0; index < count; index += 1) {
    if (at + 4 > row.length) return null;
    const length = row.readInt32BE(at);
    at += 4;
    if (at + Math.max(0, length) > row.length) return null;
    const cell = cellOf(length < 0 ? null : row.subarray(at, at + length));
    at += Math.max(0, length);
    bytes += 4 + cell.length;
    cells.push(cell);
  }
  const tuple = Buffer.allocUnsafe(bytes);
  tuple[0] = wireType.list;
  tuple.writeInt16BE(1, 1);
  tuple[3] = wireType.string;
  let to = tuple.writeInt32BE(count, 4);
  for (const cell of cells) {
    to = tuple.writeInt32BE(cell.length, to);
    to += cell.copy(tuple, to);
  }
  tuple[to] = 0;
  return tuple;
}

/** The cells of such a struct. */
export function cellsOf(tuple: Buffer): readonly Buffer[] {
  const cells: Buffer[] = [];
  let at = headBytes;
  for (let left = tuple.readInt32BE(4); left > 0; left -= 1) {
    const length = tuple.readInt32BE(at);
    cells.push(tuple.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return cells;
}
