import { describe, expect, it } from 'vitest';
import * as send from '../../../pgwire/frontend-messages.ts';
import { rulesAfter, usualRules } from '../../../pgwire/text-rules.ts';
import { frame } from '../testing/frames.ts';
import type { RequestTracker } from './request-tracker.ts';
import { inBlock, inPieces, run, sends, sendsInChunks, started } from '../testing/tracked.ts';

const { sync, flush, query } = send;

describe('the verdict', () => {
  it.each([
    ['a statement of its own', started, [query('INSERT INTO t VALUES (1)')], 'one'],
    ['several of them', started, [query('INSERT INTO t VALUES (1)'), query('SELECT 1')], 'several'],
    ['a block in one text', started, [query('BEGIN; INSERT INTO t VALUES (1); COMMIT')], 'one'],
    ['BEGIN', started, [query('BEGIN; INSERT INTO t VALUES (1)')], 'nothing'],
    ['an extended one', started, [run('INSERT INTO t VALUES (1)'), sync], 'one'],
    ['a pipeline', started, [run('INSERT INTO t VALUES (1)'), run('INSERT INTO t VALUES (2)'), sync], 'one'],
    ['two pipelines', started, [run('SELECT 1'), sync, run('SELECT 2'), sync], 'several'],
    ['a call', started, [frame('F', 'x')], 'one'],
    ['a procedure', started, [query('CALL p()')], 'several'],
    ['a setting', started, [run('SET a = b'), sync], 'nothing'],
    ['a statement in a block', inBlock, [query('INSERT INTO t VALUES (1)')], 'nothing'],
    ['COMMIT', inBlock, [query('COMMIT')], 'one'],
    ['a statement and COMMIT', inBlock, [run('INSERT INTO t VALUES (1)'), run('COMMIT'), sync], 'one'],
    ['ROLLBACK', inBlock, [query('ROLLBACK')], 'nothing'],
    ['ROLLBACK TO', inBlock, [query('ROLLBACK TO s')], 'nothing'],
    ['nothing at all', inBlock, [sync], 'nothing'],
  ] as const)('of %s', (_, make, messages, verdict) => {
    const tracker = make();
    sends(tracker, ...messages);
    expect(tracker.verdict).toBe(verdict);
    expect(tracker.verdict).toBe(verdict);
  });

  it('is never too little, however the stream is cut', () => {
    const insert = 'INSERT INTO t VALUES (1) -- a comment that is long enough';
    for (const tracker of inPieces(query(`${insert}\n; COMMIT`))) expect(tracker.verdict).toBe('one');
    for (const tracker of inPieces(query('BEGIN; COMMIT; BEGIN; COMMIT')))
      expect(tracker.verdict).toBe('several');
    for (const tracker of inPieces(run(insert), run(insert), sync))
      expect(tracker.verdict).not.toBe('nothing');
    for (const tracker of inPieces(query('BEGIN'), run('COMMIT'), sync))
      expect(tracker.verdict).not.toBe('nothing');
    const named = [
      send.parse('c', 'COMMIT'),
      send.bind({ portal: '', statement: 'c' }),
      send.execute(''),
      sync,
    ];
    for (const tracker of inPieces(query('BEGIN'), ...named)) expect(tracker.verdict).not.toBe('nothing');
  });

  it('knows what prepared statements do, until they are prepared anew', () => {
    const tracker = inBlock();
    const bind = (statement: string): Buffer[] => [
      send.bind({ portal: '', statement }),
      send.execute(''),
      sync,
    ];
    sends(tracker, send.parse('c', 'COMMIT'), send.parse('i', 'INSERT INTO t VALUES (1)'), sync);
    expect(tracker.verdict).toBe('nothing');
    tracker.told(1, 'T');
    sends(tracker, ...bind('i'));
    expect(tracker.verdict).toBe('nothing');
    tracker.told(1, 'T');
    sends(tracker, ...bind('c'));
    expect(tracker.verdict).toBe('one');
    tracker.told(1, 'I');
    sends(tracker, query('BEGIN'), send.parse('c', 'SELECT 1'), sync);
    tracker.told(2, 'T');
    sends(tracker, ...bind('c'));
    expect(tracker.verdict).toBe('nothing');
  });

  it('counts on no Parse that PostgreSQL may have refused or skipped', () => {
    const other = [send.parse('c', 'INSERT INTO t VALUES (2)'), sync];
    const execute = [send.bind({ portal: '', statement: 'c' }), send.execute(''), sync];
    const commit = inBlock();
    sends(commit, send.parse('c', 'COMMIT'), sync);
    commit.told(1, 'T');
    sends(commit, ...other);
    commit.failed();
    commit.told(1, 'E');
    sends(commit, query('ROLLBACK TO a'));
    commit.told(1, 'T');
    sends(commit, ...execute);
    expect(commit.verdict).toBe('several');

    const insert = started();
    sends(insert, ...other);
    insert.told(1, 'I');
    sends(insert, send.parse('c', 'COMMIT'), sync);
    insert.failed();
    insert.told(1, 'I');
    sends(insert, ...execute);
    expect(insert.verdict).toBe('several');

    const unnamed = started();
    sends(unnamed, send.parse('', 'INSERT INTO t VALUES (2)'), sync);
    unnamed.told(1, 'I');
    sends(unnamed, send.parse('x', 'nonsense'), flush);
    unnamed.failed();
    sends(unnamed, send.parse('', 'COMMIT'), sync);
    unnamed.told(1, 'I');
    sends(unnamed, send.bind({ portal: '', statement: '' }), send.execute(''), sync);
    expect(unnamed.verdict).toBe('several');
  });

  it('counts on a Parse behind which something is executed before the next Sync, or whose answer is no error', () => {
    const tracker = inBlock();
    const commit = send.parse('c', 'COMMIT');
    const execute = [send.bind({ portal: '', statement: 'c' }), send.execute(''), sync];
    sends(tracker, commit, sync, ...execute);
    expect(tracker.verdict).toBe('several');
    const refused = inBlock();
    sends(refused, commit, sync);
    refused.failed();
    refused.told(1, 'E');
    sends(refused, query('ROLLBACK TO a'));
    refused.told(1, 'T');
    sends(refused, send.closeStatement('c'), commit, ...execute);
    expect(refused.verdict).toBe('one');
    refused.told(1, 'I');
    sends(refused, query('BEGIN'));
    refused.told(1, 'T');
    sends(refused, ...execute);
    expect(refused.verdict).toBe('one');
  });

  it('counts on no name behind a Parse whose name was cut, for that may have given it anew', () => {
    const tracker = inBlock();
    sends(tracker, send.parse('c', 'COMMIT'), sync);
    tracker.told(1, 'T');
    const parse = send.parse('c', 'INSERT INTO t VALUES (1)');
    sendsInChunks(tracker, [parse.subarray(0, 6), parse.subarray(6)]);
    sends(tracker, send.bind({ portal: '', statement: 'c' }), send.execute(''), sync);
    expect(tracker.verdict).toBe('several');
  });

  it('counts a Bind as a statement, for its parameters may write, but not of what has none', () => {
    const bind = (make: () => RequestTracker, sql: string): RequestTracker => {
      const tracker = make();
      sends(tracker, send.parse('', sql), send.bind({ portal: '', statement: '' }), sync);
      return tracker;
    };
    expect(bind(started, 'SELECT $1::t').verdict).toBe('one');
    expect(bind(started, 'SET a = b').verdict).toBe('nothing');
    expect(bind(inBlock, 'SELECT $1::t').verdict).toBe('nothing');
  });

  it('knows that a block which has failed is a block still', () => {
    const tracker = inBlock();
    sends(tracker, query('nonsense'));
    tracker.failed();
    tracker.told(1, 'E');
    sends(tracker, query('ROLLBACK TO a'), query('INSERT INTO t VALUES (1)'));
    expect(tracker.verdict).toBe('nothing');
    sends(tracker, query('COMMIT'));
    expect(tracker.verdict).toBe('one');
  });

  it('counts on no portal whose Bind was refused, whatever it was before', () => {
    const tracker = inBlock();
    sends(tracker, send.parse('', 'INSERT INTO t VALUES (2)'));
    sends(tracker, send.bind({ portal: 'p', statement: '' }), sync);
    tracker.told(1, 'T');
    sends(tracker, send.parse('', 'ROLLBACK'), send.bind({ portal: 'p', statement: '' }), sync);
    tracker.failed();
    tracker.told(1, 'E');
    sends(tracker, query('ROLLBACK TO a'));
    tracker.told(1, 'T');
    sends(tracker, send.execute('p'), sync, query('COMMIT'));
    expect(tracker.verdict).toBe('several');
  });

  it('knows them by as much of their names as PostgreSQL looks at', () => {
    const tracker = inBlock();
    const name = 'x'.repeat(63);
    sends(tracker, send.parse(`${name}a`, 'COMMIT'), sync);
    tracker.told(1, 'T');
    sends(tracker, send.bind({ portal: '', statement: `${name}b` }), send.execute(''), sync);
    expect(tracker.verdict).toBe('one');
  });

  it('is not taken in by a portal that was bound to COMMIT earlier', () => {
    const tracker = inBlock();
    sends(tracker, send.parse('', 'COMMIT'), send.bind({ portal: 'p', statement: '' }), sync);
    tracker.told(1, 'T');
    sends(tracker, send.execute('p'), sync);
    expect(tracker.verdict).toBe('one');
  });

  it('follows the unnamed portal when it is executed, in whatever message that is', () => {
    const commit = [send.parse('', 'COMMIT'), send.bind({ portal: '', statement: '' })];
    const later = inBlock();
    sends(later, ...commit, sync);
    expect(later.verdict).toBe('nothing');
    later.told(1, 'T');
    sends(later, send.execute(''), sync);
    expect(later.verdict).toBe('one');
    const behindAnother = inBlock();
    const rollback = [send.parse('', 'ROLLBACK'), send.bind({ portal: '', statement: '' })];
    sends(behindAnother, ...rollback, ...commit, send.execute(''), sync);
    expect(behindAnother.verdict).toBe('one');
  });

  it('counts on no Bind of an earlier message that PostgreSQL may have refused', () => {
    for (const portal of ['p', '']) {
      for (const other of ['SELECT 1', 'ROLLBACK']) {
        const tracker = inBlock();
        sends(tracker, send.parse('', 'COMMIT'), send.bind({ portal, statement: '' }), sync);
        tracker.told(1, 'T');
        sends(
          tracker,
          query('SAVEPOINT a'),
          send.parse('', other),
          send.bind({ portal, statement: '' }),
          sync,
        );
        tracker.told(1, 'T');
        tracker.failed();
        tracker.told(1, 'E');
        sends(tracker, query('ROLLBACK TO a'));
        tracker.told(1, 'T');
        sends(tracker, send.execute(portal), sync);
        expect(tracker.verdict).toBe('several');
        // What is bound again ahead of it in its message is what is executed, if anything is.
        tracker.told(1, 'T');
        sends(tracker, send.parse('', 'SELECT 1'), send.bind({ portal, statement: '' }));
        sends(tracker, send.execute(portal), sync);
        expect(tracker.verdict).toBe('nothing');
      }
    }
  });

  it('keeps the portals of a block that was opened while the answer to an earlier request was due', () => {
    const tracker = started();
    sends(tracker, query('SELECT 1'), query('BEGIN'), send.parse('', 'COMMIT'));
    sends(tracker, send.bind({ portal: 'p', statement: '' }), sync);
    tracker.told(1, 'I');
    tracker.told(2, 'T');
    sends(tracker, send.execute('p'), sync);
    expect(tracker.verdict).toBe('one');
  });

  it('is not taken in by a portal whose name or statement was cut from its message', () => {
    for (const tracker of inPieces(
      query('BEGIN'),
      send.parse('c', 'COMMIT'),
      send.bind({ portal: 'p', statement: 'c' }),
      send.execute('p'),
      sync,
    ))
      expect(tracker.verdict).not.toBe('nothing');
  });

  it('does not count on portals that it could not keep', () => {
    const tracker = inBlock();
    sends(tracker, send.parse('', 'COMMIT'));
    for (let n = 0; n <= 1000; n += 1) sends(tracker, send.bind({ portal: `p${n}`, statement: '' }));
    sends(tracker, send.execute('p1000'), sync);
    expect(tracker.verdict).toBe('several');
  });

  it('does not count on names that it could not keep', () => {
    const tracker = inBlock();
    for (let n = 0; n <= 1000; n += 1) sends(tracker, send.parse(`c${n}`, 'COMMIT'));
    sends(tracker, sync);
    tracker.told(1, 'T');
    sends(tracker, send.bind({ portal: '', statement: 'c1000' }), send.execute(''), sync);
    expect(tracker.verdict).toBe('several');
  });

  it('follows the rules by which the session reads strings', () => {
    const tracker = started();
    const text = "SELECT 'a\\'; COMMIT; BEGIN; SELECT 'b'";
    sends(tracker, query(text));
    expect(tracker.verdict).toBe('several');
    tracker.told(1, 'I');
    tracker.rules = rulesAfter(usualRules, 'standard_conforming_strings', 'off');
    sends(tracker, query(`${text} || '`));
    expect(tracker.verdict).toBe('one');
  });
});

describe('a lone Query', () => {
  it.each([
    ['COMMIT', true],
    [' end transaction ; ', true],
    ['COMMIT AND CHAIN', false],
    ['COMMIT; SELECT 1', false],
  ])('%s is exactly a COMMIT: %s', (sql, is) => {
    const tracker = inBlock();
    sends(tracker, query(sql));
    expect(tracker.loneText).toBe(sql);
    void tracker.verdict;
    expect(tracker.isLoneCommit).toBe(is);
    tracker.told(1, 'I');
    expect([tracker.loneText, tracker.isLoneCommit]).toEqual([null, false]);
  });

  it('is no longer alone when anything follows it, or preceded it', () => {
    for (const more of [[query('COMMIT')], [run('COMMIT')], [sync], [frame('F', '')]]) {
      const behind = inBlock();
      sends(behind, query('COMMIT'), ...more);
      expect(behind.isLoneCommit).toBe(false);
      const ahead = inBlock();
      sends(ahead, ...more, query('COMMIT'));
      expect(ahead.isLoneCommit).toBe(false);
    }
  });
});
