/** The evaluator of harness/tla takes every step that TLC took: so no step of a counterexample that is kept was altered by hand, and the evaluator lacks none. */
import { describe, expect, it } from 'vitest';
import {
  type Counterexample,
  type CounterexampleStep,
  familyOf,
  statesOf,
} from '../../dashboard/src/spec/counterexample.ts';
import { open, valuesOf } from '../../dashboard/src/spec/opened-model.ts';
import { type ModelText, modelTextOf } from '../../dashboard/src/spec/walk.ts';
import { equal } from '../../harness/tla/equality.ts';
import type { ActionUse, OpenModel } from '../../harness/tla/open-model.ts';
import { readPrintedValue } from '../../harness/tla/read-literal.ts';
import type { Value } from '../../harness/tla/value.ts';
import { moduleTexts, readCounterexamples } from './counterexample-files.ts';

const kept = readCounterexamples();
/** There is chance, or an instance, in what their models check. */
const unreadFamilies = new Set(['BugQuorums', 'BugQuorumsOfMultiPaxos']);
const texts = new Map<string, ModelText>();

function opened({ module, config }: Counterexample): ReturnType<typeof open> {
  const text = texts.get(module) ?? modelTextOf(moduleTexts(module));
  texts.set(module, text);
  return open(text, module, config);
}

const isSame = (one: readonly Value[], other: readonly Value[]): boolean =>
  one.every((value, index) => equal(value, other[index]!));

function isBy(action: ActionUse | null, { by }: CounterexampleStep): boolean {
  if (by === undefined) return true;
  if (action?.name !== by.name) return false;
  return action.operands.every(({ name, value }) => {
    const said = by.operands[name];
    return said !== undefined && equal(readPrintedValue(said), value);
  });
}

/** The first step that the specification does not allow behind the one before it; null: it allows all. */
function strayStep(model: OpenModel, counterexample: Counterexample): number | null {
  const { steps } = counterexample;
  const states = statesOf(counterexample).map((state) => valuesOf(model, state));
  if (!model.firstStates().some((first) => isSame(first, states[0]!))) return 0;
  const stray = steps.findIndex(
    (step, at) =>
      at > 0 &&
      !model
        .nextStates(states[at - 1]!)
        .some(({ values, action }) => isSame(values, states[at]!) && isBy(action, step)),
  );
  return stray === -1 ? null : stray;
}

function modelOf(name: string): { readonly model: OpenModel; readonly counterexample: Counterexample } {
  const counterexample = kept.find((one) => one.name === name)!;
  const found = opened(counterexample);
  if (!found.ok) throw new Error(found.why);
  return { model: found.model, counterexample };
}

describe('the steps of counterexamples', () => {
  it.each([...new Set(kept.map(({ name }) => familyOf(name)))])(
    'of %s are each one that may come next, from a first state on',
    (family) => {
      const all = kept.filter(({ name }) => familyOf(name) === family);
      const unread: string[] = [];
      const stray: string[] = [];
      for (const counterexample of all) {
        const found = opened(counterexample);
        if (!found.ok) unread.push(counterexample.name);
        const at = found.ok ? strayStep(found.model, counterexample) : null;
        if (at !== null) stray.push(`${counterexample.name}, step ${at}`);
      }
      expect(stray).toEqual([]);
      expect(unread).toEqual(unreadFamilies.has(family) ? all.map(({ name }) => name) : []);
    },
  );

  it('may end outside of the constraints, where an invariant is broken: TLC looks at such a state', () => {
    const { model, counterexample } = modelOf('BugOrderedApply-outcome-by-next');
    const last = statesOf(counterexample).map((state) => valuesOf(model, state));
    expect(counterexample.config).toContain('ACTION_CONSTRAINT ResumedInVain');
    const next = model.nextStates(last.at(-2)!);
    const outside = next.find(({ values }) => isSame(values, last.at(-1)!));
    expect(outside?.action?.name).toBe('TellOutcome');
    expect(model.broken(outside!.values)).toEqual(['ToldIsTrue']);
  });

  it('are found to be altered wherever one is', () => {
    const { model, counterexample } = modelOf('BugLease-no-margin');
    const { steps } = counterexample;
    const without = (at: number): Counterexample => ({ ...counterexample, steps: steps.toSpliced(at, 1) });
    const last = steps.length - 1;
    expect([1, 5, last - 1].map((at) => strayStep(model, without(at)))).toEqual([
      expect.any(Number),
      expect.any(Number),
      expect.any(Number),
    ]);
    const { changed } = steps[0]!;
    const [name] = Object.entries(changed).find(([, text]) => text === '0') ?? [];
    const first = { ...steps[0]!, changed: { ...changed, [name!]: '1' } };
    expect(strayStep(model, { ...counterexample, steps: [first, ...steps.slice(1)] })).toBe(0);
    const named = steps.findIndex(({ by }) => by !== undefined);
    const step = { ...steps[named]!, by: { name: 'Nothing', operands: {} } };
    expect(strayStep(model, { ...counterexample, steps: steps.with(named, step) })).toBe(named);
  });
});
