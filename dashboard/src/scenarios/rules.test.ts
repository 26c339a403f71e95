/** Rules that scenarios name are in the specifications, at the line that is said. */
import { describe, expect, it } from 'vitest';
import { scenarios } from './all-scenarios.ts';
import { findRule, type Rule } from './rules.ts';
import { specTexts } from './spec-texts.ts';

/** Answers name theirs only when there is one: simulator tests look at those. */
const named: readonly (readonly [string, Rule])[] = scenarios.flatMap(({ id, chapters }) =>
  chapters.map(({ title, rule }) => [`${id}, ${title}: ${rule.module} ${rule.name}`, rule] as const),
);

describe('a rule', () => {
  it.each(named)('of %s is in its specification', (_, rule) => {
    const found = findRule(specTexts, rule);
    expect(found).not.toBeNull();
    const lines = specTexts[rule.module].split('\n');
    expect(lines[found!.line - 1]).toContain(rule.name);
    expect(found!.text.startsWith(lines[found!.line - 1]!)).toBe(true);
  });

  it('is a definition, and no mere mention; up to its end, or so many lines', () => {
    const text = '\\* MayVote\nX == MayVote(r, b)\n\nMayVote(r, b) ==\n  /\\ a\n  /\\ b\n\nNext == TRUE\n';
    const texts = { ...specTexts, MultiPaxos: text };
    expect(findRule(texts, { module: 'MultiPaxos', name: 'MayVote' })).toEqual({
      file: 'specs/MultiPaxos.tla',
      line: 4,
      text: 'MayVote(r, b) ==\n  /\\ a\n  /\\ b',
      isCut: false,
    });
    expect(findRule(texts, { module: 'MultiPaxos', name: 'May' })).toBeNull();
    const long = { ...texts, MultiPaxos: `A ==\n${'  x\n'.repeat(20)}` };
    expect(findRule(long, { module: 'MultiPaxos', name: 'A' })).toMatchObject({ isCut: true });
  });
});
