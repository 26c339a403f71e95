import { describe, expect, it } from 'vitest';
import { looksAt } from './noticing.ts';
import { readModule } from './specs-folder.ts';

const MODULES = [
  readModule(
    'Small',
    `
Go(r) ==
  /\\ "Go" \\in Optional
  /\\ UsedByGo(r)   \\* not by Other
UsedByGo(r) == x
Crash(r) ==
  /\\ crashes < MaxCrash
  /\\ UsedByCrash(r)
UsedByCrash(r) == x
Learn(r) == x
Reconfigure(r, e) == x
Rule(r) == UsedByRule
UsedByRule == x
Instead(r) == TRUE
Other(r) == x
Abstract == INSTANCE Larger
Refinement == Abstract!Other(1)
Next ==
  \\/ Go(r) \\/ Crash(r)
  \\/ r \\in Learners /\\ Learn(r)
  \\/ \\E e \\in Configurations(r) : Reconfigure(r, e)
  \\/ Rule(r)
Spec == [][Next]_vars
====
`,
  ),
];

const looked = (definition: string, constants: string): boolean =>
  looksAt(definition, `SPECIFICATION Spec\nCONSTANTS\n${constants}`, MODULES);

describe('a model', () => {
  it('looks at what its specification names, and at what that names', () => {
    expect(looked('UsedByRule', '')).toBe(true);
    expect(looked('Other', '')).toBe(false);
  });

  it('looks at what it checks', () => {
    expect(looked('Other', 'INVARIANTS\n  Other\n')).toBe(true);
  });

  it('does not take what another module has for its own', () => {
    expect(looked('Other', 'PROPERTY Refinement\n')).toBe(false);
  });

  it('looks at what is put in the place of a rule, and at the rule no more', () => {
    const instead = '  Rule <- Instead\n';
    expect(['Instead', 'Rule', 'UsedByRule'].map((name) => looked(name, instead))).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('does not look into an action that it leaves out', () => {
    expect(looked('UsedByGo', '  Optional = {"Go"}\n')).toBe(true);
    expect(looked('UsedByGo', '  Optional = {"Stay"}\n')).toBe(false);
    expect(looked('Go', '  Optional = {"Stay"}\n')).toBe(false);
  });

  it('does not look into what happens at most 0 times', () => {
    expect(looked('UsedByCrash', '  MaxCrash = 1\n')).toBe(true);
    expect(looked('UsedByCrash', '  MaxCrash = 0\n')).toBe(false);
  });

  it('does not look at what only members of an empty set do', () => {
    expect(looked('Learn', '  Learners = {1}\n')).toBe(true);
    expect(looked('Learn', '  Learners = {}   \\* nobody\n')).toBe(false);
  });

  it('does not look at changes of the members where none may be proposed', () => {
    expect(looked('Reconfigure', '  Proposable <- Instead\n')).toBe(true);
    expect(looked('Reconfigure', '')).toBe(false);
  });
});
