/** Which runs are tried and kept. */
import { expect, it } from 'vitest';
import { Random } from '../../../server/src/ports/testing/random.ts';
import { runSchedule } from '../group-schedule.ts';
import { readCorpus } from './explore-command.ts';
import { bestOf, Explorer } from './explorer.ts';
import { commandOf, type Input, readTurn, runInput, type Run } from './run-input.ts';

const input = (seed: number): Input => ({ seed, replicas: 3, turns: [] });

function run(from: Input, pairs: Readonly<Record<string, number>>): Run {
  return { input: from, pairs: new Map(Object.entries(pairs)), faults: [] };
}

it('goes on where only few runs have been', () => {
  const explorer = new Explorer(1, new Random(3));
  const first = explorer.next();
  expect(first).toEqual(input(1));
  const usual = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`usual ${index}`, index * 10]));
  for (let n = 0; n < 50; n++) explorer.take(run(first, usual));
  const rare: Input = { ...input(70), turns: [{ atMs: 500, salt: 1 }] };
  expect(explorer.take(run(rare, { ...usual, rare: 9000 }))).toBe(1);
  const turned = Array.from({ length: 50 }, () => explorer.next()).filter(({ turns }) => turns.length > 0);
  expect(turned.length).toBeGreaterThan(30);
  expect(turned.length).toBeLessThan(50);
  for (const { seed, turns } of turned) {
    expect(seed).toBe(70);
    expect(Math.abs(turns[1]!.atMs - 9000)).toBeLessThanOrEqual(300);
  }
});

it('takes new seeds as long as they bring more', () => {
  const explorer = new Explorer(1, new Random(4));
  for (let n = 0; n < 20; n++) explorer.take(run(input(n), { [`a ${n}`]: 1, [`b ${n}`]: 1 }));
  explorer.take(run({ ...input(70), turns: [{ atMs: 500, salt: 1 }] }, { rare: 9000 }));
  const seeds = Array.from({ length: 50 }, () => explorer.next()).filter(({ turns }) => turns.length === 0);
  expect(seeds.length).toBeGreaterThan(30);
});

it('keeps the turns before the place, and none behind it', () => {
  const explorer = new Explorer(1, new Random(5));
  const far: Input = {
    ...input(4),
    turns: [
      { atMs: 1000, salt: 7 },
      { atMs: 8000, salt: 8 },
    ],
  };
  explorer.take(run(input(9), { usual: 1 }));
  for (let n = 0; n < 50; n++) explorer.take(run(input(9), { usual: 1 }));
  explorer.take(run(far, { rare: 5000 }));
  const turned = Array.from({ length: 30 }, () => explorer.next()).filter(({ turns }) => turns.length > 0);
  for (const { turns } of turned) {
    expect(turns).toHaveLength(2);
    expect(turns[0]).toEqual({ atMs: 1000, salt: 7 });
    expect(turns[1]!.salt).not.toBe(8);
  }
});

it('keeps those that come through most together', () => {
  const runs = [
    run(input(1), { a: 1, b: 1 }),
    run(input(2), { a: 1, b: 1, c: 1 }),
    run(input(3), { d: 1 }),
    run(input(4), { c: 1, d: 1 }),
  ];
  expect(bestOf(runs, 9).map((one) => one.input.seed)).toEqual([2, 3]);
  expect(bestOf(runs, 1).map((one) => one.input.seed)).toEqual([2]);
});

it('a turn changes what comes behind it, and nothing before', async () => {
  const told = async (turns: Input['turns']): Promise<string[]> => {
    const lines: string[] = [];
    await runSchedule({
      seed: 21,
      rounds: 1,
      turns,
      onEvent: ({ replica, name }, atMs) => lines.push(`${atMs} ${replica} ${name}`),
    });
    return lines;
  };
  const plain = await told([]);
  const turned = await told([{ atMs: 4000, salt: 9 }]);
  const until = (lines: string[]): string[] => lines.filter((line) => Number.parseFloat(line) < 4000);
  expect(turned).not.toEqual(plain);
  expect(until(plain).length).toBeGreaterThan(20);
  expect(until(turned)).toEqual(until(plain));
});

it('is written as a command that runs it again', () => {
  const text = commandOf({ seed: 3, replicas: 5, turns: [{ atMs: 12, salt: 34 }] });
  expect(text).toBe('npm run groups -- --seed 3 --replicas 5 --rounds 1 --turn 12/34');
  expect(readTurn('12/34')).toEqual({ atMs: 12, salt: 34 });
  expect(() => readTurn('12')).toThrow('MILLISECONDS/NUMBER');
});

/** Its first runs: those that come through most. */
it('nothing that must not be comes of the corpus', async () => {
  const best = (await readCorpus()).slice(0, 3);
  expect(best.some(({ turns }) => turns.length > 0)).toBe(true);
  for (const one of best) {
    const { faults, pairs } = await runInput(one);
    expect({ command: commandOf(one), faults }).toEqual({ command: commandOf(one), faults: [] });
    expect(pairs.size).toBeGreaterThan(100);
  }
});
