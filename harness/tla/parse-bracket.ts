/** Reads what stands between brackets, braces and angle brackets: functions, records, sets and tuples. */
import { isSymbol, parseBounds, parseExpression, parseMany } from './parse-expression.ts';
import type { Bound, Change, Expression } from './syntax.ts';
import { TlaError, type Place } from './tla-error.ts';
import type { TokenReader } from './token-reader.ts';

export function parseTuple(reader: TokenReader, place: Place): Expression {
  return { kind: 'tuple', items: parseMany(reader, '>>'), place };
}

/** `{a, b}`, `{x \in S : P}` or `{e : x \in S}`. */
export function parseBrace(reader: TokenReader, place: Place): Expression {
  if (reader.takeIf('}')) return { kind: 'set', items: [], place };
  const first = parseExpression(reader);
  if (reader.takeIf(':')) {
    const bound = boundOf(first);
    const read: Expression =
      bound === null
        ? { kind: 'map', body: first, bounds: parseBounds(reader), place }
        : { kind: 'filter', bound, body: parseExpression(reader), place };
    reader.expect('}');
    return read;
  }
  if (!reader.takeIf(',')) {
    reader.expect('}');
    return { kind: 'set', items: [first], place };
  }
  return { kind: 'set', items: [first, ...parseMany(reader, '}')], place };
}

/** `x \in S` or `<<x, y>> \in S`; null: it is something else. */
function boundOf(expression: Expression): Bound | null {
  if (expression.kind !== 'infix' || expression.operator !== '\\in') return null;
  const { left, right: set } = expression;
  if (left.kind === 'apply' && left.operands.length === 0) return { names: [left.name], isTuple: false, set };
  if (left.kind !== 'tuple') return null;
  const names = left.items.flatMap((item) =>
    item.kind === 'apply' && item.operands.length === 0 ? [item.name] : [],
  );
  return names.length === left.items.length ? { names, isTuple: true, set } : null;
}

export function parseBracket(reader: TokenReader, place: Place): Expression {
  const second = reader.peek(1);
  if (isSymbol(second, '|->')) return parseRecord(reader, place, '|->', 'record');
  if (isSymbol(second, ':')) return parseRecord(reader, place, ':', 'records');
  if (isSymbol(second, '\\in') || isSymbol(second, ',') || isSymbol(reader.peek(), '<<')) {
    const bounds = parseBounds(reader);
    reader.expect('|->');
    const body = parseExpression(reader);
    reader.expect(']');
    return { kind: 'function', bounds, body, place };
  }
  const operand = parseExpression(reader);
  if (reader.takeIf('EXCEPT')) return parseExcept(reader, operand, place);
  if (reader.takeIf('->')) {
    const range = parseExpression(reader);
    reader.expect(']');
    return { kind: 'functions', domain: operand, range, place };
  }
  reader.expect(']_');
  // The variables that may stay as they are.
  if (!reader.takeIf('<<')) reader.expectName();
  else parseMany(reader, '>>');
  return { kind: 'temporal', operator: 'box', action: operand, place };
}

function parseRecord(
  reader: TokenReader,
  place: Place,
  sign: '|->' | ':',
  kind: 'record' | 'records',
): Expression {
  const fields: { name: string; value: Expression }[] = [];
  do {
    const name = reader.expectName();
    reader.expect(sign);
    fields.push({ name, value: parseExpression(reader) });
  } while (reader.takeIf(','));
  reader.expect(']');
  return { kind, fields, place };
}

function parseExcept(reader: TokenReader, operand: Expression, place: Place): Expression {
  const changes: Change[] = [];
  do {
    reader.expect('!');
    const path: Expression[] = [];
    for (;;) {
      const token = reader.peek();
      if (reader.takeIf('.')) path.push({ kind: 'string', value: reader.expectName(), place: token });
      else if (reader.takeIf('[')) {
        path.push(parseExpression(reader));
        reader.expect(']');
      } else break;
    }
    if (path.length === 0) throw new TlaError('nothing is said of what changes', place);
    reader.expect('=');
    changes.push({ path, value: parseExpression(reader) });
  } while (reader.takeIf(','));
  reader.expect(']');
  return { kind: 'except', operand, changes, place };
}
