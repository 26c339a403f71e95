/**
 * What changes a session beyond its transaction: the executor looks for it in the text of each request, to give it back to a session that it opens again. So it must stand there, and not in a definition (a function, a view, a default) that a request may use.
 */
import { withoutComments } from '../../pgwire/comments.ts';
import { customNamesIn } from '../../pgwire/custom-names.ts';
import { isAscii } from '../client-text.ts';
import type { ParsedStatement } from '../parser.ts';
import type { RewriteContext } from '../rewriting.ts';

const rule = 'what a definition does to a session';
const hint =
  'Have the client do it directly, or limit it to the transaction (SET LOCAL, pg_try_advisory_xact_lock).';

export interface SessionEffect {
  readonly message: string;
  readonly hint: string;
  readonly rule: string;
}

/** What these do they do when they are executed, and in their own text. */
const atOnce: ReadonlySet<string> = new Set([
  'SelectStmt',
  'InsertStmt',
  'UpdateStmt',
  'DeleteStmt',
  'MergeStmt',
  'CallStmt',
  'ExplainStmt',
  'PrepareStmt',
  'ExecuteStmt',
  'DeclareCursorStmt',
  'CopyStmt',
  'CreateTableAsStmt',
]);
const functions: ReadonlySet<string> = new Set([
  'set_config',
  'pg_try_advisory_lock',
  'pg_try_advisory_lock_shared',
]);

/** A setting whose name is not ASCII, and that the executor would not find in the text. */
export function nameEffect(
  name: string,
  text: string,
  { clientEncoding }: RewriteContext,
): SessionEffect | undefined {
  if (isAscii(name)) return undefined;
  if (/^utf-?8$/i.test(clientEncoding) && customNamesIn(text).includes(customNamesIn(`'${name}'`)[0] ?? ''))
    return undefined;
  return {
    message: 'a setting with a non-ASCII name cannot be restored when a replica restarts',
    hint: 'Use client_encoding UTF8, and write the name without escapes and comments.',
    rule: 'names of settings',
  };
}

/** Of a call in a statement. */
export function effectOfCall({ kind }: ParsedStatement, name: string): SessionEffect | undefined {
  if (atOnce.has(kind) || !functions.has(name)) return undefined;
  return { message: `${name} in a definition`, hint, rule };
}

const begins = String.raw`(?:^|;|>>|\b(?:begin|then|else|loop)\b|\bexecute\s+(?:format\s*\(\s*)?e?'|\bexecute\s+(?:format\s*\(\s*)?\$\w*\$)\s*`;
const words = String.raw`(?:set\s+(?!local\b|transaction\b|constraints\b)|reset\s|listen\s|unlisten\b|prepare\s|deallocate\s|discard\s)`;
const statement = new RegExp(begins + words, 'i');
const lock = /\bpg_try_advisory_lock(?:_shared)?\b/i;

/** Of a body that is a string. */
export function effectOfBody(body: string): SessionEffect | undefined {
  const bare = withoutComments(body);
  const found = lock.exec(bare) ?? statement.exec(bare);
  if (found === null) return undefined;
  return {
    message: `the body says ${found[0].trim().split(/\s/).at(-1)}, which outlives its transaction`,
    hint,
    rule,
  };
}
