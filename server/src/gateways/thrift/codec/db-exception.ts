/** How an error of SQL becomes a DBException. Pure. */
import type { SqlError } from '../sql/sql-error.ts';

/** The SQLSTATE, read as a number of base 36: five digits fit into an i32, and every state has its own number. */
export function errorCodeOf(sqlState: string): number {
  return /^[0-9A-Z]{5}$/.test(sqlState) ? Number.parseInt(sqlState, 36) : Number.parseInt('XX000', 36);
}

/** The SQLSTATE alone on the first line, and then what else there is, a line each. */
export function detailsOf({ sqlState, detail, hint }: SqlError): string {
  const more = [
    ...(detail === undefined ? [] : [`DETAIL: ${detail}`]),
    ...(hint === undefined ? [] : [`HINT: ${hint}`]),
  ];
  return [sqlState, ...more].join('\n');
}
