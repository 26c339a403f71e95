import { getEventListeners } from 'node:events';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { pause, within } from './pause.ts';
import { RecoveryTracker } from '../replica/database/recovery-progress.ts';
import { transferState } from '../replica/database/state-transfer.ts';

it('a pause ends with its time or with its signal, and leaves no listener', async () => {
  const end = new AbortController();
  await pause(1, end.signal);
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(0);
  const long = pause(60_000, end.signal);
  end.abort(new Error('over'));
  await long;
  await pause(60_000, end.signal);
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(0);
});

it('an answer is waited for until its time is up or its signal says so, and no listener stays', async () => {
  const end = new AbortController();
  const never = new Promise<never>(() => {});
  expect(await within(Promise.resolve(7), 60_000, end.signal)).toBe(7);
  await expect(within(Promise.reject(new Error('no')), 60_000, end.signal)).rejects.toThrow('no');
  await expect(within(never, 5, end.signal)).rejects.toThrow('no answer within 5 ms');
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(0);
  const waiting = within(never, 60_000, end.signal);
  end.abort(new Error('over'));
  await expect(waiting).rejects.toThrow('over');
  await expect(within(never, 60_000, end.signal)).rejects.toThrow('over');
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(0);
});

it('a replica that looks for a copy again and again gathers no listeners', async () => {
  const end = new AbortController();
  const logger = pino({ level: 'silent' });
  let looks = 0;
  let most = 0;
  await transferState(
    {
      fetcher: { fetch: () => Promise.reject(new Error('nobody is asked')) },
      target: {
        receive: () => Promise.resolve(),
        install: () => Promise.resolve(),
        freeSpace: () => Promise.resolve({ bytes: 1e9, path: '/nowhere' }),
      },
      sources: () => {
        most = Math.max(most, getEventListeners(end.signal, 'abort').length);
        if (++looks === 20) end.abort(new Error('enough'));
        return [];
      },
      tracker: new RecoveryTracker({ nowMs: () => 0, logger, onEvent: () => {} }),
      logger,
      retryMs: 1,
      retryMsMax: 1,
      failedMsMax: 1,
      silenceMs: 1000,
    },
    { patience: null, isOfUse: () => true, askedLast: new Set(), old: 'setAside' },
    end.signal,
  );
  expect(looks).toBe(20);
  expect(most).toBeLessThanOrEqual(1);
});
