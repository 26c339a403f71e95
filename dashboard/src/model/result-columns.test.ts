import { expect, test } from 'vitest';
import { columnWidths } from './result-columns.ts';

test('a column is as wide as its name and its values need, within bounds', () => {
  const rows = [
    ['1', 'x'.repeat(20), null],
    ['2', 'y', 'z'.repeat(4000)],
  ];
  expect(columnWidths({ columns: ['a', 'a_long_enough_name', 'c'], rows })).toEqual([64, 174, 420]);
});
