import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { systemClock } from '../adapters/system-clock.ts';
import { pause } from './pause.ts';

it('a pause ends with its time or with its signal, and leaves no listener', async () => {
  const end = new AbortController();
  await pause(systemClock, 1, end.signal);
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(0);
  const long = pause(systemClock, 60_000, end.signal);
  end.abort(new Error('over'));
  await long;
  await pause(systemClock, 60_000, end.signal);
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(0);
});
