import { beforeAll, expect, it } from 'vitest';
import { loadParser } from '../../determinism/parser.ts';
import { createPreparation } from '../../determinism/preparation.ts';
import type { OperationResult } from '../../payload/statements/executor.ts';
import { decodeOperation, keyOf } from '../../payload/statements/operation.ts';
import { readErrorFields } from '../../pgwire/backend-messages.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { ReplicaSessions } from './statement-sessions.ts';
import { Submissions } from './submissions.ts';

beforeAll(loadParser);

function setUp(): {
  time: SimulatedTime;
  given: Uint8Array[];
  submissions: Submissions<OperationResult>;
  sessions: ReplicaSessions;
} {
  const time = new SimulatedTime();
  const given: Uint8Array[] = [];
  const submissions = new Submissions<OperationResult>({
    timers: time,
    propose: (operation) => {
      given.push(operation);
      return { code: 'given' };
    },
    send: () => undefined,
    retryMs: 100,
    waitMs: 1000,
    operationsMax: 10,
    bytesMax: 1000,
    batchBytesMax: 1000,
  });
  const sessions = new ReplicaSessions({
    submissions,
    preparation: createPreparation,
    whyNot: () => null,
    whyNoMore: () => null,
    earlier: { isOver: true, whenOver: () => Promise.resolve() },
    findLogin: () => Promise.reject(new Error('nobody logs in')),
    reservedUsers: [],
    levels: null,
    onCancel: () => undefined,
    prefix: 'aa',
    randomBytes: (count) => Buffer.alloc(count),
    clockUs: () => 0,
  });
  return { time, given, submissions, sessions };
}

it.each([
  ['default_transaction_deferrable', 'on', '0A000'],
  ['max_parallel_workers_per_gather', '2', '0A000'],
  ['synchronize_seqscans', 'off', null],
  ['timezone', 'Asia/Tokyo', null],
])('a session that is to begin with %s = %s', async (name, value, refused) => {
  const { time, given, sessions } = setUp();
  const opening = { user: 'u', database: 'd', parameters: [], settings: [[name, value] as const] };
  const answer = sessions.open(opening, () => undefined);
  await time.pass(1);
  expect(given).toHaveLength(refused === null ? 1 : 0);
  if (refused === null) return;
  const told = await answer;
  if (told.code !== 'answered') throw new Error(told.code);
  expect([readErrorFields(told.bytes).get('C'), told.ended]).toEqual([refused, true]);
});

it('hears each notification once, though what told them is executed again', async () => {
  const { time, given, submissions, sessions } = setUp();
  const heard: string[] = [];
  const opening = { user: 'u', database: 'd', parameters: [] };
  const answer = sessions.open(opening, (message) => heard.push(message.toString()));
  await time.pass(1);
  submissions.executed(keyOf(decodeOperation(given[0]!)), {
    outcome: 'executed',
    answer: Buffer.alloc(0),
    status: 'I',
    digest: null,
  });
  const { session } = await answer;
  const told = (at: number): void => sessions.notified(session, Buffer.from(String(at)), at);
  const all = [5, 6, 6.5, 7, 9];
  for (const at of all) told(at);
  expect(heard).toEqual(all.map(String));
  // From a copy of slot 6; struck again in the middle of it; then there is news.
  sessions.goesOnFrom(6);
  told(6.5);
  sessions.goesOnFrom(6);
  for (const at of [6.5, 7, 9, 10, 11]) told(at);
  expect(heard).toEqual([...all, 10, 11].map(String));
});
