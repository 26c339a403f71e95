/**
 * Statements that are refused by what they are: they act at one replica only, run code that nobody can look into, or change what all rules stand on.
 */
import type { ParsedStatement, TreeNode } from '../parser.ts';
import type { Refusal } from '../rewriting.ts';
import { nodesOf, strings, word } from '../tree.ts';
import { acknowledgeOf } from './acknowledge.ts';
import { withoutComments } from '../../pgwire/comments.ts';
import { namedInText } from './bodies.ts';
import { bodyPickRefusal } from './picks-without-order.ts';
import { effectOfBody } from './session-effects.ts';

type Why = Omit<Refusal, 'kind' | 'sqlstate'>;

const refusedKinds: ReadonlyMap<string, string> = new Map([
  ['AlterSystemStmt', 'ALTER SYSTEM'],
  ['LoadStmt', 'LOAD'],
  ['CreateTableSpaceStmt', 'CREATE TABLESPACE'],
  ['CreateSubscriptionStmt', 'CREATE SUBSCRIPTION'],
  ['CreateFdwStmt', 'CREATE FOREIGN DATA WRAPPER'],
  ['CreateForeignServerStmt', 'CREATE SERVER'],
  ['CreateForeignTableStmt', 'CREATE FOREIGN TABLE'],
  ['ImportForeignSchemaStmt', 'IMPORT FOREIGN SCHEMA'],
  ['CreatePLangStmt', 'CREATE LANGUAGE'],
]);

const extensions = new Set(
  'plpgsql pgcrypto uuid-ossp citext hstore pg_trgm btree_gin btree_gist ltree intarray unaccent cube earthdistance fuzzystrmatch tablefunc isn seg lo dict_int postgis'.split(
    ' ',
  ),
);

const off = /^(?:off|false|no|0)$/i;
/** What texts are read by, and the order of rows rests on, with the values that leave it as it is: dumps set some of them so. */
const fixed: ReadonlyMap<string, RegExp> = new Map([
  ['standard_conforming_strings', /^(?:on|true|yes|1)$/i],
  ['synchronize_seqscans', off],
  ['max_parallel_workers_per_gather', /^0$/],
  ['max_parallel_maintenance_workers', /^0$/],
  ['debug_parallel_query', off],
  ['gin_fuzzy_search_limit', /^0$/],
]);

/** What the executor sets for itself, and what the parser and all replicas must be able to rely on. `value`: undefined where it is set back, or is not told. */
export function settingRefusal(name: string, value: string | undefined): Why | undefined {
  const lower = name.toLowerCase();
  if (lower.startsWith('barista_fn.'))
    return { message: `${name} belongs to Barista`, rule: "the operation's clock" };
  if (lower === 'barista.acknowledge')
    return {
      message: 'barista.acknowledge is followed only in a SET or RESET of the session',
      hint: "SET barista.acknowledge = 'sync' as a statement of its own, outside of a transaction.",
      rule: 'settings of the gateway',
    };
  if (lower.startsWith('barista.'))
    return {
      message: `${name} is not served where statements are replicated`,
      rule: 'settings of the gateway',
    };
  if (value !== undefined && fixed.get(lower)?.test(value) === false)
    return { message: `${name} cannot be changed`, rule: 'fixed settings' };
  const isDeferrable = lower === 'default_transaction_deferrable' || lower === 'transaction_deferrable';
  if (isDeferrable && (value === undefined || !off.test(value)))
    return {
      message: `${name} cannot be set: a DEFERRABLE transaction would block all other sessions`,
      rule: 'waiting functions',
    };
  if (lower === 'search_path' && value !== undefined && /^\s*"?pg_temp\b/i.test(value))
    return {
      message:
        'search_path cannot begin with pg_temp: current_schema() would show a number that differs at each replica',
      hint: 'Put another schema before pg_temp.',
      rule: 'temporary schemas',
    };
  if (lower === 'seed')
    return { message: 'seed cannot be set', hint: 'Call setseed().', rule: "the operation's clock" };
  return undefined;
}

/** set_config's first argument, where the text shows it. */
export function setConfigRefusal(call: TreeNode): Why | undefined {
  const [name] = nodesOf(call.args, 'A_Const');
  const args = Array.isArray(call.args) ? (call.args as readonly TreeNode[]) : [];
  const value = (name?.sval as TreeNode | undefined)?.sval;
  if (args[0]?.A_Const === undefined || typeof value !== 'string')
    return { message: 'set_config of a name that is not a literal', rule: 'set_config' };
  const to = constantOf(args[1]);
  // What is no literal may be anything.
  return settingRefusal(value, to ?? (fixed.has(value.toLowerCase()) ? '?' : undefined));
}

/** Undefined: it is no constant. */
function constantOf(node: TreeNode | undefined): string | undefined {
  const constant = node?.A_Const as TreeNode | undefined;
  const text = (constant?.sval as TreeNode | undefined)?.sval;
  if (typeof text === 'string') return text;
  const number = constant?.ival as TreeNode | undefined;
  return number === undefined ? undefined : String(Number(number.ival ?? 0));
}

/** Of a SET, wherever it stands: by itself, or in the definition of a role, a database or a function. */
export function setRefusal(node: TreeNode): Why | undefined {
  const [first] = Array.isArray(node.args) ? (node.args as readonly TreeNode[]) : [];
  const value = node.kind === 'VAR_SET_VALUE' ? (constantOf(first) ?? '?') : undefined;
  return settingRefusal(word(node, 'name'), value);
}

/** As PostgreSQL keeps it. */
function bodyIn(options: readonly TreeNode[]): string {
  const arg = options.find((option) => option.defname === 'as')?.arg as TreeNode | undefined;
  const list = (arg?.List as TreeNode | undefined)?.items;
  return strings(list ?? (arg === undefined ? [] : [arg])).join('\n');
}

function functionRefusal(node: TreeNode, isKept: boolean): Why | undefined {
  const options = nodesOf(node.options ?? node.args, 'DefElem');
  const named = options.find((option) => option.defname === 'language')?.arg as TreeNode | undefined;
  const language = named === undefined ? 'plpgsql' : word(named.String as TreeNode, 'sval').toLowerCase();
  if (node.sql_body === undefined && language !== 'sql' && language !== 'plpgsql')
    return {
      message: `functions in language ${language} are not replicated`,
      hint: 'Write it in SQL or PL/pgSQL.',
      rule: 'other languages',
    };
  const body = bodyIn(options);
  const effect = isKept ? effectOfBody(body) : undefined;
  if (effect !== undefined) return effect;
  if (renamesDatabase(body))
    return {
      message: 'the body renames a database, which would wait for other sessions to leave it',
      hint: 'Have the client run ALTER DATABASE directly.',
      rule: 'bodies as strings',
    };
  const found = namedInText(body);
  if (found === undefined) return bodyPickRefusal(body);
  return {
    message: `the body names ${found}, which would differ between replicas`,
    hint: 'Call functions of barista_fn in it, or write an SQL body with BEGIN ATOMIC.',
    rule: 'bodies as strings',
  };
}

/** Of statements that wait so the only one that a function can run. The executor looks for it in the text of a request (payload/statements/databases-in-use.ts). */
function renamesDatabase(body: string): boolean {
  const bare = withoutComments(body);
  return /\balter\s+database\b/i.test(bare) && /\brename\b/i.test(bare);
}

/** What PostgreSQL keeps begins so; anything else it takes for the password itself. */
const kept = /^(?:SCRAM-SHA-256\$\d+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+|md5[0-9a-f]{32})$/;

function hasPlainPassword(node: TreeNode): boolean {
  return nodesOf(node.options, 'DefElem').some(({ defname, arg }) => {
    const text = (arg as TreeNode | undefined)?.String as TreeNode | undefined;
    return defname === 'password' && typeof text?.sval === 'string' && !kept.test(text.sval);
  });
}

function why(statement: ParsedStatement): Why | undefined {
  const { kind, node } = statement;
  const refused = refusedKinds.get(kind);
  if (refused !== undefined) return { message: `${refused} is not replicated`, rule: 'outside the database' };
  if (kind === 'CopyStmt' && (node.filename !== undefined || node.is_program === true))
    return {
      message: 'COPY with a file or a program of the server is not replicated',
      hint: 'Use STDIN or STDOUT.',
      rule: 'outside the database',
    };
  if (kind === 'CreateExtensionStmt' && !extensions.has(word(node, 'extname')))
    return {
      message: `extension ${word(node, 'extname')} is not supported: it may behave differently at each replica`,
      rule: 'extensions',
    };
  if ((kind === 'CreateRoleStmt' || kind === 'AlterRoleStmt') && hasPlainPassword(node))
    return {
      message: 'a plaintext password would be hashed with a different salt at each replica',
      hint: 'Give the hash (SCRAM-SHA-256$...), as \\password of psql does.',
      rule: 'passwords in the clear',
    };
  if (kind === 'VariableSetStmt' && acknowledgeOf(statement) === undefined) return setRefusal(node);
  if (kind === 'AlterRoleSetStmt' || kind === 'AlterDatabaseSetStmt')
    return setRefusal((node.setstmt ?? {}) as TreeNode);
  if (kind === 'CreateFunctionStmt' || kind === 'DoStmt')
    return functionRefusal(node, kind === 'CreateFunctionStmt');
  if ((kind === 'UpdateStmt' || kind === 'DeleteStmt') && isSettings(node.relation as TreeNode))
    return { message: 'pg_settings is read only', rule: 'set_config' };
  if (kind === 'CreateSchemaStmt' && word(node, 'schemaname') === 'barista_fn')
    return { message: 'schema barista_fn belongs to Barista', rule: "the operation's clock" };
  return strings(node.object).includes('barista_fn')
    ? { message: 'schema barista_fn belongs to Barista', rule: "the operation's clock" }
    : undefined;
}

const isSettings = (relation: TreeNode | undefined): boolean => relation?.relname === 'pg_settings';

export function statementRefusal(statement: ParsedStatement): Refusal | undefined {
  const found = why(statement);
  return found === undefined ? undefined : { kind: 'refused', sqlstate: '0A000', ...found };
}
