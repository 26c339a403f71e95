import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { kindOfBeginning, kindOfStatement } from '../gateways/pgwire/codec/single-statement.ts';
import type { StatementKind } from './statement-kinds.ts';
import { StatementReader } from './statement-reader.ts';
import { shapeOf } from './text-shape.ts';
import { rulesAfter, type TextRules, usualRules } from './text-rules.ts';

function kinds(sql: string | Buffer, rules: TextRules = usualRules): StatementKind[] {
  const bytes = typeof sql === 'string' ? Buffer.from(sql) : sql;
  const answers: StatementKind[][] = [];
  for (const size of [bytes.length + 1, 1, 2, 3, 7]) {
    const seen: StatementKind[] = [];
    const reader = new StatementReader(rules, (kind) => seen.push(kind));
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes, at, Math.min(at + size, bytes.length));
    reader.end();
    answers.push(seen);
  }
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  return answers[0]!;
}

describe('the kind of a statement', () => {
  it.each([
    ['BEGIN', 'begin'],
    ['begin isolation level serializable', 'begin'],
    ['Start Transaction Read Only', 'begin'],
    ['COMMIT', 'commit'],
    ['  end  work ;', 'commit'],
    ['COMMIT AND CHAIN', 'commitChain'],
    ['COMMIT TRANSACTION AND NO CHAIN', 'commit'],
    ['COMMIT PREPARED $$x$$', 'alone'],
    ['ROLLBACK', 'rollback'],
    ['abort work and chain', 'rollbackChain'],
    ['ROLLBACK TO s', 'plain'],
    ['ROLLBACK WORK TO SAVEPOINT commit', 'plain'],
    ["ROLLBACK PREPARED 'x'", 'alone'],
    ["PREPARE TRANSACTION 'x'", 'prepare'],
    ['PREPARE p AS INSERT INTO t VALUES (1)', 'setting'],
    ['CALL p()', 'procedure'],
    ['DO $$ BEGIN COMMIT; END $$ LANGUAGE plpgsql', 'procedure'],
    ['VACUUM (ANALYZE) t', 'alone'],
    ['CREATE INDEX CONCURRENTLY i ON t (a)', 'alone'],
    ['create unique index concurrently i on t (a)', 'alone'],
    ['ALTER TABLE t DETACH PARTITION p CONCURRENTLY', 'alone'],
    ['CREATE DATABASE d', 'alone'],
    ['DROP TABLESPACE d', 'alone'],
    ['CREATE TABLE commit (a int)', 'plain'],
    ['CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1', 'unclear'],
    ['SET a = b', 'setting'],
    ['SET CONSTRAINTS ALL IMMEDIATE', 'plain'],
    ['SHOW x', 'setting'],
    ['SELECT commit', 'plain'],
    ['INSERT INTO t VALUES (1)', 'plain'],
    ['(SELECT 1)', 'plain'],
    ['"commit"', 'plain'],
    ['/* x */ -- y\n COMMIT', 'commit'],
    ['COMMIT -- done', 'commit'],
    ['COMMIT /* /* nested */ */', 'commit'],
    ['committed', 'plain'],
    ['_commit', 'plain'],
    ['commit1', 'plain'],
    ['\u00e4commit', 'plain'],
    ['', 'setting'],
    ['  -- nothing', 'setting'],
  ] as const)('%s: %s', (sql, kind) => {
    const bytes = Buffer.from(`x${sql}\0y`);
    expect(kindOfStatement(bytes, 1, bytes.length - 2, usualRules)).toBe(kind);
    const all = kinds(sql);
    expect(all).toEqual(sql.replaceAll(/--.*|\s/g, '') === '' ? [] : [kind]);
  });

  it.each([
    ["-- it's done\nCOMMIT", 'commit'],
    ["-- client's\nINSERT INTO t SELECT 'x'", 'plain'],
    ["/* it's */ COMMIT -- isn't it", 'commit'],
    ["ROLLBACK -- it's\n TO s", 'plain'],
    ["PREPARE /* it's */ TRANSACTION 'x'", 'prepare'],
    ["SET a = 'b'", 'setting'],
    ["-- it's nothing", 'setting'],
    ['-- nothing', 'setting'],
    ["'x'", 'unclear'],
    ['"it\'s"', 'unclear'],
  ] as const)(
    'is not taken from the apostrophes of comments where strings cannot be read: %s',
    (sql, kind) => {
      const rules = rulesAfter(usualRules, 'client_encoding', 'GBK');
      const bytes = Buffer.from(`x${sql}\0'y`);
      expect(kindOfStatement(bytes, 1, bytes.length - 3, rules)).toBe(kind);
    },
  );

  it('of which only the beginning is there is plain only if its first word is whole and tells nothing', () => {
    const of = (text: string): StatementKind =>
      kindOfBeginning(Buffer.from(text), 0, Buffer.byteLength(text));
    for (const text of ['', 'com', 'insert', 'COMMIT ', 'CREATE TABLE ', '-- x\nSELECT ', ' ']) {
      expect([text, of(text)]).toEqual([text, 'unclear']);
    }
    for (const text of ['insert ', 'SELECT 1 ', ' update('])
      expect([text, of(text)]).toEqual([text, 'plain']);
  });
});

describe('the statements of a text', () => {
  it.each<[string, StatementKind[]]>([
    ['SELECT 1; COMMIT', ['plain', 'commit']],
    [';; COMMIT ;;', ['commit']],
    ["SELECT 'a;b''; COMMIT'; BEGIN", ['plain', 'begin']],
    ["SELECT 'a\\'; COMMIT", ['plain', 'commit']],
    ["SELECT E'a\\'; COMMIT'; BEGIN", ['plain', 'begin']],
    ["SELECT e'a\\\\'; COMMIT", ['plain', 'commit']],
    ["SELECT E'a'\n  'b\\'; COMMIT'; BEGIN", ['plain', 'begin']],
    ["SELECT E'a' -- c\n 'b\\'; COMMIT'; BEGIN", ['plain', 'begin']],
    ["SELECT type'a\\'; COMMIT", ['plain', 'commit']],
    ['SELECT "a;""; COMMIT"; BEGIN', ['plain', 'begin']],
    ['SELECT $$ ; COMMIT; $$; BEGIN', ['plain', 'begin']],
    ['SELECT $a$ ; $$ $b$ COMMIT; $a$; BEGIN', ['plain', 'begin']],
    ['SELECT $a$ $$a$; BEGIN', ['plain', 'begin']],
    ['SELECT a$b$ ; COMMIT', ['plain', 'commit']],
    ['SELECT $1; COMMIT', ['plain', 'commit']],
    ['SELECT 1 -- ; COMMIT\n; BEGIN', ['plain', 'begin']],
    ['SELECT 1 /* ; COMMIT /* ; */ ; */; BEGIN', ['plain', 'begin']],
    ['SELECT 1 - - 2; SELECT 4 / 2 * 3; COMMIT', ['plain', 'plain', 'commit']],
    ['SELECT 1 /*/ ; */; COMMIT', ['plain', 'commit']],
    [
      'CREATE RULE r AS ON INSERT TO t DO ALSO (DELETE FROM a; UPDATE b SET c = 1); COMMIT',
      ['plain', 'commit'],
    ],
    ['BEGIN; UPDATE t SET a = CASE WHEN b THEN 1 END; COMMIT', ['begin', 'plain', 'commit']],
    ['DO $$ BEGIN PERFORM 1; END $$; COMMIT', ['procedure', 'commit']],
    [
      'CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END; COMMIT',
      ['unclear', 'plain', 'commit', 'commit'],
    ],
  ])('%s', (sql, expected) => {
    expect(kinds(sql)).toEqual(expected);
  });

  it.each([
    "SELECT 'open",
    'SELECT "open',
    'SELECT $a$ open $b$',
    'SELECT /* open',
    'SELECT (1; COMMIT',
    'SELECT 1); COMMIT',
  ])('that cannot be told apart are unclear: %s', (sql) => {
    expect(kinds(sql)).toContain('unclear');
  });

  it('are read by the rules of the session', () => {
    const off = rulesAfter(usualRules, 'standard_conforming_strings', 'off');
    expect(kinds("SELECT 'a\\'; COMMIT'; BEGIN", off)).toEqual(['plain', 'begin']);
    const on = rulesAfter(off, 'standard_conforming_strings', 'on');
    expect(kinds("SELECT 'a\\'; COMMIT; SELECT 'b'", on)).toEqual(['plain', 'commit', 'plain']);
    // In Shift JIS this is one character and the end of the string.
    const sjis = Buffer.from("SELECT E'\x83\x5c'; COMMIT; SELECT '", 'latin1');
    expect(kinds(sjis, rulesAfter(usualRules, 'client_encoding', 'SJIS'))).toContain('unclear');
    expect(rulesAfter(usualRules, 'TimeZone', 'UTC')).toEqual(usualRules);
  });

  it('end at a zero byte', () => {
    expect(kinds('SELECT 1\0; COMMIT')).toEqual(['plain']);
  });

  it('together have a shape', () => {
    const of = (text: string) => shapeOf(Buffer.from(text), 0, Buffer.byteLength(text), usualRules);
    expect(of('')).toEqual({ statements: 0, first: 'setting', opensLate: false, ends: false });
    expect(of('BEGIN; SELECT 1')).toEqual({ statements: 2, first: 'begin', opensLate: false, ends: false });
    expect(of('SET a = 1; BEGIN; SELECT 1')).toMatchObject({ first: 'begin', opensLate: false });
    expect(of('SELECT 1; BEGIN')).toMatchObject({ first: 'plain', opensLate: true });
    expect(of('SELECT 1; ROLLBACK')).toEqual({ statements: 2, first: 'plain', opensLate: false, ends: true });
  });
});

it('keeps little of the tag of a dollar quote, however long it is, and does not guess where one ends that is too long', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const read: string[] = [];
  const reader = new StatementReader(usualRules, (kind) => read.push(kind));
  const give = (bytes: Buffer): void => reader.push(bytes, 0, bytes.length);
  give(Buffer.from('SELECT $'));
  const letters = Buffer.alloc(2 ** 20, 'a');
  give(letters);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let mebibytes = 1; mebibytes < 64; mebibytes += 1) give(letters);
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2 ** 24);
  give(Buffer.from('$; COMMIT; BEGIN; $'));
  give(Buffer.alloc(1023, 'a'));
  give(Buffer.from('$; COMMIT'));
  reader.end();
  expect(read).toEqual(['unclear']);
});
