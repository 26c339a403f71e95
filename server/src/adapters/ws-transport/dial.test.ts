import { expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { dialPeer, isRefusal } from './dial.ts';
import { defaultLimits } from './limits.ts';

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

it.each(['10.0.0.256', '[::1]', '[::1', 'fe80::1%none', 'a b', 'a:1', 'a/b', 'a\0b', '\ud800'])(
  'a host that is none, or cannot be reached, ends the connection and nothing else: %j',
  async (host) => {
    const ended = new Promise((resolve) => {
      const dialled = dialPeer(
        {
          self: () => {
            throw new Error('nobody answers');
          },
          peer: { id: 'r2' as ReplicaId, host, port: 1 },
          purpose: 'messages',
          limits: defaultLimits,
          tls: null,
        },
        { onUp: () => {}, onText: () => {}, onBinary: () => {}, onEnd: resolve },
      );
      // Whether it is looked up, and how fast, is the machine's.
      dialled.fail('given up');
    });
    expect(await ended).toEqual(expect.any(String));
  },
);
