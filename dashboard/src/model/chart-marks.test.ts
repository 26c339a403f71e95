import { describe, expect, it } from 'vitest';
import { chartMarks, marksAt, marksMax } from './chart-marks.ts';

const leaderChanges = [
  { at: 1_000, leader: 'r1' },
  { at: 5_000, leader: null },
  { at: 7_000, leader: 'r2' },
];
const flags = [
  { atMs: 4_900, kind: 'stopped', replica: 'r1', text: 'r1 is down' },
  { atMs: 9_000, kind: 'started', replica: 'r1', text: 'r1 was started' },
] as const;

describe('marks of the charts', () => {
  it('are elections, faults and what took them back, in order, none after the moment that is looked at', () => {
    const told = (untilMs: number) =>
      chartMarks({ leaderChanges, flags }, untilMs).map(({ kind, text }) => `${kind}: ${text}`);
    expect(told(10_000)).toEqual([
      'election: r1 leads',
      'fault: r1 is down',
      'election: nobody leads',
      'election: r2 leads',
      'mended: r1 was started',
    ]);
    expect(told(4_999)).toEqual(['election: r1 leads', 'fault: r1 is down']);
  });

  it('belong to the sample that ends the second in which they were', () => {
    const marks = chartMarks({ leaderChanges, flags }, 10_000);
    expect(marksAt(marks, 4_000, 5_000).map(({ text }) => text)).toEqual(['r1 is down', 'nobody leads']);
    expect(marksAt(marks, 5_000, 6_000)).toEqual([]);
  });

  it('are bounded: the newest stay', () => {
    const many = Array.from({ length: 300 }, (_, index) => ({ at: index, leader: `r${index}` }));
    const marks = chartMarks({ leaderChanges: many, flags: [] }, 1_000);
    expect([marks.length, marks.at(-1)?.text]).toEqual([marksMax, 'r299 leads']);
  });
});
