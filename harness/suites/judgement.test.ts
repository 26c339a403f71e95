import { describe, expect, test } from 'vitest';
import { isClean, judge } from './judgement.ts';
import type { Outcome } from './outcome.ts';

const pass = (name: string): Outcome => ({ name, result: 'pass', evidence: 'fine' });
const fail = (name: string, evidence: string): Outcome => ({ name, result: 'fail', evidence });
const skip = (name: string): Outcome => ({ name, result: 'skip', evidence: '' });

describe('two sides', () => {
  const direct = [pass('a'), pass('b'), fail('c', 'x'), fail('d', 'x'), fail('e', 'x'), skip('f'), pass('g')];
  const through = [
    pass('a'),
    fail('b', 'y'),
    fail('c', 'x'),
    fail('d', 'y'),
    pass('e'),
    skip('f'),
    pass('h'),
  ];

  test('every difference is named by what it is', () => {
    expect(judge({ direct, through, again: null })).toEqual({
      passed: 1,
      skipped: 1,
      failedAlike: ['c'],
      lost: ['b'],
      gained: ['e'],
      failedOtherwise: ['d'],
      missing: ['h', 'g'],
      unsteady: [],
    });
  });

  test('what differs between two direct runs is not held against Barista', () => {
    const again = [
      pass('a'),
      fail('b', 'z'),
      fail('c', 'x'),
      fail('d', 'z'),
      fail('e', 'x'),
      skip('f'),
      pass('g'),
    ];
    const { lost, failedOtherwise, gained, unsteady } = judge({ direct, through, again });
    expect({ lost, failedOtherwise, gained, unsteady }).toEqual({
      lost: [],
      failedOtherwise: [],
      gained: ['e'],
      unsteady: ['b', 'd'],
    });
  });

  test('what was skipped through Barista only counts as lost', () => {
    expect(judge({ direct: [pass('a')], through: [skip('a')], again: null }).lost).toEqual(['a']);
  });

  test.each([
    { what: 'nothing', direct: [pass('a')], through: [pass('a')], clean: true },
    {
      what: 'the same failure',
      direct: [pass('a'), fail('b', 'x')],
      through: [pass('a'), fail('b', 'x')],
      clean: true,
    },
    {
      what: 'more that passes',
      direct: [pass('a'), fail('b', 'x')],
      through: [pass('a'), pass('b')],
      clean: true,
    },
    { what: 'a suite that cannot run', direct: [fail('a', 'x')], through: [fail('a', 'x')], clean: false },
    { what: 'less that passes', direct: [pass('a')], through: [fail('a', 'x')], clean: false },
    { what: 'another failure', direct: [fail('a', 'x')], through: [fail('a', 'y')], clean: false },
    { what: 'a test that did not run', direct: [pass('a')], through: [], clean: false },
  ])('$what: clean is $clean', ({ direct, through, clean }) => {
    expect(isClean(judge({ direct, through, again: null }))).toBe(clean);
  });
});
