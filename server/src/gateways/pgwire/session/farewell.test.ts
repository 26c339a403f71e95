import { describe, expect, it } from 'vitest';
import { commandComplete, readErrorFields, readyForQuery } from '../../../pgwire/backend-messages.ts';
import type { Doubt } from '../codec/doubt-frame.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import type { RequestOutcome } from '../../../ports/client-service.ts';
import { leaderWentAway } from '../errors.ts';
import { inBlock, sends, started } from '../testing/tracked.ts';
import { farewell, type Situation, wordsAfter } from './farewell.ts';
import type { RequestTracker } from './request-tracker.ts';

const { query } = send;
const doubt: Doubt = {
  kind: 'transaction',
  transaction: { leadership: { round: 1, replica: 'r1' as ReplicaId }, xid: 7n },
};
const quiet: Situation['told'] = { atBoundary: true, begun: false, saidFatal: false };

function sent(make: () => RequestTracker, ...messages: readonly Buffer[]): RequestTracker {
  const tracker = make();
  sends(tracker, ...messages);
  return tracker;
}

/** Severity, SQLSTATE, and the detail if there is one. */
function told(error: Buffer): string {
  const fields = readErrorFields(error);
  const kind = `${fields.get('V')} ${fields.get('C')}`;
  return fields.has('D') ? `${kind}: ${fields.get('D')}` : kind;
}

const nothing = 'FATAL 57P01: The transaction in progress was not committed.';
const unknown = `FATAL 08007: ${leaderWentAway.message}`;

describe('the last words', () => {
  it.each<[string, RequestTracker, Doubt | null, string]>([
    ['who is owed nothing', started(), null, 'FATAL 57P01'],
    ['who has a block open', inBlock(), doubt, nothing],
    ['who waits for what is no transaction', sent(started, query('SET a = b')), null, 'FATAL 57P01'],
    ['who waits for a statement in a block', sent(inBlock, query('INSERT INTO t')), doubt, nothing],
    [
      'who waits for one transaction of which nothing is known',
      sent(inBlock, query('COMMIT')),
      null,
      unknown,
    ],
    ['who waits for several', sent(started, query('SELECT 1'), query('SELECT 2')), doubt, unknown],
  ])('to a client %s are what is certain', (_who, tracker, known, expected) => {
    const last = farewell({ tracker, told: quiet, doubt: known }, leaderWentAway);
    expect(last.kind === 'words' && last.bytes.map(told)).toEqual([expected]);
  });

  it('wait for what became of the one transaction that is known', () => {
    const tracker = sent(inBlock, query('COMMIT'));
    expect(farewell({ tracker, told: quiet, doubt }, leaderWentAway)).toEqual({ kind: 'ask', doubt });
  });

  it.each([
    ['in the middle of a message', { ...quiet, atBoundary: false }],
    ["behind PostgreSQL's own", { ...quiet, saidFatal: true }],
  ])('are none %s', (_where, has) => {
    for (const tracker of [started(), inBlock(), sent(inBlock, query('COMMIT'))]) {
      expect(farewell({ tracker, told: has, doubt }, leaderWentAway)).toEqual({ kind: 'words', bytes: [] });
    }
  });
});

describe('the last words about a transaction', () => {
  const commit = sent(inBlock, query('COMMIT'));
  const insert = sent(started, query('INSERT INTO t VALUES (1)'));
  const committed: RequestOutcome = { code: 'committed', tag: 'INSERT 0 1' };

  it.each<[string, RequestTracker, string]>([
    ['COMMIT', commit, 'COMMIT'],
    ['a statement whose tag is kept', insert, 'INSERT 0 1'],
  ])('that is committed are the answer, if that is known: to %s', (_what, tracker, tag) => {
    const words = wordsAfter({ tracker, told: quiet }, committed, leaderWentAway);
    expect(words.slice(0, 2)).toEqual([commandComplete(tag), readyForQuery('I')]);
    expect(words.slice(2).map(told)).toEqual(['FATAL 57P01']);
  });

  it.each<[string, RequestTracker, Partial<Situation['told']>, RequestOutcome]>([
    ['part of it was told', commit, { begun: true }, committed],
    ['no tag was kept', insert, {}, { code: 'committed', tag: null }],
    ['more than that is owed', sent(started, query('INSERT INTO t VALUES (1)'), send.sync), {}, committed],
  ])('that is committed are that its answer is lost, if %s', (_why, tracker, has, outcome) => {
    const words = wordsAfter({ tracker, told: { ...quiet, ...has } }, outcome, leaderWentAway);
    expect(words.map(told)).toEqual(['FATAL RQ001']);
  });

  it('are that it was not committed, or that nobody knows', () => {
    const after = (outcome: RequestOutcome): string[] =>
      wordsAfter({ tracker: commit, told: quiet }, outcome, leaderWentAway).map(told);
    expect(after({ code: 'notCommitted' })).toEqual(['FATAL 40001']);
    expect(after({ code: 'unknown' })).toEqual([unknown]);
  });
});
