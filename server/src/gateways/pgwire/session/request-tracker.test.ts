import { describe, expect, it } from 'vitest';
import { FrameSplitter } from '../codec/frame-splitter.ts';
import * as send from '../codec/frontend-messages.ts';
import { rulesAfter, usualRules } from '../codec/text-rules.ts';
import { cuts, frame } from '../testing/frames.ts';
import { RequestTracker } from './request-tracker.ts';

function sends(tracker: RequestTracker, ...messages: readonly Buffer[]): void {
  const splitter = new FrameSplitter(1 << 20);
  const chunk = Buffer.concat(messages);
  splitter.feed(chunk);
  while (splitter.next()) tracker.sent(splitter, chunk);
}

/** The same, in every way of cutting it. */
function* inPieces(...messages: readonly Buffer[]): Generator<RequestTracker> {
  for (const chunks of cuts(Buffer.concat(messages))) {
    const tracker = new RequestTracker();
    const splitter = new FrameSplitter(1 << 20);
    for (const chunk of chunks) {
      splitter.feed(chunk);
      while (splitter.next()) tracker.sent(splitter, chunk);
    }
    yield tracker;
  }
}

function started(): RequestTracker {
  const tracker = new RequestTracker();
  tracker.startedUp();
  tracker.told(1, 'I');
  return tracker;
}

function inBlock(): RequestTracker {
  const tracker = started();
  sends(tracker, send.query('BEGIN'));
  tracker.told(1, 'T');
  return tracker;
}

const { sync, flush, query } = send;
function run(sql: string): Buffer {
  return Buffer.concat([send.parse('', sql), send.bind({ portal: '', statement: '' }), send.execute('')]);
}
const copyDone = frame('c');

describe('what a client is owed', () => {
  it('start-up, Query, Sync and FunctionCall each owe one ReadyForQuery', () => {
    const tracker = new RequestTracker();
    tracker.startedUp();
    expect([tracker.outstanding, tracker.due]).toEqual([true, 1]);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
    sends(tracker, query('SELECT 1'), run('SELECT 2'), sync, frame('F', 'x'));
    expect(tracker.due).toBe(3);
    tracker.told(2, 'I');
    expect([tracker.outstanding, tracker.due]).toEqual([true, 1]);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('messages behind the last Sync are outstanding, too', () => {
    const tracker = started();
    sends(tracker, run('SELECT 1'), flush);
    expect([tracker.outstanding, tracker.due]).toEqual([true, 0]);
    sends(tracker, sync);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('is counted the same however the stream is cut', () => {
    for (const tracker of inPieces(
      query('SELECT 1'),
      run("SELECT 'x'"),
      sync,
      frame('d', 'COMMIT'),
      frame('F', 'x'),
    )) {
      expect([tracker.due, tracker.open, tracker.request, tracker.terminated]).toEqual([3, false, 1, false]);
    }
    for (const tracker of inPieces(run('SELECT 1'), send.terminate)) {
      expect([tracker.due, tracker.open, tracker.terminated]).toEqual([0, true, true]);
    }
  });

  it('a message that is not complete is not owed', () => {
    const tracker = started();
    sends(tracker, query('SELECT 1').subarray(0, 8));
    expect(tracker.due).toBe(0);
  });

  it('counts requests: a new one begins when nothing was owed', () => {
    const tracker = started();
    const before = tracker.request;
    sends(tracker, query('SELECT 1'), query('SELECT 2'));
    expect(tracker.request).toBe(before + 1);
    tracker.told(2, 'I');
    sends(tracker, sync);
    expect(tracker.request).toBe(before + 2);
  });

  it('a Sync that PostgreSQL ignores because COPY data is due owes nothing', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), sync);
    expect(tracker.due).toBe(1);
    tracker.copyBegan();
    expect([tracker.due, tracker.outstanding]).toEqual([0, true]);
    sends(tracker, sync, frame('d', 'x'), copyDone, sync);
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('a COPY by Query owes one, and so does what follows it', () => {
    const tracker = started();
    sends(tracker, query('COPY t FROM STDIN'));
    tracker.copyBegan();
    sends(tracker, frame('d', 'x'), copyDone);
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    sends(tracker, run('SELECT 1'), sync);
    expect(tracker.due).toBe(1);
  });

  it('a COPY whose data was sent ahead of time owes one', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), sync, frame('d', 'x'), copyDone, sync);
    tracker.copyBegan();
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('a COPY that fails does not make the next Sync count for nothing', () => {
    const tracker = started();
    sends(tracker, query('COPY t FROM STDIN'));
    tracker.copyBegan();
    tracker.told(1, 'I');
    sends(tracker, run('SELECT 1'), sync);
    expect(tracker.due).toBe(1);
  });
});

describe('what a client is owed around a COPY that it did not wait for', () => {
  const copyData = frame('d', '1\n');

  it('what was sent behind the end of the data is owed as well', () => {
    const tracker = started();
    sends(tracker, query('COPY t FROM STDIN'), copyData, copyDone, run('INSERT INTO t VALUES (2)'), sync);
    tracker.copyBegan();
    expect(tracker.due).toBe(2);
    tracker.told(1, 'I');
    expect([tracker.due, tracker.outstanding]).toEqual([1, true]);
    expect(tracker.verdict).not.toBe('nothing');
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('only a Sync ahead of the end of the data is ignored', () => {
    const tracker = started();
    const copy = [run('COPY t FROM STDIN'), sync, copyData, copyDone, sync];
    sends(tracker, ...copy, query('INSERT INTO t VALUES (2)'), ...copy);
    tracker.copyBegan();
    expect(tracker.due).toBe(4);
    tracker.told(1, 'I');
    tracker.told(1, 'I');
    tracker.copyBegan();
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('a COPY behind another request is not taken for that one', () => {
    const tracker = started();
    sends(tracker, run('SELECT 1'), sync, run('COPY t FROM STDIN'), sync, copyData, copyDone, sync);
    // PostgreSQL has answered the first one, which the client has not been told yet.
    tracker.copyBegan(1);
    expect(tracker.due).toBe(2);
    tracker.told(1, 'I');
    expect([tracker.due, tracker.outstanding]).toEqual([1, true]);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('the answer to an earlier request does not end the COPY', () => {
    const tracker = started();
    sends(tracker, query('SELECT 1'), query('COPY t FROM STDIN'));
    tracker.copyBegan(1);
    tracker.told(1, 'I');
    sends(tracker, sync, copyData, copyDone);
    expect(tracker.due).toBe(1);
  });

  it('two in one batch are told apart', () => {
    const tracker = started();
    const copy = [run('COPY t FROM STDIN'), copyData, copyDone];
    sends(tracker, ...copy, ...copy, sync);
    tracker.copyBegan();
    tracker.copyBegan();
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('the statements ahead of it in its batch are not taken for it', () => {
    const tracker = started();
    sends(tracker, run('INSERT INTO t VALUES (2)'), run('COPY t FROM STDIN'), sync);
    tracker.copyBegan();
    expect([tracker.due, tracker.outstanding]).toEqual([0, true]);
    sends(tracker, copyData, copyDone, sync);
    expect(tracker.due).toBe(1);
  });

  it('one that fails before it has read what was sent with it has not ignored the Sync', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), sync);
    tracker.copyBegan();
    tracker.failed();
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('an error ends it: the Sync behind that is answered', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), flush);
    tracker.copyBegan();
    sends(tracker, frame('d', 'wrong\n'));
    tracker.failed();
    sends(tracker, sync, query('INSERT INTO t VALUES (2)'));
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(true);
    expect(tracker.verdict).not.toBe('nothing');
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('an error that was told behind the end of the data takes nothing away', () => {
    const tracker = started();
    sends(tracker, run('COPY t FROM STDIN'), sync);
    tracker.copyBegan();
    sends(tracker, frame('d', 'wrong\n'), copyDone, sync);
    tracker.failed();
    expect(tracker.due).toBe(1);
    tracker.told(1, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  describe('that failed, and may have ignored a Sync or not', () => {
    const insert = query('INSERT INTO t VALUES (2)');
    const copy = [run('COPY t FROM STDIN'), sync, copyData, copyDone, sync];

    /** ReadyForQuery, with an answer before it or `bare`. */
    function ready(tracker: RequestTracker, kind: 'answer' | 'bare'): void {
      tracker.ready(kind === 'bare');
      tracker.told(1, 'I');
    }

    function failedCopy(...messages: readonly Buffer[]): RequestTracker {
      const tracker = started();
      sends(tracker, ...messages);
      tracker.copyBegan();
      tracker.failed();
      return tracker;
    }

    it.each([0, 1])('what was sent behind it is told apart from %i Syncs', (surplus) => {
      const at = failedCopy(...copy, insert);
      ready(at, 'answer');
      for (let n = 0; n < surplus; n += 1) ready(at, 'bare');
      expect([at.due, at.verdict]).toEqual([1, 'several']);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
    });

    it.each([0, 1, 2])('so is what is sent when the error is told, and later: %i Syncs', (surplus) => {
      const at = failedCopy(query('COPY t FROM STDIN'), sync, sync);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
      if (surplus === 2) ready(at, 'bare');
      sends(at, insert);
      for (let n = 0; n < Math.min(surplus, 1); n += 1) ready(at, 'bare');
      expect([at.due, at.verdict]).toEqual([1, 'one']);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
      sends(at, sync, insert);
      ready(at, 'bare');
      expect(at.outstanding).toBe(true);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
    });

    it.each([0, 1])('so are a Sync of its own and what is sent behind it: %i Syncs', (surplus) => {
      const at = failedCopy(run('COPY t FROM STDIN'), sync);
      sends(at, sync, insert);
      ready(at, 'answer');
      for (let n = 0; n < surplus; n += 1) ready(at, 'bare');
      expect(at.outstanding).toBe(true);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
    });

    it('what is told of a later COPY is not taken for it', () => {
      const at = failedCopy(...copy, ...copy);
      ready(at, 'answer');
      ready(at, 'bare');
      at.copyBegan();
      expect(at.due).toBe(1);
      ready(at, 'answer');
      expect(at.outstanding).toBe(false);
    });
  });

  it.each([
    ['at once', true],
    ['when they are asked for', false],
  ])('Syncs among the data of several COPYs of one Query are ignored: sent %s', (_, atOnce) => {
    const tracker = started();
    const copies = query('COPY t FROM STDIN; COPY t FROM STDIN');
    const data = [sync, copyData, sync, copyDone];
    if (atOnce) sends(tracker, copies, ...data, ...data);
    else sends(tracker, copies);
    tracker.copyBegan();
    if (!atOnce) sends(tracker, ...data);
    tracker.copyBegan();
    if (!atOnce) sends(tracker, ...data);
    expect(tracker.due).toBe(1);
    sends(tracker, sync);
    expect(tracker.due).toBe(2);
    tracker.told(2, 'I');
    expect(tracker.outstanding).toBe(false);
  });

  it('of very many requests that are sent at once none is taken for answered', () => {
    const tracker = started();
    const copy = [run('COPY t FROM STDIN'), sync, copyData, copyDone, sync];
    for (let n = 0; n < 5_000; n += 1) sends(tracker, ...copy);
    tracker.copyBegan(9_998);
    expect(tracker.due).toBe(10_000);
  });
});

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
