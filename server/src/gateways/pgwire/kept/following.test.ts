import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readyForQuery } from '../../../pgwire/backend-messages.ts';
import { leadershipParameter } from '../codec/doubt-frame.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { defaultLimits } from '../limits.ts';
import { frame } from '../testing/frames.ts';
import { run } from '../testing/helpers.ts';
import { noFunctionsWatched } from '../testing/kept.ts';
import { Following } from './following.ts';
import { assigning } from './id-question.ts';
import { KeptBudgets } from './kept-budget.ts';
import type { LeftSession } from './left-session.ts';
import { settle, settleAfter } from './settlement.ts';
import { emptySnapshot } from './state-question.ts';

const left: LeftSession = {
  key: null,
  parameters: new Map(),
  snapshot: emptySnapshot,
  statements: [],
  settingNames: [],
  spokeOfElsewhere: false,
  login: { identity: '10:5', defaults: '' },
  upstream: duplexPair()[0],
};

function following(sends: (bytes: Buffer) => void = () => undefined): Following {
  const following = new Following({
    startup: { kind: 'startup', version: 3 << 16, parameters: [['user', 'u']], tunnelNonce: null },
    limits: defaultLimits,
    budget: new KeptBudgets(2 * (1 << 20)).of('one'),
    onKey: () => undefined,
    send: sends,
    onAuthenticated: () => undefined,
  });
  following.follow(noFunctionsWatched);
  return following;
}

it.each([
  ['BEGIN', 'I', 'nothing'],
  ['COMMIT', 'T', 'one'],
  ['INSERT INTO t VALUES (1)', 'I', 'one'],
  ['INSERT INTO t VALUES (1)', 'T', 'nothing'],
] as const)(
  'of a session that was taken over it is known what its prepared statements commit: %s, in %s',
  (sql, status, verdict) => {
    const session = following();
    const statements = [
      ['a', send.parse('a', 'SELECT 1')],
      ['b', send.parse('b', sql)],
    ] as const;
    session.adopt({ ...left, statements });
    session.tracker.told(0, status);
    session.sent(Buffer.concat([send.bind({ portal: '', statement: 'b' }), send.execute(''), send.sync]));
    expect(session.tracker.verdict).toBe(verdict);
  },
);

/** At another replica, which has told of its leadership. */
function elsewhere(sends?: (bytes: Buffer) => void): Following {
  const session = following(sends);
  session.adopt({ ...left, parameters: new Map([[leadershipParameter, '1 r1']]) });
  return session;
}

const change = send.query('INSERT INTO t VALUES (1)');

it('a change whose error was told has but its end to come when the leader goes', () => {
  const session = elsewhere();
  expect(session.sent(change)).toHaveLength(2);
  const id = [frame('V', '\0\0\0\x0277'), frame('Z', 'T')];
  const begins = [frame('1'), frame('2'), frame('C', 'BEGIN\0'), frame('3'), frame('3'), ...id];
  const error = frame('E', 'VERROR\0C22012\0\0');
  const told = session.reader.read(Buffer.concat([...begins, error, frame('Z', 'E')]));
  expect(Buffer.concat(told)).toEqual(error);
  expect(settle(session.interrupted)).toMatchObject({ how: { words: [readyForQuery('I')], readies: 1 } });
});

it('nothing is asked in the middle of what the client has begun', () => {
  const session = elsewhere();
  const rest = Buffer.concat([run('DELETE FROM t'), send.sync]);
  session.sent(send.parse('other', 'SELECT 1'));
  expect(session.sent(rest)).toEqual([rest]);
  expect(elsewhere().sent(rest)).toHaveLength(2);
});

it('a Parse that has failed tells nothing of the statement that has its name', () => {
  const session = elsewhere();
  session.sent(Buffer.concat([send.parse('look', 'SELECT 1'), send.sync]));
  session.reader.read(Buffer.concat([frame('1'), readyForQuery('I')]));
  session.sent(Buffer.concat([send.parse('look', 'DELETE FROM t'), send.sync]));
  session.reader.read(Buffer.concat([frame('E', 'VERROR\0C42P05\0\0'), readyForQuery('I')]));
  const looks = Buffer.concat([send.bind({ portal: '', statement: 'look' }), send.execute(''), send.sync]);
  expect(session.sent(looks)).toEqual([looks]);
});

it('a read of which a part was told is not made again', () => {
  const session = elsewhere();
  session.sent(send.query('SELECT 1'));
  expect(settle(session.interrupted)).toMatchObject({ how: { resends: 'reading' } });
  session.reader.read(frame('T', '\0\0'));
  expect(settle(session.interrupted)).toMatchObject({ how: { resends: 'no', readies: 1 } });
});

it('no part of the answer to a COMMIT is told twice', () => {
  const session = elsewhere();
  session.tracker.told(0, 'T');
  session.sent(Buffer.concat([run('COMMIT'), send.sync]));
  const own = [frame('1'), frame('2'), frame('D', '\0\x01\0\0\0\x0277'), frame('C', 'SELECT 1\0')];
  const told = session.reader.read(Buffer.concat([...own, frame('3'), frame('3'), frame('1')]));
  expect(Buffer.concat(told)).toEqual(frame('1'));
  const settled = settleAfter(session.interrupted, { code: 'committed', tag: null });
  const words = settled.kind === 'go' ? settled.how.words : [];
  expect(words.map((word) => String.fromCharCode(word[0]!)).join('')).toBe('EZ');
});

describe('the COMMIT of a transaction that has no id', () => {
  const id = (value: string): Buffer => Buffer.concat([frame('V', value), frame('Z', 'T')]);
  const hold = 'DECLARE c CURSOR WITH HOLD FOR SELECT writes()';
  const none = id('\xff\xff\xff\xff');

  function interrupted(answer: Buffer, ...requests: readonly string[]): string {
    const session = elsewhere();
    session.tracker.told(0, 'T');
    for (const sql of requests) {
      session.sent(send.query(sql));
      if (sql === hold) session.reader.read(readyForQuery('T'));
    }
    session.reader.read(answer);
    const settlement = settle(session.interrupted);
    return settlement.kind === 'go' ? settlement.how.block : settlement.kind;
  }

  it.each([
    ["SELECT pg_notify('a', 'b')", assigning.oid],
    ['SELECT 1', 5060],
  ])('is given one ahead of it where the block has said that it notifies: %s', (sql, oid) => {
    const session = elsewhere();
    session.tracker.told(0, 'T');
    session.sent(send.query(sql));
    session.reader.read(readyForQuery('T'));
    const sent = Buffer.concat(session.sent(send.query('COMMIT')));
    expect(sent.readInt32BE(5)).toBe(oid);
  });

  it.each([
    ['none, for it may be given one inside COMMIT', none, ['COMMIT'], 'none'],
    ['an id', id('\0\0\0\x0277'), ['COMMIT'], 'ask'],
    ['no answer', Buffer.alloc(0), ['COMMIT'], 'none'],
    ['another statement', none, ['SELECT f(); COMMIT'], 'none'],
    ['another request', none, ['COMMIT', 'SELECT f()'], 'none'],
    ['a cursor that it makes', none, [hold, 'COMMIT'], 'none'],
  ] as const)('is not called not committed: %s', (_, answer, requests, settled) =>
    expect(interrupted(answer, ...requests)).toBe(settled),
  );
});

describe('a cancel, or a statement_timeout, that hits a question', () => {
  const cancelled = frame('E', 'VERROR\0C57014\0Mcanceled\0\0');
  const begun = [frame('1'), frame('2'), frame('C', 'BEGIN\0'), frame('3'), frame('3')];
  const inFailed = frame('E', 'VERROR\0C25P02\0\0');
  const types = (bytes: readonly Buffer[]): string =>
    bytes.map((one) => String.fromCharCode(one[0]!)).join('');
  const batch = Buffer.concat([run('DELETE FROM t'), send.sync]);
  const [failed, idle] = [readyForQuery('E'), readyForQuery('I')];

  function cancels(
    request: Buffer,
    answer: readonly Buffer[],
    status: 'I' | 'T' = 'I',
  ): { session: Following; sent: Buffer[]; told: readonly Buffer[] } {
    const sent: Buffer[] = [];
    const session = elsewhere((bytes) => sent.push(bytes));
    session.tracker.told(0, status);
    session.sent(request);
    return { session, sent, told: answer.flatMap((bytes) => session.reader.read(bytes)) };
  }

  it.each<readonly [string, Buffer, readonly Buffer[], 'I' | 'T', readonly string[]]>([
    ['a block around a change', change, [frame('1'), cancelled, idle], 'I', ['S']],
    [
      'the id of one',
      change,
      [...begun, cancelled, failed, inFailed, failed, frame('C', 'ROLLBACK\0'), idle],
      'I',
      ['Q'],
    ],
    ['the id of a batch', batch, [frame('1'), cancelled, idle], 'I', ['S']],
    [
      'the id of a COMMIT',
      send.query('COMMIT'),
      [cancelled, failed, frame('C', 'ROLLBACK\0'), idle],
      'T',
      [],
    ],
  ])('is the error of the request, in the same session: %s', (_, request, answer, status, expected) => {
    const { session, sent, told } = cancels(request, answer, status);
    expect(types(told)).toBe('EZ');
    expect(told[0]).toEqual(cancelled);
    expect(sent.map((bytes) => types([bytes]))).toEqual(expected);
    expect([session.reader.isOver, session.tracker.outstanding]).toEqual([false, false]);
    expect(session.sent(send.query('SELECT 1'))).toHaveLength(1);
  });

  it('is told at the next statement where its request was answered', () => {
    const answer = [frame('C', 'INSERT 0 1\0'), readyForQuery('T'), cancelled, failed];
    const { session, told } = cancels(change, answer, 'T');
    expect(types(told)).toBe('CZ');
    const commit = session.sent(send.query('COMMIT'));
    expect(Buffer.concat(commit).toString('latin1')).toContain('ROLLBACK TO');
    const after = [inFailed, failed, frame('C', 'ROLLBACK\0'), idle].flatMap((bytes) =>
      session.reader.read(bytes),
    );
    expect(after.map((bytes) => bytes.toString('latin1')).join()).toContain('57014');
    expect(types(after)).toBe('EZ');
  });

  it('has the session made anew where others of its requests would be passed over', () => {
    const session = elsewhere();
    session.sent(change);
    session.sent(send.query('SELECT 1'));
    session.reader.read(Buffer.concat([frame('1'), cancelled]));
    expect(session.reader.isOver).toBe(true);
  });
});
