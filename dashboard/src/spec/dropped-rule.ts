/** Which rule a bug model drops: what its configuration puts in the place of what, and what the modules say of that. Pure. */
import type { Counterexample } from './counterexample.ts';
import type { DefinitionText } from './spec-text.ts';

export interface DroppedRule {
  /** The rule of the specification. */
  readonly rule: string;
  /** What stands in its place. */
  readonly by: string;
  /** What is said of the rule above its definition; empty: nothing. */
  readonly ruleWords: string;
  readonly byWords: string;
}

/** `definitions`: of all modules of the model, by name, in the order of their texts. */
export function droppedRules(
  dropped: Counterexample['dropped'],
  definitions: ReadonlyMap<string, DefinitionText>,
): readonly DroppedRule[] {
  return dropped.map(({ rule, by }) => ({
    rule,
    by,
    ruleWords: inFull(rule, definitions),
    byWords: inFull(by, definitions),
  }));
}

/** A comment that goes on from one before, `... or takes the lowest vote.`, with whose rule it is: `Pick: takes the lowest vote.` */
function inFull(name: string, definitions: ReadonlyMap<string, DefinitionText>): string {
  const own = (definitions.get(name)?.comment ?? '').replace(/ ?\.\.\.$/, '.');
  if (!own.startsWith('...')) return own;
  const names = [...definitions.keys()];
  const first = names
    .slice(0, names.indexOf(name))
    .map((one) => definitions.get(one)!.comment)
    .findLast((comment) => comment !== '' && !comment.startsWith('...'));
  const rule = /^[\w, ]+:/.exec(first ?? '')?.[0];
  const rest = own.replace(/^\.\.\. (?:or )?/, '');
  return rule === undefined ? rest : `${rule} ${rest}`;
}
