import { beforeAll, expect, it } from 'vitest';
import { loadParser } from '../../determinism/parser.ts';
import { createPreparation } from '../../determinism/preparation.ts';
import type { OperationResult } from '../../payload/statements/executor.ts';
import { readErrorFields } from '../../pgwire/backend-messages.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { ReplicaSessions } from './statement-sessions.ts';
import { Submissions } from './submissions.ts';

beforeAll(loadParser);

it.each([
  ['default_transaction_deferrable', 'on', '0A000'],
  ['max_parallel_workers_per_gather', '2', '0A000'],
  ['synchronize_seqscans', 'off', null],
  ['timezone', 'Asia/Tokyo', null],
])('a session that is to begin with %s = %s', async (name, value, refused) => {
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
    earlier: { isOver: true, whenOver: () => Promise.resolve() },
    findLogin: () => Promise.reject(new Error('nobody logs in')),
    reservedUsers: [],
    levels: null,
    onCancel: () => undefined,
    prefix: 'aa',
    randomBytes: (count) => Buffer.alloc(count),
    clockUs: () => 0,
  });
  const opening = { user: 'u', database: 'd', parameters: [], settings: [[name, value] as const] };
  const answer = sessions.open(opening, () => undefined);
  await time.pass(1);
  expect(given).toHaveLength(refused === null ? 1 : 0);
  if (refused === null) return;
  const told = await answer;
  if (told.code !== 'answered') throw new Error(told.code);
  expect([readErrorFields(told.bytes).get('C'), told.ended]).toEqual([refused, true]);
});
