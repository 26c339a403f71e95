/** Puts the facts to all rules. Pure. Invariant: never throws; a rule that does is a finding itself. */
import type { DoctorFacts, Finding, Rule, Severity } from './facts.ts';
import { backupRules } from './rules/backup-rules.ts';
import { configRules } from './rules/config-rules.ts';
import { placeRules } from './rules/place-rules.ts';
import { programRules } from './rules/program-rules.ts';
import { statusRules } from './rules/status-rules.ts';
import { notice } from './rules/words.ts';

const rules: readonly (readonly [name: string, rule: Rule])[] = [
  configRules,
  placeRules,
  programRules,
  statusRules,
  backupRules,
].flatMap((each) => Object.entries<Rule>(each));

const order: readonly Severity[] = ['error', 'warning', 'notice'];

/** The worst first. */
export function examine(facts: DoctorFacts): Finding[] {
  const found = rules.flatMap(([name, rule]) => {
    try {
      return rule(facts);
    } catch (error) {
      const what = `The rule ${name} failed: ${error instanceof Error ? error.message : String(error)}.`;
      return [notice(what, 'This is a defect of barista doctor: please report it.')];
    }
  });
  return found.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
}

/** For scripts: 2 if anything does not work, 1 if something will break, else 0. */
export function verdictOf(findings: readonly Finding[]): 0 | 1 | 2 {
  if (findings.some(({ severity }) => severity === 'error')) return 2;
  return findings.some(({ severity }) => severity === 'warning') ? 1 : 0;
}
