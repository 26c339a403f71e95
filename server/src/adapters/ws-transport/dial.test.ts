import { expect, it } from 'vitest';
import { isRefusal } from './dial.ts';

function failed(code: string): Error {
  return Object.assign(new Error(code), { code });
}

it.each<[string, Error, boolean]>([
  ['refuses', failed('ECONNREFUSED'), true],
  ['cannot be reached', failed('ENETUNREACH'), false],
  ['does not answer', failed('ETIMEDOUT'), false],
  ['has been reached, and breaks off', failed('ECONNRESET'), false],
])('a host that %s', (_what, error, expected) => {
  expect(isRefusal(error)).toBe(expected);
});

it('a host of several addresses refuses if one of them does, whichever was tried first', () => {
  const of = (...codes: string[]): Error =>
    Object.assign(new AggregateError(codes.map(failed)), { code: codes[0] });
  expect(isRefusal(of('ENETUNREACH', 'ECONNREFUSED'))).toBe(true);
  expect(isRefusal(of('ECONNREFUSED', 'ENETUNREACH'))).toBe(true);
  expect(isRefusal(of('ENETUNREACH', 'ETIMEDOUT'))).toBe(false);
});
