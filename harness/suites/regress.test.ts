import { describe, expect, test } from 'vitest';
import { comparable, copyFromHere } from './regress.ts';

describe('COPY of a data file of the suite', () => {
  test('is done by psql, as often as the file is named', () => {
    const sql = [
      "\\set filename :abs_srcdir '/data/hash.data'",
      "COPY one FROM :'filename';",
      "COPY two (a, b) FROM :'filename';",
      'SELECT 1;',
    ].join('\n');
    expect(copyFromHere(sql, '/in').split('\n')).toEqual([
      "\\set filename :abs_srcdir '/data/hash.data'",
      "\\copy one FROM '/in/data/hash.data'",
      "\\copy two (a, b) FROM '/in/data/hash.data'",
      'SELECT 1;',
    ]);
  });

  test('any other COPY stays with the server', () => {
    const sql = [
      "COPY early FROM :'filename';",
      "\\set filename :abs_srcdir '/data/hash.data'",
      "\\set filename :abs_builddir '/results/onek.data'",
      "COPY onek TO :'filename';",
      "COPY onek FROM :'filename';",
    ].join('\n');
    expect(copyFromHere(sql, '/in')).toBe(sql);
  });
});

describe('output of a file', () => {
  test('is the same when only places and numbered names differ', () => {
    const one =
      'could not open "/a/direct/output/x": pg_temp_80 RI_ConstraintTrigger_a_21203 pg_toast_32866_index';
    const other =
      'could not open "/a/through/output/x": pg_temp_81 RI_ConstraintTrigger_a_21175 pg_toast_32874_index';
    expect(comparable(one, '/a/direct/output')).toBe(comparable(other, '/a/through/output'));
  });

  test('differs when a result does', () => {
    expect(comparable('(21 rows)', '/a')).not.toBe(comparable('(22 rows)', '/a'));
  });
});
