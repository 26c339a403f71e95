import { expect, it } from 'vitest';
import { ownSql } from './own-sql.ts';

it('operators are qualified, and texts, signs and stars are not', () => {
  expect(ownSql("SELECT * FROM a WHERE b = 'x = ''y = z''' AND c <> -2 AND count(*) || 'n'")).toBe(
    "SELECT * FROM a WHERE b OPERATOR(pg_catalog.=) 'x = ''y = z''' AND c OPERATOR(pg_catalog.<>) -2 AND count(*) OPERATOR(pg_catalog.||) 'n'",
  );
});
