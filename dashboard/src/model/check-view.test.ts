import { expect, it } from 'vitest';
import type { CheckStatus } from '../../../server/src/api/check.ts';
import { checkProblem, checkTone } from './check-view.ts';

const well: CheckStatus = { checked: 10, behind: 0, behindMs: 0, skipped: 0, refused: null, ended: null };
const refused = { replica: 'r2.2', action: 'Serve', reason: 'not yet', run: 'a', seq: 7 };

it('a checker that waits for its usual moment is not behind', () => {
  expect(checkTone(well)).toBe('good');
  expect(checkTone({ ...well, behind: 40, behindMs: 3000 })).toBe('good');
  expect(checkTone({ ...well, behind: 4000, behindMs: 30_000 })).toBe('busy');
});

it('a refused event is told whatever else there is to tell', () => {
  expect(checkProblem(well)).toBeNull();
  const both = { ...well, refused, ended: 'there is a gap' };
  expect(checkTone(both)).toBe('bad');
  expect(checkProblem(both)).toEqual({
    headline: 'Serve of r2.2 is not as specified.',
    text: 'Event 7: not yet.',
  });
  expect(checkProblem({ ...well, ended: 'there is a gap' })?.text).toBe('The checker: there is a gap.');
});
