/** What is said to be the false part of an invariant is the one that a reader has to look at: the first that is false, in the branch that counts. */
import { describe, expect, it } from 'vitest';
import { readConfig } from './model-config.ts';
import { openModel } from './open-model.ts';

const module = `---- MODULE Parts ----
EXTENDS Naturals
VARIABLE n
Init == n = 1
Next == n' = n
Spec == Init /\\ [][Next]_n
Listed ==
  /\\ n = 1
  /\\ n = 2
  /\\ n = 3
Joined == n = 1 /\\ n = 2 /\\ n = 3
Then == IF n = 1 THEN n = 20 ELSE n = 30
Else == IF n = 9 THEN n = 20 ELSE n = 30
Implied == n = 1 => n = 2
====
`;

/** The place of an equation is its equals sign. */
function falseTextOf(invariant: string): string {
  const model = openModel({
    modules: new Map([['Parts', module]]),
    main: 'Parts',
    data: [],
    config: readConfig(`SPECIFICATION Spec\nINVARIANT ${invariant}\nCHECK_DEADLOCK FALSE\n`),
  });
  const [state] = model.firstStates();
  expect(model.broken(state!)).toEqual([invariant]);
  const { line, column } = model.whyBroken(invariant, state!).at(-1)!.place;
  return /^= \d+/.exec(module.split('\n')[line - 1]!.slice(column - 1))?.[0] ?? '';
}

describe('the false part', () => {
  it.each([
    ['of a list is its first false conjunct', 'Listed', '= 2'],
    ['of conjuncts in one line is the first false one', 'Joined', '= 2'],
    ['of a choice whose condition holds is what stands behind THEN', 'Then', '= 20'],
    ['of a choice whose condition does not hold is what stands behind ELSE', 'Else', '= 30'],
    ['of an implication is its right side', 'Implied', '= 2'],
  ])('%s', (_, invariant, text) => {
    expect(falseTextOf(invariant)).toBe(text);
  });
});
