/**
 * One statement against all rules: its edits and facts, or why it is refused.
 */
import { classOf, runsInBlock } from '../classify.ts';
import type { Edit } from '../edits.ts';
import type { ParsedStatement, TreeNode } from '../parser.ts';
import type { Refusal, RewriteContext, StatementFacts } from '../rewriting.ts';
import { constantOf, nodesOf, strings, type Visited, walk, word } from '../tree.ts';
import {
  clockWords,
  mayBeBuiltIn,
  ofOneReplica,
  ownSettings,
  ownViews,
  pgcryptoRefusal,
  refusedFunctions,
  replaced,
  takesSql,
} from './functions.ts';
import { bindingRefusal } from './bound-functions.ts';
import { clockTypes, holdsRelativeTime, isRelativeTime, mentionsClock } from './relative-times.ts';
import { acknowledgeOf } from './acknowledge.ts';
import { CatalogRows, ownColumns } from './catalog-rows.ts';
import { CatalogSchemas } from './catalog-schemas.ts';
import { clockConfig, clockSet } from './clocks.ts';
import { picksRefusal, picksWithoutOrder } from './picks-without-order.ts';
import { stringRefusal } from './sql-in-strings.ts';
import { documentRefusal } from './times-in-documents.ts';
import {
  mayTellTemporarySchema,
  numberRefusal,
  ofTemporary,
  temporarySourceRefusal,
} from './temporary-schemas.ts';
import { effectOfCall, nameEffect } from './session-effects.ts';
import { setConfigRefusal, setRefusal, statementRefusal } from './statements.ts';

export type Checked =
  | { readonly kind: 'checked'; readonly edits: readonly Edit[]; readonly facts: StatementFacts }
  | Refusal;

type Inspect = Parameters<typeof stringRefusal>[2];
type Finding = Omit<Refusal, 'kind' | 'sqlstate'> | Edit | undefined;

const systemColumns = new Set(['ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid']);
/** `name` or `pg_catalog.name` from `at` on: the whole of it gives way. */
function nameLength(text: string, at: number): number {
  const name = /^(?:"?pg_catalog"?\s*\.\s*)?(?:"[a-z_0-9]+"|[A-Za-z_0-9]+)/i.exec(text.slice(at, at + 200));
  return name?.[0].length ?? 0;
}

const argumentsOf = (node: TreeNode): readonly TreeNode[] =>
  Array.isArray(node.args) ? (node.args as readonly TreeNode[]) : [];

/** What looks for old transaction ids in catalogs: PostgreSQL's own, which is not compared. */
function isAgeOfCatalog(name: string, { args }: TreeNode): boolean {
  const columns = nodesOf(args, 'ColumnRef').flatMap(({ fields }) => strings(fields).slice(-1));
  return name === 'age' && columns.some((column) => ownColumns.has(column));
}

function checkCall(node: TreeNode, text: string, context: RewriteContext, inspect: Inspect): Finding {
  const parts = strings(node.funcname);
  const name = parts.at(-1) ?? '';
  const at = Number(node.location ?? 0);
  const ofPgcrypto = pgcryptoRefusal(parts);
  if (ofPgcrypto !== undefined) return { ...ofPgcrypto, position: at + 1 };
  if (!mayBeBuiltIn(parts)) return undefined;
  if (name === 'set_config') {
    const refusal =
      setConfigRefusal(node) ?? nameEffect(constantOf(argumentsOf(node)[0]) ?? '', text, context);
    if (refusal !== undefined) return { ...refusal, position: at + 1 };
    const ofClock = clockConfig(constantOf(argumentsOf(node)[0]) ?? '', argumentsOf(node)[1], text);
    return ofClock === undefined || 'inserted' in ofClock ? ofClock : { ...ofClock, position: at + 1 };
  }
  const refused = refusedFunctions.get(name);
  if (refused !== undefined)
    return { message: `${name} is not replicated`, hint: refused.hint, rule: refused.rule, position: at + 1 };
  if (takesSql.has(name)) {
    const refusal = stringRefusal(name, argumentsOf(node), inspect);
    return refusal === undefined ? undefined : { ...refusal, position: at + 1 };
  }
  if (isAgeOfCatalog(name, node)) return undefined;
  const counts = replaced.get(name);
  // A cast that is written as a call.
  if (counts === undefined) return readByClock(name, argumentsOf(node)[0], node.location);
  if (!counts.includes(Array.isArray(node.args) ? node.args.length : 0)) return undefined;
  if (parts.length === 1 && context.userFunctions?.has(name) === true)
    return {
      message: `${name} may mean a function of this database or PostgreSQL's own`,
      hint: 'Write its schema.',
      rule: 'functions of the same name',
      position: at + 1,
    };
  const length = nameLength(text, at);
  if (
    !text
      .slice(at, at + length)
      .toLowerCase()
      .replaceAll('"', '')
      .endsWith(name)
  )
    return {
      message: `${name} is written in an unsupported form`,
      rule: 'odd names',
      position: at + 1,
    };
  return { at, removed: length, inserted: `barista_fn.${name}` };
}

function checkClockWord(node: TreeNode): Finding {
  const name = clockWords.get(word(node, 'op'));
  if (name === undefined) return undefined;
  const at = Number(node.location ?? 0);
  const withPrecision = word(node, 'op').endsWith('_N');
  return {
    at,
    removed: name.length,
    inserted: `barista_fn.${name}${withPrecision ? '' : '()'}`,
  };
}

function checkLiteral({ node, parent }: Visited): Finding {
  const value = (node.sval as TreeNode | undefined)?.sval;
  if (typeof value !== 'string') return undefined;
  const position = Number(node.location ?? 0) + 1;
  const type = parent?.kind === 'TypeCast' ? (parent.node.typeName as TreeNode | undefined) : undefined;
  const named = type === undefined ? undefined : strings(type.names).at(-1);
  if (named !== undefined && clockTypes.has(named) && mentionsClock(value))
    return {
      message: `'${value}' as ${named} is relative to each replica's clock`,
      hint: 'Write CURRENT_TIMESTAMP, CURRENT_DATE + 1 and such.',
      rule: "'now' as a date or time",
      position,
    };
  if (named !== undefined && /^(?:text|varchar|bpchar|name|json|jsonb)$/.test(named)) return undefined;
  if (!(named === undefined ? isRelativeTime(value) : holdsRelativeTime(value))) return undefined;
  return {
    message: `'${value}' may mean the time at each replica`,
    hint: `Write '${value}'::text, or CURRENT_TIMESTAMP, CURRENT_DATE and such.`,
    rule: "'now' without a type",
    position,
  };
}

/** `('now'::text)::timestamptz`, `array['now'::text]::timestamptz[]`: the literal is a text, and is read by the clock all the same. */
function checkCast({ node }: Visited): Finding {
  const arg = node.arg as TreeNode | undefined;
  if (arg?.TypeCast === undefined && arg?.A_ArrayExpr === undefined) return undefined;
  return readByClock(strings((node.typeName as TreeNode | undefined)?.names).at(-1), arg, node.location);
}

function readByClock(type: string | undefined, arg: TreeNode | undefined, at: unknown): Finding {
  if (type === undefined || !clockTypes.has(type)) return undefined;
  const elements = (arg?.A_ArrayExpr as TreeNode | undefined)?.elements;
  const all = Array.isArray(elements) ? (elements as readonly TreeNode[]) : [arg];
  const value = all.map(constantOf).find((text) => text !== undefined && mentionsClock(text));
  if (value === undefined) return undefined;
  return {
    message: `'${value}' as ${type} is relative to each replica's clock`,
    hint: 'Write CURRENT_TIMESTAMP, CURRENT_DATE + 1 and such.',
    rule: "'now' as a date or time",
    position: Math.max(0, Number(at ?? 0)) + 1,
  };
}

/** Of a role, an aggregate and such: a text that is not written as a literal of an expression is. */
const timeOptions = new Set(['validUntil', 'initcond', 'minitcond']);

/** As PostgreSQL names those of columns: `SELECT *` shows `log_cnt`. */
const sequences = /_seq\d*$/;

function tellsOfOneReplica(visited: Visited): boolean {
  const { kind, node } = visited;
  if (isOfOneReplica(visited)) return true;
  if (columnsOf(visited).some((column) => ownColumns.has(column))) return true;
  return (
    ownViews.test(word(node, 'relname')) || (kind === 'RangeVar' && sequences.test(word(node, 'relname')))
  );
}

const ofCatalogs = /^(?:pg_catalog|information_schema)$/;
const oidTypes = /^(?:oid|reg[a-z]+)$/;

/** Numbers of objects: a replica that has crashed gives others to those that are made later, and is right all the same. */
function tellsOids({ kind, node }: Visited): boolean {
  if (kind === 'RangeVar' || kind === 'relation')
    return ofCatalogs.test(word(node, 'schemaname')) || word(node, 'relname').startsWith('pg_');
  if (kind === 'typeName' || kind === 'TypeName') return oidTypes.test(strings(node.names).at(-1) ?? '');
  if (kind === 'ColumnRef') return strings(node.fields).at(-1) === 'oid';
  return kind === 'FuncCall' && strings(node.funcname).at(-1)?.startsWith('lo_') === true;
}

function isOfOneReplica({ kind, node }: Visited): boolean {
  if (kind !== 'FuncCall') return false;
  const name = strings(node.funcname).at(-1) ?? '';
  if (name !== 'current_setting') return ofOneReplica.test(name);
  const setting = constantOf(argumentsOf(node)[0]);
  return setting !== undefined && ownSettings.test(setting);
}

/** Of a statement: `CACHE 20`, `DEFERRABLE`. */
function checkOption(node: TreeNode): Finding {
  const name = word(node, 'defname');
  const text = ((node.arg as TreeNode | undefined)?.String as TreeNode | undefined)?.sval;
  if (timeOptions.has(name) && typeof text === 'string' && mentionsClock(text))
    return {
      message: `'${text}' is relative to each replica's clock`,
      hint: 'Write the date and the time.',
      rule: "'now' as a date or time",
    };
  const integer = (node.arg as TreeNode | undefined)?.Integer as TreeNode | undefined;
  if (name === 'cache' && integer?.ival !== 1)
    return {
      message: 'a sequence with CACHE above 1 would lose cached numbers when a replica restarts',
      hint: 'Leave out CACHE.',
      rule: 'numbers in advance',
    };
  if (name === 'transaction_deferrable' && JSON.stringify(node.arg).includes('"ival":1'))
    return {
      message: 'a DEFERRABLE transaction would block all other sessions',
      hint: 'Leave out DEFERRABLE.',
      rule: 'waiting functions',
    };
  return undefined;
}

/** PostgreSQL takes `(x).name`, and `x.name` where no column is called so, for `name(x)`. */
function calledAsFields(visited: Visited): readonly Visited[] {
  const { kind, node } = visited;
  const fields = strings(kind === 'A_Indirection' ? node.indirection : node.fields);
  if (kind !== 'A_Indirection' && (kind !== 'ColumnRef' || fields.length < 2)) return [];
  const names = kind === 'A_Indirection' ? fields : fields.slice(-1);
  const arg: TreeNode =
    kind === 'A_Indirection' ? ((node.arg as TreeNode | undefined) ?? {}) : { ColumnRef: node };
  return names
    .filter((name) => !isNameOfColumns(name) || scalars.some((scalar) => arg[scalar] !== undefined))
    .map((name) => ({
      kind: 'FuncCall',
      parent: visited.parent,
      key: visited.key,
      node: { funcname: [{ String: { sval: name } }], args: [arg], location: -1 },
    }));
}

/** Many a table has a column of this name: it is a call where what stands before it is no row. */
const isNameOfColumns = (name: string): boolean => name === 'age' || name === 'uuidv7';
const scalars = ['TypeCast', 'A_Const', 'A_ArrayExpr', 'A_Expr', 'ParamRef', 'SQLValueFunction'];

/** Columns that are read: as such, as a field of a row (`(t).c`), or in the notation of a function (`c(t)`). */
function columnsOf({ kind, node }: Visited): readonly string[] {
  if (kind === 'ColumnRef')
    return nodesOf(node.fields, 'A_Star').length > 0 ? [] : strings(node.fields).slice(-1);
  if (kind === 'A_Indirection') return strings(node.indirection);
  if (kind !== 'FuncCall' || argumentsOf(node).length !== 1) return [];
  const name = strings(node.funcname);
  return name.length === 1 ? name : [];
}

function columnRefusal(visited: Visited, isWrite: boolean): Finding {
  const { node } = visited;
  const at = node.location === undefined ? {} : { position: Number(node.location) + 1 };
  for (const column of columnsOf(visited)) {
    if (systemColumns.has(column))
      return { message: `system column ${column} differs between replicas`, rule: 'system columns', ...at };
    if (isWrite && ownColumns.has(column))
      return {
        message: `${column} is replica-specific and cannot be used in a statement that writes`,
        rule: 'statistics views',
        ...at,
      };
  }
  return undefined;
}

interface Surroundings {
  readonly text: string;
  readonly context: RewriteContext;
  readonly isWrite: boolean;
  readonly inspect: Inspect;
}

function check(visited: Visited, { text, context, isWrite, inspect }: Surroundings): Finding {
  const { kind, node } = visited;
  const temporary = numberRefusal(visited) ?? (isWrite ? temporarySourceRefusal(visited) : undefined);
  if (temporary !== undefined) return temporary;
  if (isWrite && isOfOneReplica(visited))
    return {
      message: `${strings(node.funcname).at(-1)} is replica-specific and cannot be used in a statement that writes`,
      rule: 'statistics views',
      position: Number(node.location ?? 0) + 1,
    };
  const ofColumn = columnRefusal(visited, isWrite);
  if (ofColumn !== undefined) return ofColumn;
  if (kind === 'FuncCall') return checkCall(node, text, context, inspect);
  // Of a function, for its time.
  if (kind === 'VariableSetStmt')
    return (visited.parent === undefined ? undefined : setRefusal(node)) ?? clockSet(node, text);
  if (kind === 'DefElem') return checkOption(node);
  if (word(node, 'relpersistence') === 'u' || word(node, 'subtype') === 'AT_SetUnLogged')
    return {
      message: 'unlogged tables are not supported: a crash would empty one at a single replica',
      hint: 'Leave out UNLOGGED.',
      rule: 'unlogged tables',
    };
  if (kind === 'SQLValueFunction') return checkClockWord(node);
  if (kind === 'A_Const') return checkLiteral(visited);
  if (kind === 'TypeCast') return checkCast(visited);
  if (isWrite && picksWithoutOrder(visited)) return picksRefusal;
  const inDocument = documentRefusal(visited);
  if (inDocument !== undefined) return inDocument;
  if (kind === 'RangeTableSample' && node.repeatable === undefined)
    return { message: 'TABLESAMPLE without REPEATABLE', rule: 'samples' };
  if ((kind === 'RangeVar' || kind === 'relation') && isWrite && ownViews.test(word(node, 'relname')))
    return {
      message: `${word(node, 'relname')} is replica-specific and cannot be used in a statement that writes`,
      rule: 'statistics views',
      position: Number(node.location ?? 0) + 1,
    };
  return undefined;
}

function effectIn(statement: ParsedStatement, { kind, node }: Visited): Finding {
  if (kind !== 'FuncCall') return undefined;
  const effect = effectOfCall(statement, strings(node.funcname).at(-1) ?? '');
  return effect && { ...effect, position: Number(node.location ?? 0) + 1 };
}

function setNameEffect(
  { kind, node }: ParsedStatement,
  text: string,
  context: RewriteContext,
): ReturnType<typeof nameEffect> {
  const sets = kind === 'VariableSetStmt' && word(node, 'kind').startsWith('VAR_SET');
  return sets ? nameEffect(word(node, 'name'), text, context) : undefined;
}

/** Without a position where the parser tells none. */
function refusalOf({ position = 0, ...why }: Exclude<Finding, Edit | undefined>): Refusal {
  return { kind: 'refused', sqlstate: '0A000', ...why, ...(position > 0 ? { position } : {}) };
}

/** A string in a string in a string: each is parsed anew. */
const nestedStringsMax = 2;

/** `around`: of the statement whose string it is; `depth` counts such strings. */
export function checkStatement(
  statement: ParsedStatement,
  text: string,
  context: RewriteContext,
  around = { depth: 0, isWrite: false },
): Checked {
  const refused = statementRefusal(statement) ?? bindingRefusal(statement);
  if (refused !== undefined) return refused;
  const unkept = setNameEffect(statement, text, context);
  if (unkept !== undefined) return { kind: 'refused', sqlstate: '0A000', ...unkept };
  const edits: Edit[] = [];
  let refusal: Refusal | undefined;
  const itsClass = classOf(statement);
  const isWrite = itsClass === 'other' || around.isWrite;
  let local = statement.kind === 'ExplainStmt' || statement.kind === 'VariableShowStmt';
  const inspect: Inspect = (inner, innerText) => {
    if (around.depth === nestedStringsMax) return { message: 'strings in strings that are executed' };
    const checked = checkStatement(inner, innerText, context, { depth: around.depth + 1, isWrite });
    if (checked.kind === 'refused') return checked;
    if (checked.edits.length > 0) return { message: checked.edits[0]!.inserted };
    local ||= checked.facts.compare === 'none';
    return undefined;
  };
  const schemas = new CatalogSchemas();
  const rows = new CatalogRows();
  const surroundings = { text, context, isWrite, inspect };
  walk(statement.kind, statement.node, (visited) => {
    if (refusal !== undefined) return false;
    schemas.visit(visited);
    rows.visit(visited);
    for (const seen of [visited, ...calledAsFields(visited)]) {
      const finding = effectIn(statement, seen) ?? check(seen, surroundings);
      if (finding !== undefined && 'inserted' in finding) edits.push(finding);
      else if (finding !== undefined) refusal = refusalOf(finding);
      local ||= tellsOfOneReplica(seen);
    }
    local ||= tellsOids(visited);
    // A read answers differently at replicas that are the same.
    local ||= picksWithoutOrder(visited) || mayTellTemporarySchema(visited);
    return true;
  });
  if (refusal !== undefined) return refusal;
  const ofCatalogRows = schemas.refusal() ?? rows.refusal(isWrite);
  if (ofCatalogRows !== undefined) return { kind: 'refused', sqlstate: '0A000', ...ofCatalogRows };
  const acknowledge = acknowledgeOf(statement);
  return {
    kind: 'checked',
    edits,
    facts: {
      class: itsClass,
      name: statement.kind,
      inBlock: runsInBlock(statement),
      compare: local ? 'none' : 'rows',
      ...(acknowledge === undefined ? {} : { acknowledge }),
      ...ofTemporary(statement),
    },
  };
}
