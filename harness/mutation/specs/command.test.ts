import { describe, expect, it } from 'vitest';
import { type Model, parseManifest } from '../../../scripts/specs/manifest.ts';
import { inTurn, isMeant, rootsOf, sampled, score } from './command.ts';
import { killing, modelsFor } from './judge-mutant.ts';
import { allMutants, alteredText, readModule, type SpecMutant } from './specs-folder.ts';

const LEASE = readModule(
  'Lease',
  'EXTENDS Naturals\nHeld(r) == a < b /\\ c = d\nNext == Held(1)\nSpec == Next\nTypeOK == x = y\n====\n',
);
const MODULES = new Map([
  ['Lease', LEASE],
  ['MCLease', readModule('MCLease', 'EXTENDS Lease, TLC\nMCSpec == Spec\n====\n')],
  ['MCOther', readModule('MCOther', 'EXTENDS Naturals\n====\n')],
]);

function models(...fields: readonly object[]): readonly Model[] {
  const base = {
    module: 'MCLease',
    cfg: 'x.cfg',
    kind: 'check',
    size: 'small',
    timeoutSeconds: 10,
    expect: { exitCode: 0, distinctStates: 7, violated: null },
    shows: 'x',
  };
  return parseManifest('x.json', JSON.stringify(fields.map((each) => Object.assign({}, base, each))));
}

describe('mutants of the specifications', () => {
  const mutants = allMutants(MODULES, [{ module: 'MCLease', operator: 'MCSpec' }]);

  it('are of what decides behaviours, not of what judges them', () => {
    expect(new Set(mutants.map(({ definition }) => definition))).toEqual(new Set(['Held']));
  });

  it('differ in name', () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  });

  it('are the text with one place changed', () => {
    const mutant = mutants.find(({ what }) => what.startsWith('<= for <'))!;
    expect(alteredText(LEASE, mutant)).toBe(LEASE.text.replace('a < b', 'a <= b'));
  });

  it('are sampled alike for the same seed, so many of each module', () => {
    expect(sampled(mutants, 2, 7)).toEqual(sampled(mutants.toReversed(), 2, 7).toReversed());
    expect(sampled(mutants, 2, 7)).toHaveLength(2);
    expect(sampled(mutants, undefined, 7)).toEqual(mutants);
  });

  it('are sampled alike when lines have moved', () => {
    const moved = readModule('Lease', LEASE.text.replace('Held', '\n\nHeld'));
    const later = allMutants(new Map(MODULES).set('Lease', moved), [
      { module: 'MCLease', operator: 'MCSpec' },
    ]);
    expect(later.map(({ name }) => name)).not.toEqual(mutants.map(({ name }) => name));
    expect(sampled(later, 2, 7).map(({ key }) => key)).toEqual(sampled(mutants, 2, 7).map(({ key }) => key));
  });

  it('take turns, one of each module', () => {
    const [a, b, c] = mutants;
    const of = (module: string, mutant: SpecMutant | undefined): SpecMutant => ({ ...mutant!, module });
    const one = [of('Lease', a), of('Lease', b), of('Lease', c)];
    const other = [of('Other', a), of('Other', b)];
    expect(inTurn([...one, ...other])).toEqual([one[0], other[0], one[1], other[1], one[2]]);
  });
});

describe('a part of the mutants', () => {
  const mutant = { name: 'Lease:104 TRUE for: a', definition: 'Held' };

  it('may be several', () => {
    expect(isMeant(mutant, 'Recovery,Held')).toBe(true);
    expect(isMeant(mutant, 'Recovery,MultiPaxos')).toBe(false);
  });

  it('is named by module, by line or by definition', () => {
    expect(['Lease', 'Lease:104', 'Held'].map((only) => isMeant(mutant, only))).toEqual([true, true, true]);
    expect(['Le', 'Lease:10', 'He', 'TRUE'].map((only) => isMeant(mutant, only))).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('judging a mutant', () => {
  const observed = {
    exitCode: 0,
    distinctStates: 8,
    violated: null,
    seconds: 1,
    taken: new Set<string>(),
    seen: new Set<string>(),
  };

  const held = { module: 'Lease', definition: 'Held' };
  const cfgOf = (): string => 'SPECIFICATION MCSpec\n';

  it('asks those models that include its module, the cheapest first, and those that must be refuted last', () => {
    const all = models(
      { name: 'Bug', kind: 'bug', expect: { exitCode: 12, distinctStates: null, violated: 'X' } },
      { name: 'large', expect: { exitCode: 0, distinctStates: 900, violated: null } },
      { name: 'random', kind: 'simulation', expect: { exitCode: 0, distinctStates: null, violated: null } },
      { name: 'live', args: ['-lncheck', 'final'] },
      { name: 'tiny' },
      { name: 'nightly', size: 'nightly' },
      { name: 'other', module: 'MCOther' },
    );
    expect(modelsFor(held, all, MODULES, cfgOf).map(({ name }) => name)).toEqual([
      'tiny',
      'large',
      'live',
      'random',
      'Bug',
    ]);
  });

  it('asks no model that never looks at what is altered', () => {
    const all = models({ name: 'tiny' });
    expect(modelsFor(held, all, MODULES, () => 'SPECIFICATION MCSpec\n  Held <- TypeOK\n')).toEqual([]);
    expect(modelsFor({ ...held, definition: 'TypeOK' }, all, MODULES, cfgOf)).toEqual([]);
  });

  it('counts neither another number of states nor a run without an end', () => {
    const [check] = models({ name: 'tiny' });
    expect(killing(check!, observed)).toBeNull();
    expect(killing(check!, { ...observed, exitCode: null })).toBeNull();
  });

  it('counts what is violated, what is not refuted any more, and what does not happen any more', () => {
    const [check, bug] = models(
      { name: 'tiny', takes: ['Go'] },
      { name: 'Bug', kind: 'bug', expect: { exitCode: 12, distinctStates: null, violated: 'X' } },
    );
    expect(killing(check!, observed)).toBe('never took Go');
    expect(killing(check!, { ...observed, exitCode: 12, violated: 'X' })).toContain('exit code 12');
    expect(killing(bug!, observed)).toContain('exit code 0');
  });
});

describe('the score', () => {
  const SURVIVED = { verdict: 'survived', passed: [], unfinished: [], left: [] } as const;
  const mutant = (name: string, what = `TRUE for: ${name}`): SpecMutant => ({
    name,
    key: `Lease Held: ${what}`,
    module: 'Lease',
    definition: 'Held',
    line: 2,
    what,
    from: 0,
    to: 1,
    replacement: 'TRUE',
  });
  const judged = [
    { mutant: mutant('a'), judgement: { verdict: 'killed', model: 'tiny', how: 'x' } },
    { mutant: mutant('b'), judgement: { verdict: 'unparsable' } },
    { mutant: mutant('c'), judgement: SURVIVED },
    { mutant: mutant('d'), judgement: SURVIVED },
  ] as const;
  const made = judged.map((each) => each.mutant);

  it('leaves out what does not parse, and tells who survived unexplained from others', () => {
    const explanations = new Map([['Lease Held: TRUE for: d', 'nobody looks']]);
    const survivor = { file: 'specs/Lease.tla', line: 2 };
    expect(score(judged, explanations, made)).toEqual({
      mutants: 3,
      killed: 1,
      survivors: [{ ...survivor, name: 'c', what: 'Held: TRUE for: c' }],
      explained: [{ ...survivor, name: 'd', what: 'Held: TRUE for: d', why: 'nobody looks' }],
      stale: [],
    });
  });

  it('tells those apart that are alike, by their number', () => {
    const alike = [
      mutant('first', 'TRUE for: a'),
      { ...mutant('second', 'TRUE for: a'), key: 'Lease Held: TRUE for: a #2' },
    ];
    const both = alike.map((each) => ({
      mutant: each,
      judgement: SURVIVED,
    }));
    const told = score(both, new Map([['Lease Held: TRUE for: a #2', 'nobody looks']]), alike);
    expect(told.survivors.map(({ name }) => name)).toEqual(['first']);
    expect(told.explained.map(({ name }) => name)).toEqual(['second']);
  });

  it('names explanations of what is killed, or not made any more', () => {
    const explanations = new Map([
      ['Lease Held: TRUE for: a', 'x'],
      ['Lease Held: TRUE for: gone', 'x'],
    ]);
    expect(score(judged, explanations, made).stale).toEqual([...explanations.keys()]);
  });
});

describe('what a model takes for its behaviour', () => {
  it('is its specification, what it puts in the place of rules, and what bounds its steps', () => {
    const [model] = models({ name: 'tiny' });
    const cfg =
      'SPECIFICATION MCSpec\nCONSTANTS\n  A = 1\n  Rule <- Dropped\nACTION_CONSTRAINT Scope\nINVARIANT TypeOK\n';
    expect(rootsOf(model!, cfg).map(({ operator }) => operator)).toEqual(['MCSpec', 'Dropped', 'Scope']);
  });
});
