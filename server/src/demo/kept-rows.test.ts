/** Bounds on what the SQL console keeps, where what is sent is too large to be sent in a test by PostgreSQL itself: main/start-replica.pg.test.ts has the rest. */
import { expect, it } from 'vitest';
import { createKeptRows } from './kept-rows.ts';

const mebibyte = 1024 * 1024;

it('of all statements together no more is kept than the bound, and of which some was cut off is told', () => {
  const kept = createKeptRows();
  for (let n = 0; n < 1500; n += 1) kept.row(0, [String(n)]);
  kept.copies(1, false);
  for (let n = 0; n < 1500; n += 1) kept.copied(1, Buffer.from(`${n}\n`));
  expect(kept.resultOf(0, ['n'], 'COPY')).toMatchObject({ columns: ['n'], truncated: false });
  const copied = kept.resultOf(1, [], 'COPY');
  expect(copied).toMatchObject({ columns: ['copied text'], truncated: true });
  expect([copied.rows.length, copied.rows.at(-1)]).toEqual([500, ['499']]);
});

it('a row of many lines, or longer than could be kept, is cut off as many rows are', () => {
  const lines = createKeptRows();
  lines.copies(0, false);
  lines.copied(0, Buffer.from('\n'.repeat(3000)));
  expect(lines.resultOf(0, [], 'COPY')).toMatchObject({ truncated: true });
  expect(lines.resultOf(0, [], 'COPY').rows.length).toBe(2000);
  const long = createKeptRows();
  long.copies(0, false);
  long.copied(0, Buffer.from(`${'x'.repeat(5 * mebibyte)}\nend\n`));
  expect(long.resultOf(0, [], 'COPY')).toMatchObject({ truncated: true });
  expect(long.resultOf(0, [], 'COPY').rows.map(([line]) => line?.length)).toEqual([10_003]);
});

it('an empty line is a line, and of the binary format the size alone is kept', () => {
  const kept = createKeptRows();
  kept.copies(0, false);
  kept.copied(0, Buffer.from('\n'));
  expect(kept.resultOf(0, [], 'COPY').rows).toEqual([['']]);
  kept.copies(1, true);
  kept.copied(1, Buffer.alloc(3 * mebibyte));
  kept.copied(1, Buffer.alloc(2));
  expect(kept.resultOf(1, [], 'COPY')).toEqual({
    columns: [],
    rows: [],
    command: 'COPY',
    truncated: false,
    binaryBytes: 3 * mebibyte + 2,
  });
});
