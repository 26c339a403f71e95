/**
 * What the SQL console keeps of what the statements of one text send: rows, and the lines of COPY TO STDOUT, which become rows of one column.
 *
 * Responsible for: bounds on rows and bytes, of all statements together. Reads nothing by itself.
 * Invariant: what is beyond a bound is forgotten, never kept, so that the statement still completes; that it was is told.
 */
import type { StatementResult } from '../api/sql.ts';

/** Of all statements of a text together. */
const rowsMax = 2000;
const charsMax = 1024 * 1024;
const cellCharsMax = 10_000;
/** Of one row that is copied: more than could be kept of it, of whatever characters. */
const decodedMax = (charsMax + 1) * 4;

/** As the heading of what was copied. */
const copiedColumn = 'copied text';

export interface KeptRows {
  /** `statement` counts the statements from 0, here and in the others. */
  row(statement: number, cells: readonly (string | null)[]): void;
  /** It begins to copy. */
  copies(statement: number, isBinary: boolean): void;
  /** One row of what it copies, as PostgreSQL sends it: with the end of its line, and with ends of lines in it if it is CSV. */
  copied(statement: number, chunk: Buffer): void;
  /** `names`: of the columns, of a statement that copies nothing. */
  resultOf(statement: number, names: readonly string[], command: string): StatementResult;
}

export function createKeptRows(): KeptRows {
  const rowsOf = new Map<number, (readonly (string | null)[])[]>();
  const cut = new Set<number>();
  const copying = new Set<number>();
  const binaryBytes = new Map<number, number>();
  let rowsKept = 0;
  let chars = 0;

  const isFull = (): boolean => rowsKept >= rowsMax || chars > charsMax;

  function row(statement: number, given: readonly (string | null)[]): void {
    const cells = given.map(shorten);
    chars += cells.reduce((sum, cell) => sum + (cell?.length ?? 0), 0);
    if (isFull()) {
      cut.add(statement);
      return;
    }
    rowsKept += 1;
    const rows = rowsOf.get(statement) ?? [];
    rowsOf.set(statement, rows);
    rows.push(cells);
  }

  return {
    row,
    copies(statement, isBinary) {
      if (isBinary) binaryBytes.set(statement, 0);
      else copying.add(statement);
    },
    copied(statement, chunk) {
      const bytes = binaryBytes.get(statement);
      if (bytes !== undefined) binaryBytes.set(statement, bytes + chunk.length);
      else if (isFull()) cut.add(statement);
      else {
        if (chunk.length > decodedMax) cut.add(statement);
        for (const line of linesOf(chunk)) row(statement, [line]);
      }
    },
    resultOf(statement, names, command) {
      const bytes = binaryBytes.get(statement);
      return {
        columns: copying.has(statement) ? [copiedColumn] : names,
        rows: rowsOf.get(statement) ?? [],
        command,
        truncated: cut.has(statement),
        ...(bytes === undefined ? {} : { binaryBytes: bytes }),
      };
    },
  };
}

/** As many as could be kept, and one more. */
function linesOf(chunk: Buffer): readonly string[] {
  const text = chunk.subarray(0, decodedMax).toString('utf8');
  return text.replace(/\n$/, '').split('\n', rowsMax + 1);
}

function shorten(cell: string | null): string | null {
  return cell !== null && cell.length > cellCharsMax ? `${cell.slice(0, cellCharsMax)}...` : cell;
}
