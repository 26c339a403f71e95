/** The texts of the specifications whose rules are taken out, as of this build. */
import recovery from '../../../specs/Recovery.tla?raw';
import { findRule, type SpecRule } from './spec-rule.ts';
import type { Variant } from './variants.ts';

const texts: Readonly<Record<string, string>> = { Recovery: recovery };

/** Null: there is none of that name. */
export function ruleOf({ rule }: Pick<Variant, 'rule'>): SpecRule | null {
  const text = texts[rule.spec];
  return text === undefined ? null : findRule(text, rule.definition);
}
