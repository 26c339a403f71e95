import { describe, expect, it } from 'vitest';
import { choicesOf, falseClaim, handWalk, open } from './opened-model.ts';
import { modelTextOf } from './walk.ts';

const module = `---- MODULE MCCount ----
EXTENDS Naturals
VARIABLES x, y
vars == <<x, y>>
Init == x = 0 /\\ y = 0
Add(n) == x' = x + n /\\ y' = y
Swap == x' = y /\\ y' = x
Next == Swap \\/ \\E n \\in 1..2 : Add(n)
Spec == Init /\\ [][Next]_vars
Low ==
  /\\ y < 9
  /\\ \\A n \\in {3} : x < n
====
`;
const config = 'SPECIFICATION Spec\nINVARIANT Low\nCHECK_DEADLOCK FALSE\n';
const text = modelTextOf(new Map([['MCCount', module]]));

function opened() {
  const found = open(text, 'MCCount', config);
  if (!found.ok) throw new Error(found.why);
  return found.model;
}

describe('a model by hand', () => {
  it('offers each action with its operands and what it changes', () => {
    const model = opened();
    const [first] = model.firstStates();
    const choices = choicesOf(model, first!, model.nextStates(first!));
    expect(
      choices.map(({ title, operands, detail, changed }) => [title, operands, detail, changed.join()]),
    ).toEqual([
      ['Swap', '', '', ''],
      ['Add', '(1)', 'n = 1', 'x'],
      ['Add', '(2)', 'n = 2', 'x'],
    ]);
  });

  it('goes where the same choices went before, and no further than they lead', () => {
    const model = opened();
    const start = model.firstStates()[0]!;
    const { walk, states, choices } = handWalk(model, text, { start, title: 'Init', choices: [2, 0, 99, 1] });
    expect(walk.map(({ title, operands, place }) => `${title}${operands} ${place?.first}`)).toEqual([
      'Init 5',
      'Add(2) 6',
      'Swap 7',
    ]);
    expect(states.at(-1)).toEqual([0, 2]);
    expect(choices).toEqual([2, 0]);
  });

  it('tells which part of an invariant is false, and where', () => {
    const model = opened();
    const start = model.firstStates()[0]!;
    const { states } = handWalk(model, text, { start, title: 'Init', choices: [2, 1] });
    const here = states.at(-1)!;
    expect(model.broken(here)).toEqual(['Low']);
    expect(falseClaim(model, text, 'Low', here)).toEqual({
      place: { module: 'MCCount', first: 12, last: 12 },
      bound: ['n = 3'],
    });
  });

  it('says what the evaluator does not read', () => {
    expect(open(text, 'MCCount', `${config}FORMULA x\n`)).toMatchObject({ ok: false });
  });
});
