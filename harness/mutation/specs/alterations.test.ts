import { describe, expect, it } from 'vitest';
import { alterations } from './alterations.ts';
import { definitions, masked } from './module-text.ts';

/** What becomes of a definition, one text for each alteration. */
function altered(text: string): readonly string[] {
  const code = masked(text);
  return definitions(code).flatMap(({ from, to }) =>
    alterations({ text, code, from, to }).map(
      (each) => text.slice(0, each.from) + each.replacement + text.slice(each.to),
    ),
  );
}

describe('alterations of a specification', () => {
  it('drop each condition of a list, with all that stands to its right', () => {
    const texts = altered('Go ==\n  /\\ IsUp(r)\n  /\\ \\A s \\in S :\n       Holds(s)\n  /\\ UNCHANGED x\n');
    expect(texts).toContain('Go ==\n  /\\ TRUE\n  /\\ \\A s \\in S :\n       Holds(s)\n  /\\ UNCHANGED x\n');
    expect(texts).toContain('Go ==\n  /\\ IsUp(r)\n  /\\ TRUE\n  /\\ UNCHANGED x\n');
  });

  it('drop either side of a condition within a line', () => {
    expect(altered('Ok(r) == IsUp(r) /\\ <<r, 1>> \\in votes\n')).toEqual(
      expect.arrayContaining(['Ok(r) == TRUE /\\ <<r, 1>> \\in votes\n', 'Ok(r) == IsUp(r) /\\ TRUE\n']),
    );
  });

  it('take a way out of a choice', () => {
    expect(altered('Next == Go(1) \\/ Stop(1)\n')).toEqual([
      'Next == FALSE \\/ Stop(1)\n',
      'Next == Go(1) \\/ FALSE\n',
    ]);
  });

  it('move and turn round comparisons', () => {
    expect(altered('Ok == a <= b\n')).toEqual(['Ok == a < b\n']);
    expect(altered('Ok == a < b\n')).toEqual(['Ok == a <= b\n']);
    expect(altered('Ok == a = b\n')).toEqual(['Ok == a /= b\n']);
    expect(altered('Ok == a \\in S\n')).toEqual(['Ok == a \\notin S\n']);
  });

  it('leave out one more or less', () => {
    expect(altered('Following(s) == s + 1\n')).toEqual(['Following(s) == s\n']);
  });

  it('exchange set operations and quantifiers', () => {
    expect(altered('All == A \\union B\n')).toEqual(['All == A \\intersect B\n']);
    expect(altered('Ok == \\A s \\in S : P(s)\n')).toEqual(['Ok == \\E s \\in S : P(s)\n']);
  });

  it('decide a condition for good', () => {
    expect(altered('Best == IF IsUp THEN x ELSE y\n')).toEqual(
      expect.arrayContaining(['Best == IF TRUE THEN x ELSE y\n', 'Best == IF FALSE THEN x ELSE y\n']),
    );
  });

  it('forget an update, but let no variable without a value', () => {
    expect(altered("Go ==\n  /\\ x' = [x EXCEPT ![r] = y]\n  /\\ UNCHANGED z\n")).toEqual([
      "Go ==\n  /\\ x' = x\n  /\\ UNCHANGED z\n",
    ]);
  });

  it('leave alone what stays as it was, and what only tells of a step, over several lines', () => {
    expect(
      altered("Go ==\n  /\\ x' = x\n  /\\ act' = [name |-> f(1 + 1),\n             last |-> x - 1]\n"),
    ).toEqual([]);
  });

  it('leave alone how often something happened, which is counted for bounds only', () => {
    expect(altered("Go ==\n  /\\ crashes' = crashes + 1\n  /\\ UNCHANGED z\n")).toEqual([]);
  });

  it('do not take an update or a field for a comparison', () => {
    expect(altered("Go == x' = [x EXCEPT ![r].y = 2]\n")).toEqual([]);
  });

  it('leave the bounds of models, comments and strings alone', () => {
    expect(altered('Go == n < MaxSlot\n')).toEqual([]);
    expect(altered('Name == "a /\\ b"   \\* a = b\n')).toEqual([]);
    expect(altered('(* a = b (* c = d *) *)\nName == x\n')).toEqual([]);
  });
});

describe('the text of a module', () => {
  it('keeps its places when it is masked', () => {
    const text = 'Go == x   \\* why\n(* and (* so *) *)\nName == "a"\n';
    expect(masked(text)).toBe('Go == x         \n                  \nName == "_"\n');
  });

  it('gives definitions, each up to the next', () => {
    const code = 'VARIABLE x\nGo(r) ==\n  x\nNext == Go(1)\n====\n';
    expect(definitions(code).map(({ name, from, to }) => [name, code.slice(from, to).trim()])).toEqual([
      ['Go', 'x'],
      ['Next', 'Go(1)'],
    ]);
  });
});
