import { describe, expect, it } from 'vitest';
import { labelOf, timeOf } from './restore-target.ts';

const at = (iso: string, microseconds?: number) => ({
  kind: 'time',
  at: new Date(iso),
  ...(microseconds === undefined ? {} : { microseconds }),
});

describe('a time to restore to', () => {
  it.each([
    ['2026-05-04T10:30Z', at('2026-05-04T10:30:00Z')],
    ['2026-05-04 12:30+02:00', at('2026-05-04T10:30:00Z')],
    ['2026-05-04 12:30:01+0200', at('2026-05-04T10:30:01Z')],
    ['2026-05-04 05:00:01.5-05:30', at('2026-05-04T10:30:01.500Z')],
    ['2026-05-04 10:30:00.123456+00', at('2026-05-04T10:30:00.123Z', 456)],
    ['2026-05-04 10:30:00.000001+00', at('2026-05-04T10:30:00.000Z', 1)],
    ['2024-02-29T23:59:59Z', at('2024-02-29T23:59:59Z')],
  ])('%s is understood to the microsecond', (text, target) => {
    expect(timeOf(text)).toEqual(target);
  });

  it.each([
    '2026-05-04T10:30',
    '2026-05-04',
    'yesterday',
    '2026-02-29T10:30Z',
    '2026-04-31T10:30Z',
    '2026-13-01T10:30Z',
    '2026-05-04T25:30Z',
    '2026-05-04T10:60Z',
    '2026-05-04 10:30:00.1234567Z',
    '2026-05-04 10:30 CEST',
    '2026-05-04 10:30+25:00',
    ' 2026-05-04T10:30Z',
  ])('%s is refused', (text) => {
    expect(() => timeOf(text)).toThrow(/must be a time with its zone/);
  });
});

it('a label is one that PostgreSQL takes', () => {
  expect(labelOf("before 'the' migration")).toBe("before 'the' migration");
  for (const text of ['', 'x'.repeat(64), 'a\nb']) expect(() => labelOf(text)).toThrow(/63 bytes/);
});
