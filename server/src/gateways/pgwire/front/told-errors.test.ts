import { expect, it } from 'vitest';
import { commandComplete, errorResponse, readyForQuery } from '../../../pgwire/backend-messages.ts';
import * as errors from '../errors.ts';
import { ToldErrors } from './told-errors.ts';

it('what is told before a client is logged in, and what ends its session, are counted apart', () => {
  const told = new ToldErrors();
  told.noteWords(false, [errorResponse('FATAL', errors.tooManyClients)]);
  told.noteWords(true, [errorResponse('FATAL', errors.outcomeUnknown('the leader went away'))]);
  told.noteWords(true, [
    commandComplete('COMMIT'),
    readyForQuery('I'),
    errorResponse('FATAL', errors.committedButEnding),
  ]);
  told.noteWords(true, []);
  expect([...told.logins]).toEqual([['53300', 1]]);
  expect([...told.sessions]).toEqual([
    ['08007', 1],
    ['57P01', 1],
  ]);
});

it('whatever PostgreSQL says has a place, and there are no more of them than so many', () => {
  const told = new ToldErrors();
  for (let n = 0; n < 1000; n += 1) told.note(false, `X${String(n).padStart(4, '0')}`);
  for (const odd of ['', 'a"b\nc', 'x', '28p01', undefined]) told.note(false, odd);
  expect(told.logins.size).toBe(65);
  expect(told.logins.get('other')).toBe(1000 - 64 + 5);
  told.note(false, 'X0001');
  expect(told.logins.get('X0001')).toBe(2);
});
