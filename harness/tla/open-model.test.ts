import { describe, expect, it } from 'vitest';
import { formatValue } from './format-value.ts';
import { readConfig } from './model-config.ts';
import { openModel, type OpenModel } from './open-model.ts';

const module = `---- MODULE Small ----
EXTENDS Naturals
CONSTANTS Replicas, Most
VARIABLES count, last
vars == <<count, last>>
Init == count = [r \\in Replicas |-> 0] /\\ last = "nobody"
Count(r, n) ==
  /\\ count[r] + n <= Most
  /\\ count' = [count EXCEPT ![r] = @ + n]
  /\\ last' = "count"
Forget(r) == count[r] > 0 /\\ Put(r, 0) /\\ last' = "forget"
Put(r, n) == count' = [count EXCEPT ![r] = n]
Any(r) == \\E n \\in 1..2 : Count(r, n)
Unless(Step) == IF count = [r \\in Replicas |-> Most] THEN FALSE ELSE Step
Next == Unless(\\E r \\in Replicas : Any(r) \\/ Forget(r))
Spec == Init /\\ [][Next]_vars /\\ WF_vars(Next)
Below(r, most) == count[r] < most
Small == last = "nobody" \\/ \\A r \\in Replicas : /\\ count[r] >= 0
                                              /\\ Below(r, 2)
AllSmall == /\\ last \\in {"nobody", "count", "forget"}
            /\\ \\A r \\in Replicas : /\\ count[r] >= 0
                                   /\\ Below(r, 2)
MayCount == \\A r \\in Replicas : ENABLED Any(r)
OnlyUp == last' = "count"
OnlyForget == last' = "forget"
Still == count = [r \\in Replicas |-> 0]
InTwo == Still /\\ last = "two" /\\ [][Next]_vars
Shape == count \\in [Replicas -> 0..Most]
====
`;

function open(config: string, specification = 'Spec'): OpenModel {
  const all = `SPECIFICATION ${specification}\nCONSTANTS\n  Replicas = {r1, r2}\n  Most = 3\n${config}\nCHECK_DEADLOCK FALSE\n`;
  return openModel({
    modules: new Map([['Small', module]]),
    main: 'Small',
    data: [],
    config: readConfig(all),
  });
}

const said = (model: OpenModel, state: Parameters<OpenModel['nextStates']>[0]): string[] =>
  model
    .nextStates(state)
    .map(
      ({ action, values }) =>
        `${action?.name}(${action?.operands.map(({ value }) => formatValue(value)).join()}) ${formatValue(values[0]!)}`,
    );

describe('a model that is walked through by hand', () => {
  it('has its first state, and after it each action with what it is taken with', () => {
    const model = open('');
    const [first, ...more] = model.firstStates();
    expect(more).toEqual([]);
    expect(first!.map(formatValue)).toEqual(['(r1 :> 0 @@ r2 :> 0)', '"nobody"']);
    expect(said(model, first!)).toEqual([
      'Count(r1,1) (r1 :> 1 @@ r2 :> 0)',
      'Count(r1,2) (r1 :> 2 @@ r2 :> 0)',
      'Count(r2,1) (r1 :> 0 @@ r2 :> 1)',
      'Count(r2,2) (r1 :> 0 @@ r2 :> 2)',
    ]);
  });

  it('names the action, and neither the choice that it is one of nor what it uses', () => {
    const model = open('');
    const { values } = model.nextStates(model.firstStates()[0]!)[0]!;
    expect(said(model, values)).toContain('Forget(r1) (r1 :> 0 @@ r2 :> 0)');
  });

  it('leaves out steps that its constraints do not allow', () => {
    const model = open('ACTION_CONSTRAINT OnlyUp');
    const { values } = model.nextStates(model.firstStates()[0]!)[0]!;
    expect(said(model, values).every((step) => step.startsWith('Count('))).toBe(true);
  });

  it('has a step that they do not allow where that breaks an invariant: TLC looks at it before it lets go of it', () => {
    const model = open('ACTION_CONSTRAINT OnlyForget\nINVARIANT AllSmall');
    const [first] = model.firstStates();
    expect(said(model, first!)).toEqual([
      'Count(r1,2) (r1 :> 2 @@ r2 :> 0)',
      'Count(r2,2) (r1 :> 0 @@ r2 :> 2)',
    ]);
  });

  it('begins where all that is said of the first state is so', () => {
    const first = open('', 'InTwo').firstStates();
    expect(first.map((state) => state.map(formatValue))).toEqual([['(r1 :> 0 @@ r2 :> 0)', '"two"']]);
  });

  it('tells which invariants do not hold, and which part of one it is', () => {
    const model = open('INVARIANTS AllSmall Shape MayCount');
    const [first] = model.firstStates();
    expect(model.broken(first!)).toEqual([]);
    const { values } = model.nextStates(first!)[3]!;
    expect(model.broken(values)).toEqual(['AllSmall']);
    const why = model.whyBroken('AllSmall', values);
    expect(
      why.map(({ name, bound }) => [
        name,
        bound.map(({ name: of, value }) => `${of} = ${formatValue(value)}`),
      ]),
    ).toEqual([
      ['AllSmall', []],
      [null, []],
      [null, ['r = r2']],
      [null, []],
      ['Below', ['r = r2', 'most = 2']],
    ]);
    expect(why.at(-1)?.place.line).toBe(module.split('\n').findIndex((line) => line.startsWith('Below')) + 1);
  });

  it('knows what is enabled', () => {
    const model = open('INVARIANT MayCount');
    let [state] = model.firstStates();
    const up = (): void => {
      state = model.nextStates(state!).findLast(({ action }) => action?.name === 'Count')!.values;
    };
    up();
    expect(model.broken(state!)).toEqual([]);
    up();
    expect(model.broken(state!)).toEqual(['MayCount']);
  });
});
