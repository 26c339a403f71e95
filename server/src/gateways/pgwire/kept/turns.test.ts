import { expect, it } from 'vitest';
import { Turns } from './turns.ts';

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function takeAll(turns: Turns, sources: readonly string[]) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  sources.forEach((source, index) => {
    void turns.take(source).then((end) => {
      begun.push(`${source}${index}`);
      ends.set(`${source}${index}`, end);
    });
  });
  const end = async (name: string): Promise<void> => {
    ends.get(name)!();
    await soon();
  };
  return { begun, end };
}

it('one source has half of the turns, and others take theirs at once', async () => {
  const { begun, end } = takeAll(new Turns(4), ['a', 'a', 'a', 'a', 'b', 'c']);
  await soon();
  expect(begun).toEqual(['a0', 'a1', 'b4', 'c5']);
  await end('b4');
  expect(begun).toHaveLength(4);
  await end('a1');
  expect(begun.at(-1)).toBe('a2');
  await end('c5');
  await end('a0');
  expect(begun.at(-1)).toBe('a3');
});

it('no more than so many have their turn at once; sources are next by turns, each in the order in which they came', async () => {
  const { begun, end } = takeAll(new Turns(2), ['a', 'b', 'b', 'b', 'c']);
  await soon();
  expect(begun).toEqual(['a0', 'b1']);
  await end('a0');
  expect(begun.at(-1)).toBe('c4');
  await end('b1');
  expect(begun.at(-1)).toBe('b2');
  await end('b2');
  await end('c4');
  expect(begun).toEqual(['a0', 'b1', 'c4', 'b2', 'b3']);
});
