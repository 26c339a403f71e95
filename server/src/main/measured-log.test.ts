import { expect, it } from 'vitest';
import type { LogWrite } from '../gateways/http/metrics.ts';
import type { GroupId, ReplicaId, Slot } from '../multipaxos/types/names.ts';
import type { LogRecord } from '../multipaxos/types/records.ts';
import { LogStoreError, type LogStore } from '../ports/log-store.ts';
import { measuredLog } from './measured-log.ts';

const ballot = { round: 1, replica: 'r1' as ReplicaId };
const records: readonly LogRecord[] = [
  { kind: 'promise', ballot },
  {
    kind: 'vote',
    slot: 1 as Slot,
    ballot,
    entry: {
      kind: 'command',
      group: 'main' as GroupId,
      proposal: { client: 'c', request: 1 },
      payload: new Uint8Array(100),
    },
  },
];

it('each group of records is told when it is durable, and what could not be written is told as such', async () => {
  let nowMs = 1000;
  let failure: LogStoreError | null = null;
  const appended: (readonly LogRecord[])[] = [];
  const store = {
    append: (given: readonly LogRecord[]) => {
      nowMs += 3;
      if (failure !== null) return Promise.reject(failure);
      appended.push(given);
      return Promise.resolve();
    },
  } as LogStore;
  const told: (LogWrite | null)[] = [];
  const log = measuredLog(
    store,
    (write) => told.push(write),
    () => nowMs,
  );
  await log.append(records);
  expect(told).toEqual([{ ms: 3, records: 2, bytes: 100 }]);
  expect(appended).toEqual([records]);
  failure = new LogStoreError('logFull', 'no space');
  await expect(log.append(records)).rejects.toBe(failure);
  expect(told).toEqual([{ ms: 3, records: 2, bytes: 100 }, null]);
});
