/**
 * What may be altered at one node of the syntax tree.
 *
 * Responsible for: the alterations, each a replacement of a stretch of text. Conditions become true or false, lose a conjunct or a disjunct, or have a bound moved by
 * one; statements go, and with them messages, records and early returns; signs and quantifiers are exchanged. Literals, names and
 * what a message of an error says are left alone.
 */
import { bare, child, isNode, type SyntaxNode } from './syntax.ts';

export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const exchangedOperators: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '&': '|',
  '|': '&',
  '<<': '>>',
  '>>>': '<<',
};

const oppositeOperators: Readonly<Record<string, string>> = {
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '===': '!==',
  '!==': '===',
};

const exchangedAssignments: Readonly<Record<string, string>> = { '+=': '-=', '-=': '+=', '|=': '&=' };

const exchangedMethods: Readonly<Record<string, string>> = {
  every: 'some',
  some: 'every',
  min: 'max',
  max: 'min',
};

/** Those that say how a rule is broken: nothing of what they are given is looked at. */
const tellers: ReadonlySet<string> = new Set(['violated']);

export function isLeftAlone(node: SyntaxNode): boolean {
  if (node.type === 'TemplateLiteral' || node.type === 'TSSatisfiesExpression' || isType(node)) return true;
  return node.type === 'CallExpression' && tellers.has(String(child(node, 'callee')?.name));
}

function isType({ type }: SyntaxNode): boolean {
  if (type === 'ImportDeclaration') return true;
  return type.startsWith('TS') && type !== 'TSAsExpression' && type !== 'TSNonNullExpression';
}

export function alterationsOf(
  node: SyntaxNode,
  above: readonly SyntaxNode[],
  text: string,
): readonly Replacement[] {
  const parent = above.at(-1);
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return conditionConstant(node, true);
    case 'WhileStatement':
    case 'ForStatement':
      return conditionConstant(node, false);
    case 'LogicalExpression':
      return parent !== undefined && isSameChain(parent, node) ? [] : partsDropped(node, text);
    case 'UnaryExpression':
      return node.operator === '!' ? [replace(node, textOf(child(node, 'argument'), text))] : [];
    case 'BinaryExpression':
      return operatorExchanged(node, above, text);
    case 'AssignmentExpression':
      return assignmentExchanged(node, text);
    case 'CallExpression':
      return methodExchanged(node, text);
    case 'Literal':
      return typeof node.value === 'boolean' ? [replace(node, String(!node.value))] : [];
    case 'ExpressionStatement':
    case 'ContinueStatement':
    case 'BreakStatement':
    case 'ReturnStatement':
      return statementDropped(node, parent);
    default:
      return [];
  }
}

function replace(node: SyntaxNode, text: string): Replacement {
  return { start: node.start, end: node.end, text };
}

function textOf(node: SyntaxNode | null, text: string): string {
  return node === null ? '' : text.slice(node.start, node.end);
}

/** A chain of conjuncts or disjuncts loses them one by one: only what then remains unsaid is put here. A loop that never ends shows nothing. */
function conditionConstant(node: SyntaxNode, mayBeTrue: boolean): Replacement[] {
  const test = child(node, 'test');
  if (test === null) return [];
  const operator = bare(test).type === 'LogicalExpression' ? bare(test).operator : null;
  const constants = [
    ...(mayBeTrue && operator !== '&&' ? ['true'] : []),
    ...(operator === '||' ? [] : ['false']),
  ];
  return constants.map((constant) => replace(test, constant));
}

function isSameChain(parent: SyntaxNode, node: SyntaxNode): boolean {
  return parent.type === 'LogicalExpression' && parent.operator === node.operator;
}

function partsOf(node: SyntaxNode): SyntaxNode[] {
  return ['left', 'right'].flatMap((field) => {
    const part = child(node, field)!;
    return isSameChain(node, part) ? partsOf(part) : [part];
  });
}

function partsDropped(node: SyntaxNode, text: string): Replacement[] {
  const parts = partsOf(node);
  return parts.map((dropped) => {
    const rest = parts.filter((part) => part !== dropped).map((part) => textOf(part, text));
    return replace(node, `(${rest.join(` ${String(node.operator)} `)})`);
  });
}

/** Where a condition becomes true and false anyway, its opposite shows nothing more. */
function operatorExchanged(node: SyntaxNode, above: readonly SyntaxNode[], text: string): Replacement[] {
  const operator = String(node.operator);
  const others = [
    exchangedOperators[operator],
    isPartOfTest(node, above) ? undefined : oppositeOperators[operator],
  ];
  const [left, right] = [textOf(child(node, 'left'), text), textOf(child(node, 'right'), text)];
  return others.flatMap((other) => (other === undefined ? [] : [replace(node, `${left} ${other} ${right}`)]));
}

function isPartOfTest(node: SyntaxNode, above: readonly SyntaxNode[]): boolean {
  const parent = above.at(-1);
  if (parent === undefined) return false;
  if (['LogicalExpression', 'ParenthesizedExpression', 'UnaryExpression'].includes(parent.type))
    return isPartOfTest(parent, above.slice(0, -1));
  return child(parent, 'test') === node;
}

function assignmentExchanged(node: SyntaxNode, text: string): Replacement[] {
  const other = exchangedAssignments[String(node.operator)];
  if (other === undefined) return [];
  return [
    replace(node, `${textOf(child(node, 'left'), text)} ${other} ${textOf(child(node, 'right'), text)}`),
  ];
}

/** `filter` keeps everything, the others are exchanged. */
function methodExchanged(node: SyntaxNode, text: string): Replacement[] {
  const callee = child(node, 'callee');
  const property = callee?.type === 'MemberExpression' ? child(callee, 'property') : null;
  if (callee === null || property === null) return [];
  const name = String(property.name);
  if (name === 'filter') return [replace(node, textOf(child(callee, 'object'), text))];
  const other = exchangedMethods[name];
  return other === undefined ? [] : [replace(property, other)];
}

/** One that is all that an `if` does goes with the condition; a `return` of something must stay. */
function statementDropped(node: SyntaxNode, parent: SyntaxNode | undefined): Replacement[] {
  if (isNode(node.argument) || isOnlyDirective(node)) return [];
  const isSole = parent?.type === 'IfStatement' && child(parent, 'alternate') === null;
  const expression = child(node, 'expression');
  if (isSole || expression?.type === 'TSSatisfiesExpression') return [];
  return [replace(node, ';')];
}

function isOnlyDirective(node: SyntaxNode): boolean {
  return typeof node.directive === 'string';
}
