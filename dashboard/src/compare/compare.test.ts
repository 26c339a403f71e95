/** Rules that can be taken out are rules of the specifications; acts and what is said of them belong together. */
import { describe, expect, it } from 'vitest';
import { beatAt } from './beats.ts';
import { findRule } from './spec-rule.ts';
import { ruleOf } from './specs.ts';
import { variants } from './variants.ts';

describe('a rule that can be taken out', () => {
  for (const variant of variants) {
    it(`is in its specification: ${variant.rule.definition}`, () => {
      expect(ruleOf(variant)?.text).toContain('==');
    });
    it(`has words for each moment at which something is done: ${variant.id}`, () => {
      const { setup, beats, fromMs, foundByMs } = variant;
      expect(beats.map(({ atMs }) => atMs)).toEqual([...new Set(setup.acts.map(([atMs]) => atMs))]);
      expect(beats[0]!.atMs).toBeGreaterThan(fromMs);
      expect(beatAt(variant, foundByMs)).toBe(beats.findLast(({ atMs }) => atMs <= foundByMs));
    });
  }
});

describe('the line of a definition', () => {
  const spec = 'Rule2 == 1\n(* Rule == of another *)\nRule(r, n) ==\n  n > 0\nRuleOf == 3\n';
  it('is found by its whole name, with parameters or without', () => {
    expect(findRule(spec, 'Rule')).toEqual({ line: 3, text: 'Rule(r, n) ==' });
    expect(findRule(spec, 'RuleOf')).toEqual({ line: 5, text: 'RuleOf == 3' });
  });
  it('of what is not defined there is none', () => {
    expect(findRule(spec, 'Rul')).toBeNull();
  });
});
