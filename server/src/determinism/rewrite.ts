/**
 * A client's text without what would differ between replicas: calls that read a clock, chance or the machine become calls of `barista_fn`; what cannot be made alike is refused.
 *
 * Pure but for the parser (`loadParser` first) and a bounded cache of what it found, by text.
 */
import { bytesOf, characterCounter, isParseable } from './client-text.ts';
import { applyEdits, inOrder, type Edit } from './edits.ts';
import { parseText } from './parser.ts';
import type { QueryRewriting, Refusal, RewriteContext, StatementFacts } from './rewriting.ts';
import { checkStatement } from './rules/check.ts';
import { RewritingCache } from './cache.ts';

/** What the rules find out about a text: it holds for every client whose context reads it alike. */
interface Found {
  readonly refusal?: Refusal;
  /** In bytes. */
  readonly edits: readonly Edit[];
  readonly statements: readonly StatementFacts[];
}

const cache = new RewritingCache<Found>(8 * 1024 * 1024);

function inspect(text: string, context: RewriteContext): Found {
  const refused = (refusal: Omit<Refusal, 'kind'>): Found => ({
    refusal: { kind: 'refused', ...refusal },
    edits: [],
    statements: [],
  });
  if (!isParseable(text, context.clientEncoding))
    return refused({
      sqlstate: '0A000',
      message: `a statement in ${context.clientEncoding} must be ASCII`,
      hint: 'Use client_encoding UTF8.',
      rule: 'client encodings',
    });
  if (!context.standardConformingStrings && text.includes('\\'))
    return refused({
      sqlstate: '0A000',
      message: 'a statement with a backslash needs standard_conforming_strings = on',
      hint: "Write E'...' where the backslash is to escape.",
      rule: 'standard_conforming_strings',
    });
  const parsed = parseText(text);
  if (parsed.kind === 'wrong') {
    const { sqlstate, message, at } = parsed;
    return refused({
      sqlstate,
      message: Buffer.from(message, 'latin1').toString('utf8'),
      ...(at === undefined ? {} : { position: at + 1 }),
      rule: 'syntax errors',
    });
  }
  const edits: Edit[] = [];
  const statements: StatementFacts[] = [];
  for (const statement of parsed.statements) {
    const checked = checkStatement(statement, text, context);
    if (checked.kind === 'refused') return { refusal: checked, edits: [], statements: [] };
    edits.push(...checked.edits);
    statements.push(checked.facts);
  }
  return { edits: inOrder(edits), statements };
}

/** `text`: one character per byte. */
export function rewriteBinary(text: string, context: RewriteContext): QueryRewriting {
  const key = `${context.clientEncoding}/${context.standardConformingStrings ? '' : '\\'}`;
  const found = cache.get(key, text, context.userFunctions) ?? inspect(text, context);
  cache.put(key, text, context.userFunctions, found);
  const characters = characterCounter(text, context.clientEncoding);
  if (found.refusal !== undefined) {
    const { position } = found.refusal;
    return position === undefined
      ? found.refusal
      : { ...found.refusal, position: characters(position - 1) + 1 };
  }
  const edits = found.edits.map(({ at, removed, inserted }) => {
    const start = characters(at);
    return { at: start, removed: characters(at + removed) - start, inserted };
  });
  return { kind: 'rewritten', sql: applyEdits(text, found.edits), statements: found.statements, edits };
}

/** For texts that are not on their way through the wire protocol: `sql` is Unicode. */
export function rewriteQuery(sql: string, context: RewriteContext): QueryRewriting {
  const result = rewriteBinary(Buffer.from(sql).toString('latin1'), { ...context, clientEncoding: 'UTF8' });
  if (result.kind === 'refused') return result;
  return {
    ...result,
    sql: result.edits.length === 0 ? sql : Buffer.from(bytesOf(result.sql)).toString('utf8'),
  };
}
