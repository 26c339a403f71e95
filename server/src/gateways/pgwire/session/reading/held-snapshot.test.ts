import { describe, expect, it } from 'vitest';
import { HeldSnapshot } from './held-snapshot.ts';
import { statementKind } from './statement-kind.ts';

const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ';

/** Of each request whether what it reads is settled. `I`, `T` and `E`: how PostgreSQL stands when it comes; null: it has more to answer. */
function held(
  ...requests: readonly (readonly [status: 'I' | 'T' | 'E' | null, text: string])[]
): readonly boolean[] {
  const snapshot = new HeldSnapshot();
  return requests.map(([status, text]) => snapshot.isHeldFor(statementKind(text), status));
}

describe('a snapshot is held', () => {
  it('once a transaction at REPEATABLE READ has been answered a query', () => {
    const asked = held(
      ['I', begin],
      ['T', 'SELECT 1'],
      ['T', 'TABLE t'],
      ['T', 'FETCH c'],
      ['T', 'SELECT 2'],
    );
    expect(asked).toEqual([false, false, true, true, true]);
  });

  it('until the transaction may have ended', () => {
    for (const ending of [
      'COMMIT AND CHAIN',
      'ROLLBACK',
      'SELECT 1; COMMIT AND CHAIN',
      'PREPARE TRANSACTION 1',
    ])
      expect(held(['I', begin], ['T', 'SELECT 1'], ['T', ending], ['T', 'SELECT 1']).at(-1)).toBe(false);
    expect(held(['I', begin], ['T', 'SELECT 1'], ['I', 'SELECT 1'], ['T', 'SELECT 1']).at(-1)).toBe(false);
  });

  it('not at another level, or where the level may be changed before the query', () => {
    expect(held(['I', 'BEGIN'], ['T', 'SELECT 1'], ['T', 'SELECT 1']).at(-1)).toBe(false);
    const level = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED';
    expect(held(['I', begin], ['T', level], ['T', 'SELECT 1'], ['T', 'SELECT 1']).at(-1)).toBe(false);
  });

  it('not where a query has failed, or is not answered yet', () => {
    expect(held(['I', begin], ['T', 'SELECT 1'], ['E', 'SELECT 1']).at(-1)).toBe(false);
    expect(held(['I', begin], ['T', 'SELECT 1'], [null, 'SELECT 1']).at(-1)).toBe(false);
    expect(held(['I', begin], [null, 'SELECT 1'], ['T', 'SELECT 1']).at(-1)).toBe(false);
  });
});

describe('a text says', () => {
  it.each([
    'begin isolation level repeatable read;',
    'START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
    'BEGIN WORK READ ONLY ISOLATION LEVEL REPEATABLE READ NOT DEFERRABLE',
  ])('that it begins a transaction at REPEATABLE READ: %s', (text) => {
    expect(statementKind(text)).toBe('beginsRepeatable');
  });

  it.each([
    'BEGIN',
    'BEGIN READ ONLY',
    'BEGIN ISOLATION LEVEL SERIALIZABLE',
    'BEGIN ISOLATION LEVEL REPEATABLE READ, ISOLATION LEVEL READ COMMITTED',
    'BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION ISOLATION LEVEL READ COMMITTED',
    'SELECT 1; SELECT 2',
    "SELECT ';'",
    '/* SELECT */ COMMIT AND CHAIN',
    'CALL p()',
    'SET a = 1',
    '',
  ])('nothing: %s', (text) => {
    expect(statementKind(text)).toBeNull();
  });

  it('that it is a query, or at least ends nothing', () => {
    expect(['select 1;', '\n WITH a AS (SELECT 1) TABLE a', 'VALUES (1)'].map(statementKind)).toEqual(
      Array(3).fill('query'),
    );
    expect(['FETCH ALL c', 'SHOW all', 'SAVEPOINT s'].map(statementKind)).toEqual(Array(3).fill('within'));
  });
});
