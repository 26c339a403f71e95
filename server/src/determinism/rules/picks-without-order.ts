/**
 * LIMIT, OFFSET and DISTINCT ON without ORDER BY: which rows they leave depends on where rows lie in the files, which differs at a replica that was restarted.
 *
 * Responsible for: which of them give one answer all the same, in a parsed query and in a body that is a string. Not for whether it matters (in a read it does not).
 */
import { type BodyToken, tokensOf } from '../../pgwire/body-tokens.ts';
import type { TreeNode, TreeValue } from '../parser.ts';
import { nodesOf, word, type Visited } from '../tree.ts';

const picksRule = 'rows picked without an order';
const picksHint = 'Add an ORDER BY that leaves no ties.';

/** LIMIT ALL, LIMIT 0 and OFFSET 0 pick all rows, or none. `count`: undefined where there is no such clause. */
function picksSome(count: TreeValue | undefined): boolean {
  const constant = (count as TreeNode | undefined)?.A_Const as TreeNode | undefined;
  const number = constant?.ival as TreeNode | undefined;
  const isNothing = constant?.isnull === true || (number !== undefined && (number.ival ?? 0) === 0);
  return count !== undefined && !isNothing;
}

/** `SELECT 1 FROM ...`: its rows are alike. */
function isOfConstants(node: TreeNode): boolean {
  const targets = nodesOf(node.targetList, 'ResTarget');
  return (
    targets.length > 0 && targets.every(({ val }) => (val as TreeNode | undefined)?.A_Const !== undefined)
  );
}

/** Of a SELECT that takes some of its rows, and leaves open which. */
export function picksWithoutOrder({ kind, node, parent }: Visited): boolean {
  if (kind !== 'SelectStmt' || Array.isArray(node.sortClause)) return false;
  const distinctOn = Array.isArray(node.distinctClause) && JSON.stringify(node.distinctClause) !== '[{}]';
  if (!distinctOn && !picksSome(node.limitCount) && !picksSome(node.limitOffset)) return false;
  // Which rows are locked shows to others.
  if (Array.isArray(node.lockingClause)) return true;
  const isExists = parent?.kind === 'SubLink' && word(parent.node, 'subLinkType') === 'EXISTS_SUBLINK';
  return !isExists && !isOfConstants(node);
}

export const picksRefusal = {
  message: 'LIMIT, OFFSET or DISTINCT ON without ORDER BY in a statement that writes',
  hint: picksHint,
  rule: picksRule,
} as const;

/** A query of a body, as far as it was read: those in parentheses have their own. */
interface Query {
  readonly isExists: boolean;
  /** An operand of UNION and its kin: its list of columns is not that of all rows. */
  readonly isOperand: boolean;
  readonly isOfConstants: boolean;
  picks?: string;
  isOrdered?: true;
  locks?: true;
  skipsLocked?: true;
  isInto?: true;
  /** CREATE or ALTER of a role or a database, whose CONNECTION LIMIT picks nothing. */
  isOfRole?: true;
}

/** Where a query of a body begins that is not in parentheses, or what is no query ends. */
const beginnings = new Set(['select', 'perform', 'return', 'values', 'table', 'loop', 'execute']);
const setOperations = new Set(['union', 'intersect', 'except']);
const constants = new Set(['true', 'false', 'null']);
const haveConnections = new Set(['role', 'user', 'database']);
const lockStrengths = new Set(['update', 'no', 'share', 'key']);
/** A string in a string that is executed. */
const nestedMax = 2;
/** `FETCH FIRST (a + b) ROWS ONLY`: words and signs before ROWS. */
const fetchTokensMax = 16;

/** What a body that is a string says without ORDER BY; undefined: nothing of the kind. Strings are looked into where EXECUTE or its `format` is directly before them. */
function pickInBody(body: string, depth = 0): string | undefined {
  return new BodyQueries(body, depth).read();
}

class BodyQueries {
  private readonly tokens: readonly BodyToken[];
  private readonly depth: number;
  private readonly around: Query[] = [];
  private query: Query = begun();
  private found: string | undefined;

  constructor(body: string, depth: number) {
    this.tokens = tokensOf(body);
    this.depth = depth;
  }

  read(): string | undefined {
    for (let at = 0; at < this.tokens.length && this.found === undefined; at += 1) this.take(at);
    while (this.found === undefined && this.around.length > 0) this.close();
    this.judge();
    return this.found;
  }

  private take(at: number): void {
    const { kind, text } = this.tokens[at]!;
    if (kind === 'string') this.string(at);
    else if (kind === 'sign') this.sign(text, at);
    else if (this.isWord(at)) this.word(text, at);
  }

  private word(text: string, at: number): void {
    const { query } = this;
    if (this.isName(at)) return;
    if (beginnings.has(text)) this.begin(text, at);
    else if (setOperations.has(text)) this.next({ isOperand: true });
    else if (text === 'order' && this.is(at + 1, 'by')) query.isOrdered = true;
    else if (text === 'for' && lockStrengths.has(this.wordAt(at + 1))) query.locks = true;
    else if (text === 'skip' && this.is(at + 1, 'locked')) query.skipsLocked = true;
    else if (text === 'into') query.isInto = true;
    else if (text === 'alter' || text === 'create') this.define(at);
    else if (text === 'distinct' && this.is(at + 1, 'on')) query.picks = 'DISTINCT ON';
    else if (text === 'fetch' && this.isFetchClause(at)) query.picks = 'FETCH FIRST';
    else if (text === 'limit' && !this.isNothing(at + 1, ['all', 'null', '0'])) query.picks = 'LIMIT';
    else if (text === 'offset' && !this.isNothing(at + 1, ['0'])) query.picks = 'OFFSET';
  }

  private begin(text: string, at: number): void {
    const selects = text === 'select' || text === 'perform';
    this.next({
      isOperand: this.query.isOperand,
      isOfConstants: selects && !this.query.isOperand && this.isListOfConstants(at + 1),
    });
  }

  private define(at: number): void {
    if (haveConnections.has(this.wordAt(at + 1))) this.query.isOfRole = true;
  }

  private sign(sign: string, at: number): void {
    if (sign === '(') {
      this.around.push(this.query);
      this.query = begun({ isExists: this.is(at - 1, 'exists') });
    } else if (sign === ')') this.close();
    else if (sign === ';' || (sign === ':' && this.tokens[at + 1]?.text === '=')) this.next({});
    // What takes its place may be the order.
    else if (sign === '%' && this.depth > 0 && this.is(at + 1, 's')) this.query.isOrdered = true;
  }

  private close(): void {
    this.judge();
    this.query = this.around.pop() ?? begun();
  }

  private next(what: Partial<Query>): void {
    this.judge();
    this.query = begun({ isExists: this.query.isExists, ...what });
  }

  private judge(): void {
    const { picks, isOrdered, locks, skipsLocked, isInto, isExists, isOfConstants } = this.query;
    if (isOrdered === true) return;
    const isAlike = locks !== true && (isExists || isOfConstants);
    if (picks !== undefined && !isAlike) this.found ??= picks;
    // The first of the rows that nobody has locked.
    if (skipsLocked === true && isInto === true) this.found ??= 'INTO with SKIP LOCKED';
  }

  private string(at: number): void {
    const isFormat = this.tokens[at - 1]?.text === '(' && this.is(at - 2, 'format');
    const isExecuted = this.is(at - 1, 'execute') || (isFormat && this.is(at - 3, 'execute'));
    if (isExecuted && this.depth < nestedMax)
      this.found ??= pickInBody(this.tokens[at]!.text, this.depth + 1);
  }

  private isListOfConstants(from: number): boolean {
    let at = from;
    for (; this.tokens[at] !== undefined && !this.is(at, 'from') && !this.is(at, 'into'); at += 1) {
      const { kind, text } = this.tokens[at]!;
      if (kind !== 'string' && !constants.has(text) && !/^(?:\d+|,)$/.test(text)) return false;
    }
    return at > from;
  }

  private isFetchClause(at: number): boolean {
    if (!this.is(at + 1, 'first') && !this.is(at + 1, 'next')) return false;
    let next = at + 2;
    for (let count = 0; count < fetchTokensMax; count += 1) {
      if (this.is(next, 'row') || this.is(next, 'rows')) return this.is(next + 1, 'only');
      if (this.tokens[next]?.text === ';') return false;
      next = (this.tokens[next]?.closes ?? next) + 1;
    }
    return false;
  }

  /** One of `texts`, and nothing that goes on with it, as `0 + n` does. */
  private isNothing(at: number, texts: readonly string[]): boolean {
    const next = this.tokens[at + 1];
    const ends = next === undefined || next.kind === 'word' || next.text === ';' || next.text === ')';
    return ends && texts.includes(this.tokens[at]?.text ?? '');
  }

  /** A field (`p.limit`), a column's name (`AS limit`), or an option of a role. */
  private isName(at: number): boolean {
    const before = this.tokens[at - 1];
    const isOption = this.query.isOfRole === true && this.is(at - 1, 'connection');
    return isOption || this.is(at - 1, 'as') || (before?.kind === 'sign' && before.text === '.');
  }

  private isWord(at: number): boolean {
    const token = this.tokens[at];
    return token?.kind === 'word' && token.isQuoted !== true;
  }

  private wordAt(at: number): string {
    return this.isWord(at) ? this.tokens[at]!.text : '';
  }

  private is(at: number, text: string): boolean {
    return this.wordAt(at) === text;
  }
}

function begun(what: Partial<Query> = {}): Query {
  return { isExists: false, isOperand: false, isOfConstants: false, ...what };
}

export function bodyPickRefusal(body: string): { message: string; hint: string; rule: string } | undefined {
  const found = pickInBody(body);
  if (found === undefined) return undefined;
  return {
    message: `the body says ${found} without ORDER BY: the rows it picks may differ between replicas`,
    hint: picksHint,
    rule: picksRule,
  };
}
