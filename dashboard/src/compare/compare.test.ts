/** Rules that can be taken out are rules of the specifications; acts and what is said of them belong together. */
import { describe, expect, it } from 'vitest';
import { beatAt } from './beats.ts';
import { findRule } from '../scenarios/rules.ts';
import { specTexts } from '../scenarios/spec-texts.ts';
import { variants } from './variants.ts';

describe('a rule that can be taken out', () => {
  for (const variant of variants) {
    it(`is in its specification: ${variant.rule.name}`, () => {
      expect(findRule(specTexts, variant.rule)?.text).toContain('==');
    });
    it(`has words for each moment at which something is done: ${variant.id}`, () => {
      const { setup, beats, fromMs, foundByMs } = variant;
      expect(beats.map(({ atMs }) => atMs)).toEqual([...new Set(setup.acts.map(([atMs]) => atMs))]);
      expect(beats[0]!.atMs).toBeGreaterThan(fromMs);
      expect(beatAt(variant, foundByMs)).toBe(beats.findLast(({ atMs }) => atMs <= foundByMs));
    });
  }
});
