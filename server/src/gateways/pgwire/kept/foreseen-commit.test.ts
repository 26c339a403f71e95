import { describe, expect, it } from 'vitest';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import type { TransactionStatus } from '../../../pgwire/message-types.ts';
import { RequestTracker } from '../session/request-tracker.ts';
import { frame } from '../testing/frames.ts';
import { run } from '../testing/helpers.ts';
import { ForeseenCommit } from './foreseen-commit.ts';
import type { IdQuestionKind } from './id-question.ts';

const frames = new Map([
  ['change', send.parse('change', '/* app */ UPDATE t SET a = 1')],
  ['look', send.parse('look', 'SELECT 1')],
  ['end', send.parse('end', 'COMMIT')],
]);

function foreseen(status: TransactionStatus, messages: readonly Buffer[]): ForeseenCommit {
  const tracker = new RequestTracker();
  tracker.hasPrepared([...frames.values()]);
  tracker.told(0, status);
  const commit = new ForeseenCommit(tracker, { frameOf: (name) => frames.get(name) });
  commit.begin();
  const splitter = new FrameSplitter(1 << 20);
  const chunk = Buffer.concat(messages);
  splitter.feed(chunk);
  while (splitter.next()) {
    tracker.sent(splitter, chunk);
    commit.sent(splitter, chunk);
  }
  return commit;
}

const { sync, query } = send;

function bound(statement: string): Buffer {
  return send.bind({ portal: '', statement });
}

function executed(statement: string): Buffer {
  return Buffer.concat([bound(statement), send.execute('')]);
}

describe('outside of a block', () => {
  it.each(['INSERT INTO t VALUES (1);', "/* a */ UPDATE t SET a = ';' -- b"])('%s has a block', (sql) =>
    expect(foreseen('I', [query(sql)]).question).toBe('block'),
  );

  it.each<readonly [string, readonly Buffer[]]>([
    ['a change by messages', [run('DELETE FROM t'), sync]],
    ['one that is prepared', [executed('change'), sync]],
    ['one behind a read', [executed('look'), executed('change'), sync]],
    ['a new one', [send.parse('look', 'UPDATE t SET a = 2'), executed('look'), sync]],
  ])('an id is given ahead of %s', (_, messages) =>
    expect(foreseen('I', messages).question).toEqual({ form: 'batch', assigns: true }),
  );

  it.each<readonly [string, readonly Buffer[]]>([
    ['a read', [query('SELECT 1')]],
    ['a read by messages', [executed('look'), sync]],
    ['two changes in one text', [query('INSERT INTO t VALUES (1); SELECT 2')]],
    ['a change behind another statement', [run('LOCK t'), run('DELETE FROM t'), sync]],
    ['a read with the name of a change', [send.parse('change', 'SELECT 2'), executed('change'), sync]],
    ['the beginning of a block', [query('BEGIN')]],
    ['a change in a block that it begins', [query('BEGIN; INSERT INTO t VALUES (1)')]],
    ['what cannot be in a block', [query('INSERT INTO t VALUES (1); VACUUM t')]],
    ['a batch with a message behind its Sync', [run('DELETE FROM t'), sync, send.flush]],
    ['two requests', [query('DELETE FROM t'), query('DELETE FROM t')]],
    ['what has no end yet', [executed('change')]],
    ['a Query and the end of the session', [query('DELETE FROM t'), frame('X')]],
    ['a Query behind what may fail', [send.parse('', 'SELEC'), query('DELETE FROM t')]],
    ['a definition', [query('CREATE TABLE t (a int)')]],
    ['a call', [query('CALL p()')]],
  ])('nothing is asked ahead of %s', (_, messages) => expect(foreseen('I', messages).question).toBe(null));
});

describe('in a block', () => {
  it.each<readonly [string, IdQuestionKind | null, readonly Buffer[]]>([
    ['COMMIT', { form: 'call', assigns: false }, [query('END;')]],
    ['COMMIT AND CHAIN', { form: 'call', assigns: false }, [query('COMMIT AND CHAIN')]],
    ['a change and COMMIT', { form: 'call', assigns: true }, [query('UPDATE t SET a = 1; COMMIT')]],
    ['COMMIT by messages', { form: 'batch', assigns: false }, [run('COMMIT'), sync]],
    ['one that is prepared', { form: 'batch', assigns: false }, [executed('end'), sync]],
    ['both, prepared', { form: 'batch', assigns: true }, [executed('change'), executed('end'), sync]],
    ['a read and COMMIT', { form: 'call', assigns: false }, [query('SELECT 1; COMMIT')]],
    ['SET TRANSACTION', null, [query('SET TRANSACTION READ WRITE; DELETE FROM t; COMMIT')]],
    ['it by messages', null, [run('SET TRANSACTION READ WRITE'), executed('change'), executed('end'), sync]],
    ['a portal of before', null, [send.execute('p'), executed('change'), executed('end'), sync]],
    ['a read', null, [query('SELECT 1')]],
    ['ROLLBACK', null, [query('ROLLBACK')]],
    ['PREPARE TRANSACTION', null, [query("PREPARE TRANSACTION 'x'")]],
  ])('%s', (_, expected, messages) => expect(foreseen('T', messages).question).toEqual(expected));

  it.each([[query('UPDATE t SET a = 1')], [executed('change'), sync]])('behind a change', (...messages) =>
    expect(foreseen('T', messages).question).toBe('later'),
  );

  it.each<readonly [string, readonly Buffer[]]>([
    ['a change and COPY', [query('INSERT INTO t VALUES (1); COPY t FROM STDIN')]],
    ['both by messages', [executed('change'), run('COPY t FROM STDIN'), sync]],
    ['a portal of before', [executed('change'), send.execute('p'), sync]],
    ['one that has ended', [query('INSERT INTO t VALUES (1); ROLLBACK')]],
    ['one that has ended by messages', [executed('change'), run('ROLLBACK'), sync]],
  ])('nothing is asked behind %s', (_, messages) => expect(foreseen('T', messages).question).toBe(null));

  it('of one that has failed nothing is asked', () =>
    expect(foreseen('E', [query('COMMIT')]).question).toBe(null));
});

describe('the answer to a COMMIT by messages', () => {
  it.each<readonly [string, string, readonly Buffer[]]>([
    ['prepared before', '2C', [executed('end'), sync]],
    ['prepared with it', '12C', [send.parse('', ' end Work ;'), executed(''), sync]],
    ['described', '12nC', [run('COMMIT'), sync]],
  ])('%s', (_, types, messages) => {
    const answer = foreseen('T', messages)
      .answer?.map((frame) => String.fromCharCode(frame[0]!))
      .join('');
    expect(answer).toBe(types);
  });

  it.each<readonly [string, readonly Buffer[]]>([
    ['a change before it', [executed('change'), executed('end'), sync]],
    ['another message behind it', [executed('end'), bound('look'), sync]],
    ['another statement', [executed('change'), sync]],
    ['AND CHAIN', [run('COMMIT AND CHAIN'), sync]],
    ['a description of the statement', [send.parse('', 'COMMIT'), describeStatement(''), executed(''), sync]],
    ['another COMMIT behind it', [executed('end'), executed('end'), sync]],
    ['a portal that is not it', [send.bind({ portal: 'p', statement: 'end' }), send.execute(''), sync]],
    ['a portal that it does not bind', [bound('end'), send.execute('p'), sync]],
    ['no message of a batch', [query('COMMIT')]],
  ])('is not known with %s', (_, messages) => expect(foreseen('T', messages).answer).toBe(null));
});

function describeStatement(name: string): Buffer {
  const frame = Buffer.from(send.closeStatement(name));
  frame[0] = 'D'.charCodeAt(0);
  return frame;
}

describe('a request that reads', () => {
  it.each<readonly [string, readonly Buffer[]]>([
    ['a Query', [query('/* a */ SELECT 1;')]],
    ['WITH', [query('WITH x AS (SELECT 1) TABLE x')]],
    ['messages', [executed('look'), run('VALUES (1)'), sync]],
  ])('is one: %s', (_, messages) => expect(foreseen('I', messages).isRead).toBe(true));

  it.each<readonly [string, TransactionStatus, readonly Buffer[]]>([
    ['in a block', 'T', [query('SELECT 1')]],
    ['a change', 'I', [query('DELETE FROM t')]],
    ['a read and a change', 'I', [query('SELECT 1; DELETE FROM t')]],
    ['both by messages', 'I', [executed('look'), executed('change'), sync]],
    ['a call', 'I', [query('CALL p()')]],
    ['EXPLAIN', 'I', [query('EXPLAIN ANALYZE DELETE FROM t')]],
    ['a definition by messages', 'I', [run('CREATE TABLE t (a int)'), sync]],
    ['a Sync', 'I', [sync]],
    ['two of them', 'I', [query('SELECT 1'), query('SELECT 1')]],
    ['without its end', 'I', [executed('look')]],
  ])('is not one: %s', (_, status, messages) => expect(foreseen(status, messages).isRead).toBe(false));
});
