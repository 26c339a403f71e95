import { duplexPair } from 'node:stream';
import { expect, it } from 'vitest';
import * as send from '../codec/frontend-messages.ts';
import { defaultLimits } from '../limits.ts';
import { Following } from './following.ts';
import { KeptBudget } from './kept-budget.ts';
import { emptySnapshot } from './state-question.ts';

function following(): Following {
  return new Following({
    startup: { kind: 'startup', version: 3 << 16, parameters: [['user', 'u']], tunnelNonce: null },
    limits: defaultLimits,
    budget: new KeptBudget(1 << 20),
    onKey: () => undefined,
    send: () => undefined,
    onAuthenticated: () => undefined,
  });
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
    session.adopt({
      key: null,
      parameters: new Map(),
      snapshot: emptySnapshot,
      statements: [
        ['a', send.parse('a', 'SELECT 1')],
        ['b', send.parse('b', sql)],
      ],
      settingNames: [],
      upstream: duplexPair()[0],
    });
    session.tracker.told(0, status);
    session.sent(Buffer.concat([send.bind({ portal: '', statement: 'b' }), send.execute(''), send.sync]));
    expect(session.tracker.verdict).toBe(verdict);
  },
);
