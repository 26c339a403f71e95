/** How wide the columns of a result are, in pixels: by the longest of their first values, within bounds. Pure. */
import type { StatementResult } from '../../../server/src/api/sql.ts';

/** Of the fixed-width font in which they are written, and of the space at both sides. */
const charWidth = 7.4;
const padding = 26;
const widthMin = 64;
const widthMax = 420;
const rowsLookedAt = 200;

export function columnWidths({
  columns,
  rows,
}: Pick<StatementResult, 'columns' | 'rows'>): readonly number[] {
  const looked = rows.slice(0, rowsLookedAt);
  return columns.map((name, index) => {
    const longest = looked.reduce((chars, row) => Math.max(chars, row[index]?.length ?? 4), name.length);
    return Math.min(widthMax, Math.max(widthMin, Math.ceil(longest * charWidth) + padding));
  });
}
