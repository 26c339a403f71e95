import { expect, it } from 'vitest';
import { systemClock } from '../../adapters/system-clock.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { Verdict } from '../../payload/statements/answer-comparison.ts';
import { decodeDigests, DigestExchange, encodeDigests } from './digest-exchange.ts';

it('digests travel in few bytes, and what is cut short is not taken for one', () => {
  const digests = [
    { slot: 1, digest: '0a1b2c3d' },
    { slot: 2 ** 40, digest: 'error 23505 I' },
  ];
  const bytes = encodeDigests(digests);
  expect(decodeDigests(bytes)).toEqual(digests);
  expect(decodeDigests(bytes.subarray(0, bytes.length - 1))).toEqual(digests.slice(0, 1));
  expect(decodeDigests(new Uint8Array([1, 2, 3]))).toEqual([]);
});

it('whoever differs from two others hears so', async () => {
  const names = ['r1', 'r2', 'r3'] as ReplicaId[];
  const verdicts = new Map<ReplicaId, Verdict[]>(names.map((name) => [name, []]));
  const all = new Map<ReplicaId, DigestExchange>();
  for (const self of names)
    all.set(
      self,
      new DigestExchange({
        self,
        voters: () => names,
        send: (to, bytes) => all.get(to)?.take(self, bytes),
        timers: systemClock,
        isHeard: () => true,
        onVerdict: (verdict) => verdicts.get(self)?.push(verdict),
      }),
    );
  for (const [self, exchange] of all) exchange.executed(7, self === 'r2' ? 'b' : 'a');
  await expect
    .poll(() => verdicts.get(names[1]!)?.at(-1))
    .toEqual({ code: 'wrong', slot: 7, equal: ['r1', 'r3'] });
  expect(verdicts.get(names[0]!)?.at(-1)).toEqual({ code: 'right' });
  for (const exchange of all.values()) exchange.stop();
});
