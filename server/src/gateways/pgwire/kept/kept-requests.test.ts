import { describe, expect, it } from 'vitest';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { query, sync } from '../../../pgwire/frontend-messages.ts';
import { cuts, frame } from '../testing/frames.ts';
import { run } from '../testing/tracked.ts';
import { KeptBudgets } from './kept-budget.ts';
import { KeptRequests, partBytes } from './kept-requests.ts';

function sends(kept: KeptRequests, ...chunks: readonly Buffer[]): void {
  const splitter = new FrameSplitter(1 << 20);
  for (const chunk of chunks) {
    splitter.feed(chunk);
    while (splitter.next()) kept.sent(splitter, chunk);
  }
}

function all(kept: KeptRequests): string | null {
  return kept.all === null ? null : Buffer.concat([...kept.all]).toString('latin1');
}

describe('what a client has sent and had no answer to', () => {
  it('is there byte by byte, however it came, and goes with its answers', () => {
    const requests = [query('a'), Buffer.concat([run('b'), sync]), query('c')];
    for (const chunks of cuts(Buffer.concat(requests))) {
      const kept = new KeptRequests(100_000, new KeptBudgets(2 * 100_000).of('one'));
      sends(kept, ...chunks);
      for (let left = 0; left < requests.length; left += 1) {
        expect(all(kept)).toBe(Buffer.concat(requests.slice(left)).toString('latin1'));
        kept.answered(left === requests.length - 1);
      }
      expect(all(kept)).toBe('');
    }
  });

  it('includes the part of a message that has come', () => {
    const kept = new KeptRequests(100_000, new KeptBudgets(2 * 100_000).of('one'));
    sends(kept, query('a').subarray(0, 3));
    expect(all(kept)).toBe(query('a').subarray(0, 3).toString('latin1'));
  });

  it('is not there beyond a bound, until nothing is owed', () => {
    const budget = new KeptBudgets(2 * (partBytes + 50)).of('one');
    const [one, other] = [new KeptRequests(partBytes + 40, budget), new KeptRequests(partBytes + 40, budget)];
    sends(one, query('x'.repeat(60)));
    expect(all(one)).toBe(null);
    one.answered(true);
    expect(all(one)).toBe('');
    sends(one, query('x'.repeat(20)));
    sends(other, query('x'.repeat(20)), query('x'.repeat(20)));
    expect([all(one) === null, all(other) === null]).toEqual([false, true]);
    one.answered(true);
    other.answered(true);
    sends(other, query('x'.repeat(30)));
    expect(all(other)).not.toBe(null);
  });

  it.each([
    ['very many requests', Array.from({ length: 500 }, () => sync)],
    ['a message that comes byte by byte', Array.from(query('x'.repeat(500)), (byte) => Buffer.from([byte]))],
  ])('is not there beyond a bound where it is %s', (_what, chunks) => {
    const kept = new KeptRequests(100_000, new KeptBudgets(2 * 1_000_000).of('one'));
    sends(kept, ...chunks);
    expect(all(kept)).toBe(null);
  });

  it('is not there where data are copied; data that belong to no COPY do not count', () => {
    const kept = new KeptRequests(100_000, new KeptBudgets(2 * 100_000).of('one'));
    sends(kept, frame('d', 'stray'), frame('c'));
    expect(all(kept)).toBe('');
    sends(kept, query('COPY t FROM STDIN'), frame('d', 'x'));
    expect(all(kept)).toBe(null);
    kept.answered(true);
    expect(all(kept)).toBe('');
  });

  it('takes nothing of what all may keep once it is let go', () => {
    const budget = new KeptBudgets(2 * 10_000).of('one');
    const [one, other, third] = [1, 2, 3].map(() => new KeptRequests(10_000, budget));
    for (const kept of [one!, other!, third!]) sends(kept, query('x'.repeat(100)));
    one!.clear();
    other!.spoil();
    third!.restart(false);
    expect(budget.take(10_000)).toBe(true);
  });
});
