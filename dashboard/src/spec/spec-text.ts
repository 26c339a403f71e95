/**
 * The text of a module as people read it: where each definition stands, what is said above it, and what its words are.
 *
 * Pure, and no parser (harness/tla is one): it goes by how our modules are laid out, where a definition begins in the first column.
 */

export interface TextRange {
  /** Both counted from 1, and included. */
  readonly first: number;
  readonly last: number;
}

export interface DefinitionText extends TextRange {
  readonly name: string;
  /** What is said above it; empty: nothing. */
  readonly comment: string;
}

const DEFINITION = /^(\w+)(?:\([^)]*\))?(?:\[[^\]]*\])? *==/;
const ENDS = /^(?:-{4,}|={4,}|\(\*|\\\*|VARIABLES?\b|CONSTANTS?\b|ASSUME\b|THEOREM\b|RECURSIVE\b|EXTENDS\b)/;

export function definitionsIn(text: string): ReadonlyMap<string, DefinitionText> {
  const lines = text.split('\n');
  const found = new Map<string, DefinitionText>();
  for (const [index, line] of lines.entries()) {
    const name = DEFINITION.exec(line)?.[1];
    if (name === undefined) continue;
    let last = index;
    for (let at = index + 1; at < lines.length; at++) {
      const next = lines[at]!;
      if (DEFINITION.test(next) || ENDS.test(next)) break;
      if (next.trim() !== '') last = at;
    }
    found.set(name, { name, first: index + 1, last: last + 1, comment: commentAbove(lines, index) });
  }
  return found;
}

/** Of the comment that ends right above that line, without what frames it. */
function commentAbove(lines: readonly string[], index: number): string {
  const words: string[] = [];
  for (let at = index - 1; at >= 0; at--) {
    const line = lines[at]!.trim();
    const isOne = line.startsWith('\\*') || line.endsWith('*)');
    if (!isOne) break;
    const said = line.replace(/^\\\*|^\(\*+|\*+\)$/g, '').trim();
    if (said !== '' && !/^\*+$/.test(said)) words.unshift(said.replaceAll(/^\*+|\*+\)?$/g, '').trim());
  }
  return words.join(' ').replaceAll(/\s+/g, ' ').trim();
}

/** Modules that a module puts in or refines, standard ones too. */
export function modulesNamedIn(text: string): readonly string[] {
  const extended = /^EXTENDS +([\w, \n]+?)(?=\n\s*\n|\n[A-Z(\\-])/m.exec(text)?.[1] ?? '';
  const instanced = [...text.matchAll(/\bINSTANCE +(\w+)/g)].map(([, name]) => name!);
  return [...new Set([...extended.split(/[\s,]+/).filter((name) => name !== ''), ...instanced])];
}

export type TokenKind = 'comment' | 'keyword' | 'operator' | 'string' | 'definition' | 'plain';

export interface TextToken {
  readonly kind: TokenKind;
  readonly text: string;
  /** Where it begins in its line, from 0. */
  readonly at: number;
}

const KEYWORDS = new Set(
  (
    'MODULE EXTENDS CONSTANT CONSTANTS VARIABLE VARIABLES ASSUME THEOREM RECURSIVE INSTANCE WITH LOCAL IF THEN ELSE CASE OTHER LET IN ' +
    'CHOOSE EXCEPT UNCHANGED ENABLED DOMAIN SUBSET UNION TRUE FALSE BOOLEAN LAMBDA'
  ).split(' '),
);
const PIECE =
  /(\\\*.*)|(\(\*)|("(?:[^"\\]|\\.)*")|([A-Za-z_]\w*)|(\\[A-Za-z]+|\/\\|\\\/|\|->|<=>|==|=>|<<|>>|->|<-|~>|:>|@@|\.\.|\[\]|<>|[=<>#~'@]+)|(\s+|\d+|.)/gy;

/** Line by line; comments nest, and may go over several lines. */
export function tokensIn(text: string): readonly (readonly TextToken[])[] {
  let depth = 0;
  return text.split('\n').map((line) => {
    const tokens: TextToken[] = [];
    const add = (kind: TokenKind, piece: string): void => {
      const last = tokens.at(-1);
      if (last?.kind === kind) tokens[tokens.length - 1] = { kind, text: last.text + piece, at: last.at };
      else tokens.push({ kind, text: piece, at });
    };
    const defined = DEFINITION.exec(line)?.[1];
    let at = 0;
    while (at < line.length) {
      if (depth > 0) {
        const end = endOfComment(line, at, depth);
        add('comment', line.slice(at, end.at));
        ({ at, depth } = end);
        continue;
      }
      PIECE.lastIndex = at;
      const match = PIECE.exec(line);
      if (match === null) break;
      if (match[2] !== undefined) {
        depth = 1;
        add('comment', '(*');
      } else if (match[1] !== undefined) add('comment', match[1]);
      else if (match[3] !== undefined) add('string', match[3]);
      else if (match[4] !== undefined) add(wordKind(match[4], at === 0 ? defined : undefined), match[4]);
      else add(match[5] === undefined ? 'plain' : 'operator', match[0]);
      at += match[0].length;
    }
    return tokens;
  });
}

function wordKind(word: string, defined: string | undefined): TokenKind {
  if (word === defined) return 'definition';
  return KEYWORDS.has(word) || /^[WS]F_/.test(word) ? 'keyword' : 'plain';
}

function endOfComment(line: string, from: number, open: number): { at: number; depth: number } {
  let depth = open;
  let at = from;
  while (at < line.length && depth > 0) {
    const two = line.slice(at, at + 2);
    if (two === '(*') depth++;
    else if (two === '*)') depth--;
    at += two === '(*' || two === '*)' ? 2 : 1;
  }
  return { at, depth };
}
