/** What an SQL text of perhaps several statements does to transactions, taken together. Pure. */
import type { StatementKind } from './statement-kinds.ts';
import { StatementReader } from './statement-reader.ts';
import type { TextRules } from './text-rules.ts';

export interface TextShape {
  readonly statements: number;
  /** Of the first one; `begin` if there are only settings before one; `setting` if there is none. */
  readonly first: StatementKind;
  /** A transaction is opened behind something else than settings. */
  readonly opensLate: boolean;
  /** One of them may end a transaction, or that is not clear. */
  readonly ends: boolean;
}

const endings: ReadonlySet<StatementKind> = new Set([
  'commit',
  'commitChain',
  'rollback',
  'rollbackChain',
  'prepare',
  'unclear',
]);

/** `from`, `to`: the text in `bytes`, which a zero byte may end. */
export function shapeOf(bytes: Buffer, from: number, to: number, rules: TextRules): TextShape {
  let statements = 0;
  let first: StatementKind = 'setting';
  let ends = false;
  let opensLate = false;
  let onlySettings = true;
  const reader = new StatementReader(rules, (kind) => {
    if (statements === 0 || (kind === 'begin' && onlySettings)) first = kind;
    if (kind === 'begin' && !onlySettings && first !== 'begin') opensLate = true;
    onlySettings &&= kind === 'setting';
    statements += 1;
    ends ||= endings.has(kind);
  });
  reader.push(bytes, from, to);
  reader.end();
  return { statements, first, opensLate, ends };
}
