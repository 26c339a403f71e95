/**
 * PostgreSQL's own parser (libpg-query, as WebAssembly): a text becomes a list of statements as trees of plain objects.
 *
 * Texts come as one character per byte of the client's ("binary" strings). So places are bytes, whatever the client's encoding is, and nothing is decoded: the scanner knows all
 * bytes from 128 on as letters. Encodings whose characters hold bytes below 128 in second place are not for this (see `client-text.ts`).
 */
import { hasLongOperatorRun, operatorRunMax, withBlanksForComments } from './bare-text.ts';
import { loadModule, parseSync, SqlError } from 'libpg-query';

/** A node of a tree: its kind is the only key of the object around it. */
export interface TreeNode {
  readonly [key: string]: TreeValue | undefined;
}
export type TreeValue = string | number | boolean | null | TreeNode | readonly TreeValue[];

export interface ParsedStatement {
  /** The kind of the statement, as `SelectStmt`. */
  readonly kind: string;
  readonly node: TreeNode;
  /** Bytes from the start of the text. */
  readonly start: number;
  readonly end: number;
}

export type Parsed =
  | { readonly kind: 'parsed'; readonly statements: readonly ParsedStatement[] }
  | {
      readonly kind: 'wrong';
      readonly sqlstate: string;
      readonly message: string;
      /** Bytes from 0. */
      readonly at: number | undefined;
    };

/** Once for the process, before anything is parsed. */
export async function loadParser(): Promise<void> {
  await loadModule();
}

/** The parser counts in UTF-8, where each of our characters from 128 on has two bytes. */
function placeMap(text: string): (utf8: number) => number {
  // oxlint-disable-next-line no-control-regex -- bytes are meant
  if (/^[\x00-\x7f]*$/.test(text)) return (utf8) => utf8;
  const places = new Uint32Array(text.length + 1);
  let utf8 = 0;
  for (let i = 0; i < text.length; i++) {
    places[i] = utf8;
    utf8 += text.charCodeAt(i) < 128 ? 1 : 2;
  }
  places[text.length] = utf8;
  return (wanted) => {
    let low = 0;
    let high = text.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

function mapPlaces(root: TreeNode, place: (utf8: number) => number): void {
  const open: TreeValue[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Array.isArray(value)) for (const item of value as readonly TreeValue[]) open.push(item);
    else if (typeof value === 'object' && value !== null) {
      const node = value as Record<string, TreeValue>;
      for (const [key, inner] of Object.entries(node)) {
        if (key === 'location' && typeof inner === 'number') {
          if (inner > 0) node[key] = place(inner);
        } else if (typeof inner === 'object' && inner !== null) open.push(inner);
      }
    }
  }
}

export function parseText(text: string): Parsed {
  if (text.includes('\0'))
    return {
      kind: 'wrong',
      sqlstate: '22021',
      message: 'a statement holds a byte 0',
      at: text.indexOf('\0'),
    };
  if (text === '') return { kind: 'parsed', statements: [] };
  const bare = withBlanksForComments(text);
  if (hasLongOperatorRun(bare))
    return {
      kind: 'wrong',
      sqlstate: '54000',
      message: `a statement has more than ${operatorRunMax} operator characters in a row`,
      at: undefined,
    };
  try {
    const place = placeMap(text);
    const tree = parseSync(bare) as unknown as TreeNode;
    const statements = ((tree.stmts ?? []) as TreeNode[]).map((raw): ParsedStatement => {
      const start = typeof raw.stmt_location === 'number' ? raw.stmt_location : 0;
      const length = typeof raw.stmt_len === 'number' ? raw.stmt_len : undefined;
      const stmt = raw.stmt as TreeNode;
      mapPlaces(stmt, place);
      const kind = Object.keys(stmt)[0] ?? '';
      return {
        kind,
        node: stmt[kind] as TreeNode,
        start: place(start),
        end: length === undefined ? text.length : place(start + length),
      };
    });
    return { kind: 'parsed', statements };
  } catch (error) {
    if (error instanceof RangeError)
      return { kind: 'wrong', sqlstate: '54001', message: 'stack depth limit exceeded', at: undefined };
    if (!(error instanceof SqlError)) throw error;
    return {
      kind: 'wrong',
      sqlstate: '42601',
      message: error.message,
      at: error.sqlDetails?.cursorPosition,
    };
  }
}
