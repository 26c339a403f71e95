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
    ruleWords: ownWords(definitions.get(rule)?.comment ?? ''),
    byWords: insteadOf(by, definitions),
  }));
}

const nameOfRule = /^[\w, ]+: */;

function ownWords(comment: string): string {
  return comment.replace(/ ?\.\.\.$/, '.');
}

/** A comment begins with the rule that is replaced, `Pick: takes the lowest vote.`: what is said of it is what happens instead. One that goes on from one before, `... or takes none.`, is told beside what that one says. */
function insteadOf(name: string, definitions: ReadonlyMap<string, DefinitionText>): string {
  const own = ownWords(definitions.get(name)?.comment ?? '');
  if (!own.startsWith('...')) return own.replace(nameOfRule, '');
  const names = [...definitions.keys()];
  const first = names
    .slice(0, names.indexOf(name))
    .map((one) => definitions.get(one)!.comment)
    .findLast((comment) => comment !== '' && !comment.startsWith('...'));
  const rest = own.replace(/^\.\.\. (?:or )?/, '');
  if (first === undefined || !nameOfRule.test(first)) return rest;
  const like = first.replace(nameOfRule, '').replace(/ ?\.*$/, '');
  return `as where ${like}: ${rest}`;
}
