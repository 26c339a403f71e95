/**
 * What a statement does to transactions, by its first words. Pure, and no parser: it is asked only for what may not be known of a session whose leader
 * has gone away, and for transactions that have a name.
 */

/**
 * `begin`, `commit`, `rollback` (`...Chain`: and a new block begins). `prepare`: PREPARE TRANSACTION. `procedure`: CALL and DO, which may end transactions themselves. `alone`:
 * it cannot be run in a transaction block, and may use several transactions. `setting`: it writes nothing. `unclear`: not to be told from its words. `plain`: all the rest.
 */
export type StatementKind =
  | 'begin'
  | 'commit'
  | 'commitChain'
  | 'rollback'
  | 'rollbackChain'
  | 'prepare'
  | 'procedure'
  | 'alone'
  | 'setting'
  | 'unclear'
  | 'plain';

/** As many words of a statement as `kindOf` looks at in order; of some statements it needs to know more. */
export const wordsLooked = 6;

const settings: ReadonlySet<string> = new Set([
  'set',
  'reset',
  'show',
  'discard',
  'listen',
  'unlisten',
  'deallocate',
  'close',
]);
const definitions: ReadonlySet<string> = new Set(['create', 'drop', 'alter', 'refresh']);
const alone: ReadonlySet<string> = new Set([
  'vacuum',
  'reindex',
  'cluster',
  'analyze',
  'analyse',
  'checkpoint',
]);
/** Kinds of objects whose definition cannot be rolled back. */
const globalObjects: ReadonlySet<string> = new Set(['database', 'tablespace', 'system', 'subscription']);

const transactionWords: readonly string[] = [
  'begin',
  'start',
  'commit',
  'end',
  'rollback',
  'abort',
  'prepare',
  'call',
  'do',
];
/** A statement that begins with any other word is `plain`. */
export const tellingWords: ReadonlySet<string> = new Set([
  ...transactionWords,
  ...settings,
  ...definitions,
  ...alone,
]);

/** All words that `kindOf` knows. */
export const knownWords: ReadonlySet<string> = new Set([
  ...tellingWords,
  ...globalObjects,
  'transaction',
  'prepared',
  'constraints',
  'to',
  'chain',
  'no',
  'concurrently',
  'atomic',
]);

/** Whether `kindOf` needs to hear of every word of a statement that begins with this one. */
export function needsAllWords(firstWord: string): boolean {
  return definitions.has(firstWord);
}

/**
 * `words`: the first words of the statement, in lower case, without comments; null stands for anything that is none of the words it knows. `later`: whether CONCURRENTLY, and ATOMIC, is
 * among the later words of a statement that `needsAllWords`.
 */
export function kindOf(
  words: readonly (string | null)[],
  later: { readonly concurrently: boolean; readonly atomic: boolean },
): StatementKind {
  const [first, second] = words;
  switch (first) {
    case 'begin':
      return 'begin';
    case 'start':
      return second === 'transaction' ? 'begin' : 'plain';
    case 'commit':
    case 'end':
      if (second === 'prepared') return 'alone';
      return chains(words) ? 'commitChain' : 'commit';
    case 'rollback':
    case 'abort':
      if (second === 'prepared') return 'alone';
      if (words.includes('to')) return 'plain';
      return chains(words) ? 'rollbackChain' : 'rollback';
    case 'prepare':
      return second === 'transaction' ? 'prepare' : 'setting';
    case 'call':
    case 'do':
      return 'procedure';
    case 'set':
      return second === 'constraints' ? 'plain' : 'setting';
    case null:
    case undefined:
      return 'plain';
    default:
  }
  if (settings.has(first)) return 'setting';
  if (alone.has(first)) return 'alone';
  if (!definitions.has(first)) return 'plain';
  // The body of a function in SQL's own form is statements between BEGIN ATOMIC and END.
  if (later.atomic) return 'unclear';
  if (later.concurrently || (second !== undefined && second !== null && globalObjects.has(second)))
    return 'alone';
  return 'plain';
}

function chains(words: readonly (string | null)[]): boolean {
  return words.includes('chain') && !words.includes('no');
}
