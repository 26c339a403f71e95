/**
 * How NULL travels: Thrift's lists have no null, so a cell or parameter that is `\N` is NULL.
 *
 * Pure. Invariant: nothing is lost. A value that consists of backslashes and one N behind them has one backslash more on its way; every other value is as it is.
 */
const backslash = 0x5c;
const letterN = 0x4e;
const nullCell = Buffer.from('\\N');

/** Backslashes, as many as there are, and then an N and nothing else. */
function looksLikeNull(bytes: Buffer): boolean {
  const last = bytes.length - 1;
  if (last < 1 || bytes[last] !== letterN) return false;
  for (let at = 0; at < last; at += 1) if (bytes[at] !== backslash) return false;
  return true;
}

export function cellOf(value: Buffer | null): Buffer {
  if (value === null) return nullCell;
  return looksLikeNull(value) ? Buffer.concat([Buffer.from('\\'), value]) : value;
}

export function valueOf(cell: Buffer): Buffer | null {
  if (!looksLikeNull(cell)) return cell;
  return cell.length === nullCell.length ? null : cell.subarray(1);
}
