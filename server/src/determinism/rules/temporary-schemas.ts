/**
 * The schema of a session's temporary tables: `pg_temp_3` at one replica, `pg_temp_5` at another. As `pg_temp` it means the same everywhere.
 */
import type { ParsedStatement, TreeNode } from '../parser.ts';
import type { Refusal, StatementFacts } from '../rewriting.ts';
import { constantOf, strings, type Visited, word } from '../tree.ts';

type Why = Omit<Refusal, 'kind' | 'sqlstate'>;

const rule = 'temporary schemas';
const numbered = /^\s*"?pg_(?:toast_)?temp_\d+"?\s*(?:\.|$)/i;
const regTypes = /^reg(?!role)[a-z]+$/;

/** A name, or a text that is one. */
export function numberRefusal({ node }: Visited): Why | undefined {
  for (const value of Object.values(node)) {
    if (typeof value !== 'string' || !numbered.test(value)) continue;
    return {
      message: `${value.trim()} is a different schema at each replica`,
      hint: 'Write pg_temp.',
      rule,
    };
  }
  return undefined;
}

const nameOf = ({ kind, node }: Visited): string =>
  kind === 'FuncCall' ? (strings(node.funcname).at(-1) ?? '') : '';

/** In a read: it may show the number of the temporary schema. */
export function mayTellTemporarySchema(visited: Visited): boolean {
  const name = nameOf(visited);
  if (name === 'current_schema' || name === 'current_schemas' || name.startsWith('to_reg')) return true;
  return visited.kind === 'SQLValueFunction' && visited.node.op === 'SVFOP_CURRENT_SCHEMA';
}

/** `x = ANY (current_schemas(true))` shows nothing of it. */
const isCompared = ({ parent, key }: Visited): boolean =>
  parent?.kind === 'A_Expr' && parent.node.kind === 'AEXPR_OP_ANY' && key === 'rexpr';

const namesTemporary = (text: string | undefined): boolean => /pg_temp/i.test(text ?? '');

/** In a statement that writes, or defines something: the number would be kept. */
export function temporarySourceRefusal(visited: Visited): Why | undefined {
  const { kind, node } = visited;
  const name = nameOf(visited);
  const why = (what: string, hint: string): Why => ({
    message: `${what} may include the temporary schema, whose number differs at each replica`,
    hint,
    rule,
    position: Math.max(0, Number(node.location ?? 0)) + 1,
  });
  if (name === 'current_schemas' && !isCompared(visited))
    return why(name, "Use current_schema(), or current_setting('search_path').");
  if (name.startsWith('to_reg')) {
    const [first] = Array.isArray(node.args) ? (node.args as readonly TreeNode[]) : [];
    return namesTemporary(constantOf(first)) ? why(name, 'Write its name.') : undefined;
  }
  const relation = kind === 'CreateTrigStmt' ? (node.relation as TreeNode | undefined) : undefined;
  if (relation?.schemaname === 'pg_temp') return triggerRefusal(word(relation, 'relname'));
  if (kind !== 'TypeCast') return undefined;
  const type = strings((node.typeName as TreeNode | undefined)?.names).at(-1) ?? '';
  if (!regTypes.test(type)) return undefined;
  const text = constantOf(node.arg as TreeNode | undefined);
  const isSchemaOfRow = type === 'regnamespace' && text === undefined;
  return namesTemporary(text) || isSchemaOfRow ? why(type, 'Write its name.') : undefined;
}

/** The relation that a statement makes for its session only; undefined: it makes none. */
function temporaryMade({ kind, node }: ParsedStatement): string | undefined {
  const into = (node.into ?? node.intoClause) as TreeNode | undefined;
  const named = kind === 'CreateStmt' ? node.relation : kind === 'ViewStmt' ? node.view : into?.rel;
  const relation = named as TreeNode | undefined;
  if (relation === undefined) return undefined;
  const isTemporary = relation.relpersistence === 't' || word(relation, 'schemaname') === 'pg_temp';
  return isTemporary ? word(relation, 'relname') : undefined;
}

/** A trigger's function is told the schema of its table (TG_TABLE_SCHEMA), so none may be on such a table: which ones are, the session knows. */
export function ofTemporary(
  statement: ParsedStatement,
): Pick<StatementFacts, 'makesTemporary' | 'triggersOn'> {
  const made = temporaryMade(statement);
  if (made !== undefined) return { makesTemporary: made };
  if (statement.kind !== 'CreateTrigStmt') return {};
  const relation = (statement.node.relation ?? {}) as TreeNode;
  const schema = word(relation, 'schemaname');
  return schema === '' || schema === 'pg_temp' ? { triggersOn: word(relation, 'relname') } : {};
}

export const triggerRefusal = (name: string): Refusal => ({
  kind: 'refused',
  sqlstate: '0A000',
  message: `a trigger of the temporary table ${name} would see its schema, whose number differs at each replica`,
  hint: 'Use a permanent table, or replace the trigger with statements.',
  rule,
});
