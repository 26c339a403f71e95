import { expect, it } from 'vitest';
import { replaceOnce } from './mutate.ts';

it('a bug is planted where its text is, as it is written', () => {
  expect(replaceOnce('a && b;', { file: 'x.js', find: ' && b', replace: ' && $&' })).toBe('a && $&;');
});

it('a bug that does not fit is told, never left out', () => {
  expect(() => replaceOnce('a', { file: 'x.js', find: 'b', replace: 'c' })).toThrow('there 0 times');
  expect(() => replaceOnce('a a', { file: 'x.js', find: 'a', replace: 'c' })).toThrow('there 2 times');
});
