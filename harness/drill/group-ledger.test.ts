import { expect, it } from 'vitest';
import { momentFaults } from './group-ledger.ts';

const doubtful = new Set([77]);
const acknowledged = new Set([11, 21, 12, 22, 13, 23, 14, 24, 15, 25, 16, 26, 17, 27]);
const moment = { before: 4, after: 5 };

it('a group that was restored to a moment has what was acknowledged before, and of what came after only what was under way', () => {
  const exact = [11, 21, 12, 22];
  expect(momentFaults({ acknowledged, doubtful }, new Set(exact), moment)).toEqual([]);
  expect(
    momentFaults({ acknowledged, doubtful }, new Set([...exact, 13, 23, 14, 24, 15, 99, 77]), moment),
  ).toEqual([]);
  expect(momentFaults({ acknowledged, doubtful }, new Set([11, 12, 22, 13]), moment)).toEqual([
    'Row 21 was acknowledged before the time, and is missing.',
  ]);
  expect(momentFaults({ acknowledged, doubtful }, acknowledged, moment)).toEqual([
    '9 rows came after the time, and are there; 6 at most were under way.',
  ]);
  expect(momentFaults({ acknowledged, doubtful }, new Set(), { before: 14, after: 14 })).toHaveLength(11);
});
