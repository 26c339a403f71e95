import { expect, test } from 'vitest';
import { judge } from './judgement.ts';
import type { Outcome } from './outcome.ts';
import { reportText } from './report.ts';

const pass = (name: string): Outcome => ({ name, result: 'pass', evidence: '' });
const fail = (name: string, evidence: string): Outcome => ({ name, result: 'fail', evidence });

test('the numbers of all sides stand side by side, and each finding says what was seen where', async () => {
  const direct = [pass('a'), pass('b'), fail('c', 'needs a superuser')];
  const side = (place: string, through: readonly Outcome[]) => {
    return { place, folder: place, through, judgement: judge({ direct, through, again: null }) };
  };
  const sides = [
    side('leader', direct),
    side('follower', [pass('a'), fail('b', 'connection lost'), fail('c', 'needs a superuser')]),
  ];
  const text = await reportText({ suite: 'psycopg', direct, sides, out: '/out' });
  const row = (what: string) => {
    const line = text.split('\n').find((each) => each.startsWith(`  ${what} `));
    return line?.replace(what, '').trim().split(/\s+/);
  };
  expect(row('pass')).toEqual(['2', '2', '1']);
  expect(row('fail')).toEqual(['1', '1', '2']);
  expect(row('pass direct only')).toEqual(['0', '1']);
  expect(text).toContain('leader: 2 pass on both sides, 1 fail on both alike, 0 skipped');
  expect(text).toContain('--- follower: b\ndirect:  pass\nthrough: fail connection lost');
});
