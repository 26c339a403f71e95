import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { JudgeTimes } from './judge-times.ts';
import { MutantJudge } from './judging.ts';

const file = 'ballot.ts';
const text = readFileSync(new URL(`../../../server/src/multipaxos/${file}`, import.meta.url), 'utf8');
const judge = new MutantJudge('', new JudgeTimes());
afterAll(() => judge.stop());

describe('a judge', () => {
  it('lets pass what is unaltered, kills what a test notices, and remembers nothing of it', async () => {
    const order = { file, judges: ['unit'] } as const;
    const altered = text.replace('left.round - right.round', 'right.round - left.round');
    expect(altered).not.toBe(text);
    expect(await judge.judge({ ...order, text })).toEqual({ kind: 'survived' });
    expect(await judge.judge({ ...order, text: altered })).toMatchObject({
      kind: 'killed',
      by: 'unit',
      how: 'test',
    });
    expect(await judge.judge({ ...order, text })).toEqual({ kind: 'survived' });
  });

  it('ends what never ends, and goes on in another process', async () => {
    const hasty = new MutantJudge('', new JudgeTimes({ firstMs: 8000, leastMs: 8000 }));
    const order = { file, judges: ['unit'] } as const;
    const endless = `${text}\nfor (;;);\n`;
    expect(await hasty.judge({ ...order, text: endless })).toMatchObject({ kind: 'killed', how: 'timeOut' });
    hasty.stop();
    expect(readFileSync(new URL(`../../../server/src/multipaxos/${file}`, import.meta.url), 'utf8')).toBe(
      text,
    );
  });
});
