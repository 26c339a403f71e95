/** Compiles operators that stand between their operands. */
import { asSet, compile, compileCondition, placedError } from './compile.ts';
import { equal } from './equality.ts';
import { asFunction, joined } from './functions.ts';
import type { Evaluate } from './machine.ts';
import type { Scope } from './scope.ts';
import { Interval, ListedSet, Product } from './set-value.ts';
import { concatenated, singleton } from './standard-modules.ts';
import type { Expression, Infix } from './syntax.ts';
import { TlaError, type Place } from './tla-error.ts';
import type { Value } from './value.ts';

type Binary = (left: Value, right: Value, place: Place) => Value;

const NUMBER_MAX = 2 ** 31 - 1;

/** TLC counts no further. */
function counted(of: (a: number, b: number) => number): Binary {
  return numbers((a, b) => {
    const value = of(a, b);
    if (value > NUMBER_MAX || value < -NUMBER_MAX - 1) throw new TlaError(`${value} is too large a number`);
    return value;
  });
}

/** Whole parts are rounded down, so that what remains is at least 0. */
function divided(a: number, b: number): number {
  if (b === 0) throw new TlaError('a number is divided by 0');
  return Math.floor(a / b);
}

function remainder(a: number, b: number): number {
  if (b <= 0) throw new TlaError(`there is no remainder of a division by ${b}`);
  return a - divided(a, b) * b;
}

function numbers(of: (a: number, b: number) => Value): Binary {
  return (a, b, place) => {
    if (typeof a === 'number' && typeof b === 'number') return of(a, b);
    throw new TlaError('what is no number is taken for one', place);
  };
}

const isIn: Binary = (value, set, place) => asSet(set, place).has(value);

/** Those that need both of their operands. */
const binaries: Readonly<Partial<Record<Infix, Binary>>> = {
  '=': equal,
  '/=': (a, b) => !equal(a, b),
  '<': numbers((a, b) => a < b),
  '<=': numbers((a, b) => a <= b),
  '>': numbers((a, b) => a > b),
  '>=': numbers((a, b) => a >= b),
  '+': counted((a, b) => a + b),
  '-': counted((a, b) => a - b),
  '*': counted((a, b) => a * b),
  '\\div': counted(divided),
  '%': counted(remainder),
  '..': numbers((a, b) => new Interval(a, b)),
  '\\in': isIn,
  '\\notin': (value, set, place) => isIn(value, set, place) === false,
  '\\subseteq': (a, b, place) => {
    const other = asSet(b, place);
    return asSet(a, place).every((item) => other.has(item));
  },
  '\\union': (a, b, place) => asSet(a, place).union(asSet(b, place)),
  '\\intersect': (a, b, place) => {
    const other = asSet(b, place);
    return ListedSet.ofDistinct(
      asSet(a, place)
        .items()
        .filter((item) => other.has(item)),
    );
  },
  '\\': (a, b, place) => {
    const other = asSet(b, place);
    return ListedSet.ofDistinct(
      asSet(a, place)
        .items()
        .filter((item) => !other.has(item)),
    );
  },
  '\\X': (a, b, place) => new Product(asSet(a, place), asSet(b, place)),
  '\\o': concatenated,
  ':>': singleton,
  '@@': (f, g) => joined(asFunction(f), asFunction(g)),
};

/** STRING is no set that could be listed: nothing but whether a value is in it is evaluated. */
function isAllStrings(expression: Expression, { names, compilation: { program } }: Scope): boolean {
  return (
    expression.kind === 'apply' &&
    expression.name === 'STRING' &&
    expression.operands.length === 0 &&
    !names.has('STRING') &&
    !program.definitions.has('STRING')
  );
}

function compileIsString({ operator, left, place }: Expression & { kind: 'infix' }, scope: Scope): Evaluate {
  const value = compile(left, scope);
  return (frame) => {
    if (typeof value(frame) !== 'string') throw new TlaError('what is no string is asked to be one', place);
    return operator === '\\in';
  };
}

export function compileInfix(expression: Expression & { kind: 'infix' }, scope: Scope): Evaluate {
  const { operator, left, right, place } = expression;
  if ((operator === '\\in' || operator === '\\notin') && isAllStrings(right, scope))
    return compileIsString(expression, scope);
  const binary = binaries[operator];
  if (binary !== undefined) {
    // <<a, b, c>> and not <<<<a, b>>, c>>.
    if (operator === '\\X' && left.kind === 'infix' && left.operator === '\\X')
      throw new TlaError('a product of more than two sets is not evaluated', place);
    const first = compile(left, scope);
    const second = compile(right, scope);
    return (frame) => {
      const [a, b] = [first(frame), second(frame)];
      try {
        return binary(a, b, place);
      } catch (error) {
        throw placedError(error, place);
      }
    };
  }
  if (operator === '~>') throw new TlaError('what is temporal is not evaluated', place);
  const first = compileCondition(left, scope);
  const second = compileCondition(right, scope);
  if (operator === '/\\') return (frame) => first(frame) && second(frame);
  if (operator === '\\/') return (frame) => first(frame) || second(frame);
  if (operator === '=>') return (frame) => !first(frame) || second(frame);
  if (operator === '<=>') return (frame) => first(frame) === second(frame);
  throw new TlaError(`${operator} is not evaluated`, place);
}
