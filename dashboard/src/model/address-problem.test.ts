/** What an address asks for and the page does not have is told by its name, with what there is. */
import { describe, expect, it } from 'vitest';
import { addressProblem, closest, unknown } from './address-problem.ts';

const known = { views: ['lab', 'compare', 'spec'], scenarios: ['leader-dies', 'duel'], variants: ['wiped'] };
const problem = (hash: string) => addressProblem(hash, known);

describe('an address', () => {
  it.each([
    '',
    '#lab',
    '#spec?model=BugLease&step=4',
    '#spec?mode=hand&model=MCLease-tiny&walk=0.12',
    '#scenario=duel',
    '#compare?variant=wiped',
    '#sim?seed=7&scenario=duel&view=spec&mode=run',
    // Of a run its own reader tells.
    '#sim?seed=seven',
  ])('that asks for what there is has no problem: %s', (hash) => {
    expect(problem(hash)).toBeNull();
  });

  it.each([
    ['#lob', 'There is no view named “lob”. There are: lab, compare, spec.'],
    ['#sim?seed=1&view=lob', 'There is no view named “lob”. There are: lab, compare, spec.'],
    ['#scenario=dual', 'There is no scenario named “dual”. There are: leader-dies, duel.'],
    ['#scenario=a%20b', 'There is no scenario named “a b”. There are: leader-dies, duel.'],
    ['#scenario=%E0%A4%A', 'There is no scenario named “%E0%A4%A”. There are: leader-dies, duel.'],
    ['#compare?variant=wip', 'There is no rule to take out named “wip”. There is: wiped.'],
    ['#spec?mode=foot', 'There is no mode of the specifications named “foot”. There are: bugs, run, hand.'],
    ['#spec?model=X&step=two', 'The step “two” is no number: the first one is shown.'],
    ['#spec?walk=1,2', 'The walk “1,2” is no list of choices, as 0.2.1 is: it is left out.'],
    ['#sim?seed=1&view=spec&step=-1', 'The step “-1” is no number: the first one is shown.'],
  ])('that asks for something else is told so: %s', (hash, text) => {
    expect(problem(hash)).toBe(text);
  });

  it('says no more of a long name than its beginning', () => {
    expect(unknown('scenario', 'x'.repeat(1_000), ['duel'])).toBe(
      `There is no scenario named “${'x'.repeat(60)}…”. There is: duel.`,
    );
  });

  it('names of very many those that are most like it', () => {
    expect(closest('BugLease-x', ['Paxos', 'BugLog', 'BugLease-no-wait', 'BugA'], 2)).toEqual([
      'BugLease-no-wait',
      'BugLog',
      'and 2 others',
    ]);
    expect(closest('x', ['a', 'b'], 2)).toEqual(['a', 'b']);
  });
});
