import { describe, expect, it } from 'vitest';
import type { ListedCounterexample } from './counterexample.ts';
import { rowTop, scrolledTo, sectionsOf } from './listed-models.ts';

const one = (name: string): ListedCounterexample => ({
  name,
  module: name,
  cfg: `${name}.cfg`,
  shows: `what ${name} shows`,
  violated: 'Agreement',
  states: 3,
});
const listed = ['BugA-one', 'BugA-two', 'BugB-one'].map(one);

describe('the list of bug models', () => {
  it('has those with all the words, by what they break', () => {
    expect(sectionsOf(listed, '').map(({ id, models }) => [id, models.length])).toEqual([
      ['BugA', 2],
      ['BugB', 1],
    ]);
    expect(sectionsOf(listed, ' Shows buga-TWO').map(({ models }) => models[0]?.name)).toEqual(['BugA-two']);
  });

  it('knows where each row begins, below the headings before it', () => {
    const sections = sectionsOf(listed, '');
    expect(listed.map(({ name }) => rowTop(sections, name))).toEqual([34, 78, 152]);
    expect(rowTop(sections, 'BugC-one')).toBeNull();
  });

  it('is scrolled to a row that is not seen, and stays where that is seen', () => {
    const seen = { scrollTop: 100, clientHeight: 400 };
    expect([100, 456].map((top) => scrolledTo(top, seen))).toEqual([100, 100]);
    expect([99, 457, 2_000].map((top) => scrolledTo(top, seen))).toEqual([0, 279, 1_822]);
  });
});
