import { expect, it } from 'vitest';
import { errorPlace } from './error-place.ts';

const error = { code: '42P01', message: 'relation "nowhere" does not exist', position: 15 };
const run = {
  sql: 'SELECT * FROM nowhere',
  from: 10,
  isMoved: false,
  outcome: { ok: false, error },
} as const;

it('an error is where the statement that was run stands in the text', () => {
  expect(errorPlace(run)).toEqual({ code: error.code, message: error.message, from: 24, to: 31 });
});

it('is nowhere when the text was changed while the statement ran, or before anything came of it', () => {
  expect(errorPlace({ ...run, isMoved: true })).toBeNull();
  expect(errorPlace({ ...run, outcome: null })).toBeNull();
  expect(errorPlace(null)).toBeNull();
});
