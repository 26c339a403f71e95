import { beforeAll, describe, expect, it } from 'vitest';
import { createLru } from './lru.ts';
import { createSqlParser, type SqlParser } from './parse-sql.ts';
import { resolve, writes } from './statement.ts';

let parse: SqlParser;
beforeAll(async () => {
  parse = await createSqlParser({ cacheBytesMax: 100_000 });
});

const kinds = (sql: string): string[] => {
  const parsed = parse(Buffer.from(sql));
  if (parsed.kind === 'unparsable') return ['unparsable'];
  return parsed.statements.map((statement) => statement.run.kind);
};

describe('classification', () => {
  it.each([
    'SELECT 1',
    'TABLE t',
    'VALUES (1)',
    'SELECT 1 UNION SELECT 2',
    'WITH x AS (SELECT 1) SELECT * FROM x',
    'EXPLAIN INSERT INTO t VALUES (1)',
    'EXPLAIN (ANALYZE false) DELETE FROM t',
    'EXPLAIN ANALYZE SELECT 1',
    'COPY t TO STDOUT',
    'COPY (SELECT 1) TO STDOUT',
    'FETCH 1 FROM c',
    'DECLARE c CURSOR WITH HOLD FOR SELECT 1',
  ])('read: %s', (sql) => expect(kinds(sql)).toEqual(['read']));

  it.each([
    'INSERT INTO t VALUES (1)',
    'SELECT 1 INTO x',
    'SELECT * FROM t FOR UPDATE',
    'SELECT 1 UNION (SELECT a FROM t FOR SHARE)',
    'WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x',
    'WITH x AS (WITH y AS (DELETE FROM t RETURNING *) SELECT * FROM y) SELECT * FROM x',
    'EXPLAIN ANALYZE UPDATE t SET a = 1',
    'EXPLAIN (ANALYZE, VERBOSE) INSERT INTO t VALUES (1)',
    'COPY t FROM STDIN',
    'COPY (DELETE FROM t RETURNING *) TO STDOUT',
    'CREATE TABLE x ()',
    'CALL p()',
    'DO $$ BEGIN END $$',
    'ANALYZE',
    'REINDEX TABLE t',
    'TRUNCATE t',
    'MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE',
    'REFRESH MATERIALIZED VIEW v',
  ])('write: %s', (sql) => expect(kinds(sql)).toEqual(['write']));

  it.each([
    'SHOW x',
    'SET x = 1',
    'RESET ALL',
    'VACUUM',
    'DISCARD ALL',
    'LISTEN x',
    'PREPARE p AS DELETE FROM t',
    'LOCK t',
    'CHECKPOINT',
    'DECLARE c CURSOR FOR SELECT 1',
  ])('bare: %s', (sql) => expect(kinds(sql)).toEqual(['bare']));

  it.each([
    "PREPARE TRANSACTION 'x'",
    "COMMIT PREPARED 'x'",
    "ROLLBACK PREPARED 'x'",
    'CREATE DATABASE x',
    'DROP DATABASE x',
    'ALTER DATABASE x SET a = 1',
    "CREATE TABLESPACE x LOCATION '/x'",
    'ALTER SYSTEM SET a = 1',
    'CREATE INDEX CONCURRENTLY i ON t (a)',
    'DROP INDEX CONCURRENTLY i',
    'REINDEX INDEX CONCURRENTLY i',
    'REINDEX (CONCURRENTLY) TABLE t',
    'ALTER TABLE t DETACH PARTITION p CONCURRENTLY',
    "CREATE SUBSCRIPTION s CONNECTION 'x' PUBLICATION p",
    "LOAD 'x'",
    'CREATE ROLE r',
    'ALTER USER u PASSWORD NULL',
    'ALTER ROLE r SET a = 1',
    'DROP ROLE r',
    'GRANT a TO b',
    'ALTER DATABASE x RENAME TO y',
    'ALTER DATABASE x OWNER TO y',
    "COMMENT ON DATABASE x IS 'y'",
    'GRANT CONNECT ON DATABASE x TO y',
  ])('refused: %s', (sql) => expect(kinds(sql)).toEqual(['refused']));

  it('transaction commands, in one string with others', () => {
    expect(
      kinds('BEGIN; SELECT 1; SAVEPOINT s; RELEASE s; ROLLBACK TO s; COMMIT AND CHAIN; ABORT; END'),
    ).toEqual(['begin', 'read', 'savepoint', 'savepoint', 'savepoint', 'commit', 'rollback', 'commit']);
  });

  it('quotes, comments and dollar quotes hide nothing and are no commands', () => {
    expect(kinds("SELECT '; COMMIT; '")).toEqual(['read']);
    expect(kinds("SELECT '\\'; COMMIT; --'")).toEqual(['read', 'commit']);
    expect(kinds('/* /* */ COMMIT; */ SELECT 1')).toEqual(['read']);
    expect(kinds('SELECT $a$ ; COMMIT; $a$ ; COMMIT')).toEqual(['read', 'commit']);
    expect(kinds("SELECT E'\\'; COMMIT; '")).toEqual(['read']);
  });

  it('EXECUTE is run as what it executes; of anything but a query it is refused', () => {
    const parsed = parse(Buffer.from('EXECUTE p(1)'));
    const [statement] = parsed.kind === 'statements' ? parsed.statements : [];
    if (statement === undefined) throw new Error('no statement');
    expect(resolve(statement, () => ({ kind: 'read' })).kind).toBe('read');
    expect(resolve(statement, () => writes).kind).toBe('write');
    expect(resolve(statement, () => ({ kind: 'commit', chain: false })).kind).toBe('refused');
    expect(resolve(statement, () => ({ kind: 'bare' })).kind).toBe('refused');
  });
});

describe('statement borders', () => {
  const cut = (sql: Buffer): string[] => {
    const parsed = parse(sql);
    if (parsed.kind === 'unparsable') throw new Error(parsed.message);
    return parsed.statements.map(({ start, end }) => sql.toString('latin1', start, end).trim());
  };

  it('are bytes of what was sent', () => {
    const sql = "SELECT 'é'; /* ü */ SELECT 'ö' ; SELECT 3";
    expect(cut(Buffer.from(sql, 'utf8')).map((text) => Buffer.from(text, 'latin1').toString('utf8'))).toEqual(
      ["SELECT 'é'", "SELECT 'ö'", 'SELECT 3'],
    );
  });

  it('hold for text that is not UTF-8', () => {
    const sql = "SELECT '\u00e9\u00e8'; SELECT '\u00fc'; COMMIT";
    expect(cut(Buffer.from(sql, 'latin1'))).toEqual(["SELECT '\u00e9\u00e8'", "SELECT '\u00fc'", 'COMMIT']);
  });

  it('nothing but blanks and comments is no statement', () => {
    for (const sql of ['', '  ', ';;', '-- x', '/* x */;']) expect(kinds(sql)).toEqual([]);
    expect(kinds('SELEC 1')).toEqual(['unparsable']);
  });
});

describe('cache', () => {
  it('what was learnt of a text is found again with it', () => {
    const first = parse(Buffer.from('SELECT learn()'));
    if (first.kind === 'statements' && first.statements[0] !== undefined)
      first.statements[0].learnt.writes = true;
    expect(parse(Buffer.from('SELECT learn()'))).toBe(first);
    expect(parse(Buffer.from('SELECT other()'))).not.toBe(first);
  });

  it('forgets the least recently used beyond its weight', () => {
    const lru = createLru<number>(10);
    lru.set('a', 1, 4);
    lru.set('b', 2, 4);
    expect(lru.get('a')).toBe(1);
    lru.set('c', 3, 4);
    expect([lru.get('a'), lru.get('b'), lru.get('c'), lru.weight]).toEqual([1, undefined, 3, 8]);
    lru.set('huge', 4, 11);
    expect([lru.get('huge'), lru.size]).toEqual([undefined, 2]);
    lru.set('a', 5, 6);
    expect([lru.get('a'), lru.weight]).toEqual([5, 10]);
  });
});

describe('long texts', () => {
  const padding = `VALUES (${"1, 'x;y', ".repeat(5_000)}1)`;

  it.each([
    `INSERT INTO t ${padding}`,
    `INSERT INTO t ${padding};`,
    `select '${'x'.repeat(40_000)}' ; `,
    `INSERT INTO t VALUES (E'\\'; \\\\', $a$ ; ' $a$, "a;b", $1) -- ; x\n /* ; /* ; */ ; */ ${' '.repeat(40_000)}`,
    `SELECT E'it''s; \\\\''; ${'x'.repeat(40_000)}'`,
  ])('a single query is taken as one that may write, unparsed (%#)', (sql) => {
    const parsed = parse(Buffer.from(sql));
    expect(parsed).toMatchObject({
      kind: 'statements',
      statements: [{ byParse: true, run: { kind: 'write' } }],
    });
  });

  it.each([
    [`INSERT INTO t ${padding}; COMMIT`, ['write', 'commit']],
    [`INSERT INTO t ${padding}; -- nothing`, ['write']],
    [`SELECT '\\'; COMMIT; SELECT '${'x'.repeat(40_000)}'`, ['read', 'commit', 'read']],
    [`SELECT f$a$ FROM t; COMMIT; SELECT $a$${'x'.repeat(40_000)}$a$`, ['read', 'commit', 'read']],
    [`COMMIT /* ${'x'.repeat(40_000)} */`, ['commit']],
  ])('anything else is parsed (%#)', (sql, expected) => {
    expect(kinds(sql)).toEqual(expected);
    const parsed = parse(Buffer.from(sql));
    expect(parsed.kind === 'statements' && parsed.statements.some((statement) => statement.byParse)).toBe(
      false,
    );
  });
});
