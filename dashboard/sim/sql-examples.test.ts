import { expect, test } from 'vitest';
import { examplesOf } from '../src/views/sql/sql-examples.ts';
import { tables } from './load.ts';
import { readStatement } from './model-sql.ts';
import { isBlankSql } from '../src/model/sql-blank.ts';

test('blanks, semicolons and comments are no statement', () => {
  for (const text of ['', ' \n', ';;;', '-- nothing', '-- one\n;', '/* a /* b */ c */ ;', '/* no end'])
    expect([text, isBlankSql(text)]).toEqual([text, true]);
  for (const text of ['SELECT 1', '-- one\nSELECT 1', '/* a */ SELECT 1', "'--'", '-', '/', '*/'])
    expect([text, isBlankSql(text)]).toEqual([text, false]);
});

test('the model of PostgreSQL understands the examples for it, and no other', () => {
  for (const { sql } of examplesOf(true)) expect(readStatement(sql).kind).not.toBe('other');
  expect(examplesOf(false).map(({ sql }) => readStatement(sql).kind)).toEqual(Array(4).fill('other'));
});

test('what the examples write is in a table that the load of a simulated group never drops', () => {
  const statements = examplesOf(true).map(({ sql }) => readStatement(sql));
  const written = statements.flatMap((one) => (one.kind === 'insert' ? [one.table] : []));
  expect(new Set(written)).toEqual(new Set(['guests']));
  expect(tables).not.toContain('guests');
  // One shows what the load has.
  expect(statements).toContainEqual({ kind: 'select', table: tables[0] });
});
