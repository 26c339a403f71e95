import { expect, it } from 'vitest';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { findingsOf } from './report.ts';
import type { Outcome, Word } from './run-case.ts';

const copying: Word = { state: 'restoring', message: 'It is copied.', recovers: true };

function outcomeOf(code: Outcome['code'], ...words: Word[]): Outcome {
  return {
    target: 'data/pg_wal',
    action: 'empty',
    role: 'follower',
    when: 'stopped',
    replica: 'r1' as ReplicaId,
    code,
    copies: 0,
    ms: 120_000,
    said: words.at(-1)?.message ?? '',
    words,
  };
}

it.each<[string, Outcome]>([
  ['whole', outcomeOf('whole')],
  ['whole after a start', outcomeOf('restarted')],
  ['no such file', outcomeOf('absent')],
  [
    'one state with a sentence',
    outcomeOf('stated', copying, { ...copying, message: 'It is copied from r2.' }),
  ],
  ['down, and about to be replaced', outcomeOf('stated', { ...copying, state: 'databaseDown' })],
])('damage may end as: %s', (_what, outcome) => {
  expect(findingsOf([outcome])).toEqual([]);
});

it.each<[string, Outcome]>([
  ['serving without its files', outcomeOf('unnoticed')],
  [
    'starting for good',
    outcomeOf('stated', { ...copying, state: 'starting', message: 'PostgreSQL is starting.' }),
  ],
  [
    'down, and nothing is done about it',
    outcomeOf('stated', { ...copying, state: 'databaseDown', recovers: false }),
  ],
  ['one state after the other', outcomeOf('stated', copying, { ...copying, state: 'databaseDown' })],
  ['no sentence', outcomeOf('stated', { ...copying, message: null })],
  ['no answer', outcomeOf('stated', { ...copying, state: 'silent' })],
  ['nothing was seen at all', outcomeOf('stated')],
])('damage may not end as: %s', (_what, outcome) => {
  expect(findingsOf([outcome])).toHaveLength(1);
});
