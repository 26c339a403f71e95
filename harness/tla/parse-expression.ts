/** Reads expressions, by the precedence of their operators. What is not read here is refused. */
import type { Token } from './lexer.ts';
import { parseBracket, parseBrace, parseTuple } from './parse-bracket.ts';
import type { Bound, Definition, Expression, Infix, Prefix } from './syntax.ts';
import { TlaError, type Place } from './tla-error.ts';
import type { TokenReader } from './token-reader.ts';

/** How strongly each binds. */
const infixes: Readonly<Record<Infix, number>> = {
  '=>': 1,
  '<=>': 2,
  '~>': 2,
  '/\\': 3,
  '\\/': 3,
  '=': 5,
  '/=': 5,
  '<': 5,
  '<=': 5,
  '>': 5,
  '>=': 5,
  '\\in': 5,
  '\\notin': 5,
  '\\subseteq': 5,
  '@@': 6,
  ':>': 7,
  '\\union': 8,
  '\\intersect': 8,
  '\\': 8,
  '..': 9,
  '+': 10,
  '-': 11,
  '%': 10,
  '\\X': 12,
  '*': 13,
  '\\div': 13,
  '\\o': 13,
};

/** Of those that need parentheses beside operators that bind more strongly, too: beside those up to here. */
const upTo: Readonly<Partial<Record<Infix, number>>> = { '%': 11 };

/** `a => b => c` and `a = b = c` are not TLA+, and neither are conjunctions and disjunctions mixed without parentheses. */
const associative = new Set<Infix>([
  '/\\',
  '\\/',
  '\\union',
  '\\intersect',
  '@@',
  '+',
  '-',
  '*',
  '\\o',
  '\\X',
]);

const prefixes: Readonly<Record<Prefix, number>> = {
  '[]': 4,
  '<>': 4,
  '~': 4,
  UNCHANGED: 4,
  ENABLED: 4,
  SUBSET: 8,
  UNION: 8,
  DOMAIN: 9,
  '-': 12,
};

/** Words that are no names of operators or variables. */
const KEYWORDS = new Set(
  (
    'IF THEN ELSE CASE OTHER LET IN CHOOSE EXCEPT LAMBDA INSTANCE WITH MODULE EXTENDS CONSTANT CONSTANTS ' +
    'VARIABLE VARIABLES ASSUME THEOREM RECURSIVE LOCAL ENABLED UNCHANGED SUBSET UNION DOMAIN'
  ).split(' '),
);

const placeOf = ({ module, line, column }: Token): Place => ({ module, line, column });

export function isSymbol(token: Token, text: string): boolean {
  return token.kind === 'symbol' && token.text === text;
}

/** `before`: the operator whose right operand it is, if that is what binds it. */
export function parseExpression(reader: TokenReader, strength = 0, before: Infix | null = null): Expression {
  let left = parsePrefixed(reader);
  for (;;) {
    const token = reader.peek();
    if (token.kind !== 'symbol' || !Object.hasOwn(infixes, token.text)) return left;
    const operator = token.text as Infix;
    if (before !== null && conflict(before, operator))
      throw new TlaError(`${operator} and ${before} need parentheses`, token);
    if (infixes[operator] <= strength) return left;
    reader.take();
    const right = parseExpression(reader, highest(operator), operator);
    left = { kind: 'infix', operator, left, right, place: placeOf(token) };
  }
}

function highest(operator: Infix): number {
  return upTo[operator] ?? infixes[operator];
}

/** Of two operators in a row without anything that binds less strongly between them. */
function conflict(before: Infix, operator: Infix): boolean {
  if (before === operator && associative.has(operator)) return false;
  return infixes[before] <= highest(operator) && infixes[operator] <= highest(before);
}

function parsePrefixed(reader: TokenReader): Expression {
  const token = reader.peek();
  const place = placeOf(token);
  if (token.kind === 'symbol' && (token.text === '/\\' || token.text === '\\/'))
    return parseList(reader, token.text, token.column);
  if (token.kind !== 'string' && Object.hasOwn(prefixes, token.text)) {
    const operator = token.text as Prefix;
    reader.take();
    return { kind: 'prefix', operator, operand: parseExpression(reader, prefixes[operator]), place };
  }
  return parsePostfixes(reader, parsePrimary(reader));
}

/** Conjuncts or disjuncts, one below the other. */
function parseList(reader: TokenReader, operator: '/\\' | '\\/', column: number): Expression {
  const items: Expression[] = [];
  const place = placeOf(reader.peek());
  for (;;) {
    const token = reader.peek();
    if (!isSymbol(token, operator) || token.column !== column) break;
    reader.take();
    items.push(reader.within(column, () => parseExpression(reader)));
  }
  return items.length === 1 ? items[0]! : { kind: 'list', operator, items, place };
}

function parsePostfixes(reader: TokenReader, operand: Expression): Expression {
  const token = reader.peek();
  const place = placeOf(token);
  if (reader.takeIf("'")) return parsePostfixes(reader, { kind: 'primed', operand, place });
  if (reader.takeIf('.'))
    return parsePostfixes(reader, { kind: 'field', operand, name: reader.expectName(), place });
  if (!reader.takeIf('[')) return operand;
  const [argument, ...more] = parseMany(reader, ']');
  if (argument === undefined || more.length > 0)
    throw new TlaError('functions of several arguments are not read', place);
  return parsePostfixes(reader, { kind: 'at', operand, argument, place });
}

function parsePrimary(reader: TokenReader): Expression {
  const token = reader.take();
  const place = placeOf(token);
  switch (token.kind) {
    case 'number':
      return { kind: 'number', value: Number(token.text), place };
    case 'string':
      return { kind: 'string', value: token.text, place };
    case 'name':
      return parseWord(reader, token.text, place);
    case 'symbol':
      return parseSymbol(reader, token.text, place);
    case 'separator':
    case 'end':
      throw new TlaError(`an expression is expected, not ${token.text}`, place);
    default:
      return token.kind satisfies never;
  }
}

function parseSymbol(reader: TokenReader, symbol: string, place: Place): Expression {
  switch (symbol) {
    case '(': {
      const inner = parseExpression(reader);
      reader.expect(')');
      return inner;
    }
    case '@':
      return { kind: 'current', place };
    case '<<':
      return parseTuple(reader, place);
    case '{':
      return parseBrace(reader, place);
    case '[':
      return parseBracket(reader, place);
    case '\\A':
    case '\\E': {
      const bounds = parseBounds(reader);
      reader.expect(':');
      return { kind: 'quantified', quantifier: symbol, bounds, body: parseExpression(reader), place };
    }
    default:
      throw new TlaError(`an expression is expected, not ${symbol}`, place);
  }
}

function parseWord(reader: TokenReader, word: string, place: Place): Expression {
  if (word === 'BOOLEAN') {
    const items = [false, true].map((value): Expression => ({ kind: 'boolean', value, place }));
    return { kind: 'set', items, place };
  }
  if (word === 'TRUE' || word === 'FALSE') return { kind: 'boolean', value: word === 'TRUE', place };
  if (word === 'IF') return parseIf(reader, place);
  if (word === 'CASE') return parseCase(reader, place);
  if (word === 'LET') return parseLet(reader, place);
  if (word === 'CHOOSE') {
    const [bound, ...more] = parseBounds(reader);
    if (bound === undefined || more.length > 0) throw new TlaError('CHOOSE has one bound', place);
    reader.expect(':');
    return { kind: 'choose', bound, body: parseExpression(reader), place };
  }
  const fairness = /^(WF|SF)_/.exec(word);
  if (fairness !== null) {
    reader.expect('(');
    const action = parseExpression(reader);
    reader.expect(')');
    return { kind: 'temporal', operator: fairness[1] as 'WF' | 'SF', action, place };
  }
  if (KEYWORDS.has(word)) throw new TlaError(`${word} is not read here`, place);
  if (reader.takeIf('!')) return { kind: 'ofInstance', instance: word, name: reader.expectName(), place };
  const operands = reader.takeIf('(') ? parseMany(reader, ')') : [];
  return { kind: 'apply', name: word, operands, place };
}

function parseIf(reader: TokenReader, place: Place): Expression {
  const condition = parseExpression(reader);
  reader.expect('THEN');
  const thenValue = parseExpression(reader);
  reader.expect('ELSE');
  return { kind: 'if', condition, thenValue, otherwise: parseExpression(reader), place };
}

function parseCase(reader: TokenReader, place: Place): Expression {
  const arms: { condition: Expression; value: Expression }[] = [];
  do {
    if (reader.takeIf('OTHER')) {
      reader.expect('->');
      return { kind: 'case', arms, otherwise: parseExpression(reader), place };
    }
    const condition = parseExpression(reader);
    reader.expect('->');
    arms.push({ condition, value: parseExpression(reader) });
  } while (reader.takeIf('[]'));
  return { kind: 'case', arms, otherwise: null, place };
}

function parseLet(reader: TokenReader, place: Place): Expression {
  const definitions: Definition[] = [];
  while (!reader.takeIf('IN')) definitions.push(parseDefinition(reader));
  return { kind: 'let', definitions, body: parseExpression(reader), place };
}

/** `Name == body` or `Name(a, b) == body`. */
export function parseDefinition(reader: TokenReader): Definition {
  const place = placeOf(reader.peek());
  const name = reader.expectName();
  if (KEYWORDS.has(name)) throw new TlaError(`${name} is no name`, place);
  const parameters: string[] = [];
  if (reader.takeIf('(')) {
    do parameters.push(reader.expectName());
    while (reader.takeIf(','));
    reader.expect(')');
  }
  reader.expect('==');
  return { name, parameters, body: parseExpression(reader), place };
}

/** Expressions with commas between them, up to `close`. */
export function parseMany(reader: TokenReader, close: string): Expression[] {
  const items: Expression[] = [];
  if (reader.takeIf(close)) return items;
  do items.push(parseExpression(reader));
  while (reader.takeIf(','));
  reader.expect(close);
  return items;
}

/** `x \in S, y, z \in T`. */
export function parseBounds(reader: TokenReader): Bound[] {
  const bounds: Bound[] = [];
  let plain: string[] = [];
  do {
    if (reader.takeIf('<<')) {
      const names: string[] = [];
      do names.push(reader.expectName());
      while (reader.takeIf(','));
      reader.expect('>>');
      reader.expect('\\in');
      bounds.push({ names, isTuple: true, set: parseExpression(reader, infixes['\\in']) });
      continue;
    }
    plain.push(reader.expectName());
    if (!reader.takeIf('\\in')) continue;
    const set = parseExpression(reader, infixes['\\in']);
    bounds.push(...plain.map((name): Bound => ({ names: [name], isTuple: false, set })));
    plain = [];
  } while (reader.takeIf(','));
  if (plain.length > 0) throw new TlaError(`${plain.join(', ')} has no set`, reader.peek());
  return bounds;
}
