import { pino } from 'pino';
import { expect, it } from 'vitest';
import { systemClock } from '../../adapters/system-clock.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { Verdict } from '../../payload/statements/answer-comparison.ts';
import { type AnswerRecord, noAnswers } from '../../payload/statements/held-answers.ts';
import { decodeDigests, DigestExchange, encodeDigests } from './digest-exchange.ts';

it('digests travel in few bytes, and what is cut short is not taken for one', () => {
  const digests = [
    { slot: 1, digest: '0a1b2c3d' },
    { slot: 2 ** 40, digest: 'error 23505 I' },
    { slot: 3, digest: '0a', isHeld: true } as const,
  ];
  const bytes = encodeDigests(digests);
  expect(decodeDigests(bytes)).toEqual(digests);
  expect(decodeDigests(bytes.subarray(0, bytes.length - 1))).toEqual(digests.slice(0, 2));
  expect(decodeDigests(new Uint8Array([1, 2, 3]))).toEqual([]);
});

const names = ['r1', 'r2', 'r3'] as ReplicaId[];

/** Three replicas that hear each other at once, and whose records outlive them. */
function group(isLost: (bytes: Uint8Array) => boolean = () => false) {
  const verdicts = new Map<ReplicaId, Verdict[]>(names.map((name) => [name, []]));
  const records = new Map<ReplicaId, AnswerRecord>();
  const all = new Map<ReplicaId, DigestExchange>();
  const begin = (self: ReplicaId): DigestExchange => {
    void all.get(self)?.stop();
    const exchange = new DigestExchange({
      self,
      voters: () => names,
      send: (to, bytes) => {
        if (!isLost(bytes)) all.get(to)?.take(self, bytes);
      },
      timers: systemClock,
      // One that is wrong is being replaced.
      isHeard: () => verdicts.get(self)?.every(({ code }) => code !== 'wrong') ?? true,
      hasExecuted: () => true,
      isNear: () => true,
      onVerdict: (verdict) => verdicts.get(self)?.push(verdict),
      file: {
        record: records.get(self) ?? noAnswers,
        write: (record) => Promise.resolve(void records.set(self, record)),
      },
      logger: pino({ level: 'silent' }),
    });
    all.set(self, exchange);
    return exchange;
  };
  const [r1, r2, r3] = names.map(begin);
  const last = (self: ReplicaId): Verdict | undefined => verdicts.get(self)?.at(-1);
  const story: string[] = [];
  const answer = (exchange: DigestExchange, slot: number, digest: string): void => {
    const tell = (): unknown => story.push(`tells ${digest}`);
    const drop = (): unknown => story.push(`drops ${digest}`);
    exchange.executed({ name: `${slot}`, slot, digest, tell, drop }, true);
  };
  const stop = (): void => {
    for (const exchange of all.values()) void exchange.stop();
  };
  return { r1: r1!, r2: r2!, r3: r3!, begin, last, records, answer, story, stop };
}

it('whoever differs from two others hears so, and its client nothing', async () => {
  const { r1, r2, r3, last, answer, story, stop } = group();
  answer(r1, 7, 'a');
  answer(r2, 7, 'b');
  answer(r3, 7, 'a');
  await expect.poll(() => last(names[1]!)).toEqual({ code: 'wrong', slot: 7, equal: ['r1', 'r3'] });
  expect(last(names[0]!)).toEqual({ code: 'right' });
  expect(story.toSorted()).toEqual(['drops b', 'tells a', 'tells a']);
  stop();
});

it('what a majority answered where another did not outlives the process, and an answer that differs from it is not told', async () => {
  const { r1, r2, r3, begin, last, records, answer, story, stop } = group();
  answer(r1, 7, 'a');
  answer(r2, 7, 'a');
  answer(r3, 7, 'b');
  await expect.poll(() => records.get(names[1]!)?.held).toEqual([[7, 'a']]);
  const again = begin(names[1]!);
  answer(again, 7, 'a');
  expect(story).not.toContain('drops a');
  answer(again, 7, 'c');
  expect(story).toContain('drops c');
  expect(last(names[1]!)).toEqual({ code: 'lost', slot: 7, isHeldElsewhere: false });
  expect(again.standsAt).toBe(7);
  expect(begin(names[1]!).standsAt).toBe(7);
  stop();
});

it('one that never heard of the majority hears of it from whoever holds the answer', async () => {
  const { r1, r2, begin, last, answer, story, stop } = group();
  answer(r1, 7, 'a');
  answer(r2, 7, 'a');
  await expect.poll(() => r1.heardTo).toBe(7);
  // Its record is of an earlier moment.
  const again = begin(names[1]!);
  answer(again, 7, 'c');
  expect(story).not.toContain('drops c');
  await expect.poll(() => last(names[1]!)).toEqual({ code: 'lost', slot: 7, isHeldElsewhere: true });
  expect(last(names[0]!)).toEqual({ code: 'right' });
  again.settle(9);
  expect(again.standsAt).toBeNull();
  stop();
});

it('a word of whoever holds the answer that was lost on the way is said again', async () => {
  let lost = 0;
  const isLost = (bytes: Uint8Array): boolean =>
    decodeDigests(bytes).some(({ isHeld }) => isHeld === true) && (lost += 1) <= 1;
  const { r1, r2, begin, last, answer, story, stop } = group(isLost);
  answer(r1, 7, 'a');
  answer(r2, 7, 'a');
  await expect.poll(() => r1.heardTo).toBe(7);
  const again = begin(names[1]!);
  answer(again, 7, 'c');
  expect(story).not.toContain('drops c');
  await expect.poll(() => last(names[1]!)).toEqual({ code: 'lost', slot: 7, isHeldElsewhere: true });
  expect(lost).toBeGreaterThan(1);
  stop();
});
