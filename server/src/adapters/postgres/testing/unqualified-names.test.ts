import { expect, it } from 'vitest';
import { unqualifiedNames } from './unqualified-names.ts';

it.each([
  ['SELECT now()', ['function now']],
  ['SELECT pg_catalog.now()', []],
  ['SELECT 1 = 2', ['operator = (AEXPR_OP)']],
  ['SELECT 1 OPERATOR(pg_catalog.=) 2', []],
  ['SELECT 1 IN (2)', ['operator = (AEXPR_IN)']],
  ['SELECT 1 IN (SELECT 2)', ['operator = (IN)']],
  ['SELECT 1 OPERATOR(pg_catalog.=) ANY (SELECT 2)', []],
  ['SELECT CASE 1 WHEN 2 THEN 3 END', ['operator = (CASE)']],
  ['SELECT 1::text, 1::pg_catalog.text, 1::int', ['type text']],
  ['TABLE pg_class', ['relation pg_class']],
  ['WITH a AS (SELECT 1) TABLE a', []],
  ['COPY pg_class TO STDOUT', ['relation pg_class']],
  ['CREATE TABLE s.t (a text)', ['type text']],
  ["SELECT 'a' LIKE 'b'", ['operator ~~ (AEXPR_LIKE)']],
])('%s', async (statement, names) => {
  expect(await unqualifiedNames(statement)).toEqual(names);
});
