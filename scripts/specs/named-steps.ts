/**
 * Which actions the steps of a counterexample are, and what they were taken with, as far as the evaluator of this repository can tell: TLC names the definition that a step's text stands in, which is often the Next.
 *
 * Responsible for no verdict: a model that the evaluator does not read keeps TLC's names.
 */
import {
  type Counterexample,
  type CounterexampleStep,
  statesOf,
} from '../../dashboard/src/spec/counterexample.ts';
import { equal } from '../../harness/tla/equality.ts';
import { formatValue } from '../../harness/tla/format-value.ts';
import { readConfig } from '../../harness/tla/model-config.ts';
import { type ActionUse, openModel, type OpenModel } from '../../harness/tla/open-model.ts';
import { TlaError } from '../../harness/tla/tla-error.ts';
import type { Value } from '../../harness/tla/value.ts';
import { moduleTexts } from './counterexample-files.ts';
import { compact } from './tlc-trace.ts';

type Steps = Pick<Counterexample, 'module' | 'config' | 'steps'>;

/** @returns why no step could be named; null: each was, or is named as far as it can be told */
export function nameSteps(counterexample: Steps): {
  readonly steps: readonly CounterexampleStep[];
  readonly problem: string | null;
} {
  const { steps } = counterexample;
  try {
    const model = openModelOf(counterexample);
    const states = statesOf({ steps }).map((state) => model.variables.map((name) => state.get(name)!));
    const named = steps.map((step, index) => {
      const by = index === 0 ? null : actionBetween(model, states[index - 1]!, states[index]!);
      return by === null ? step : { ...step, by };
    });
    return { steps: named, problem: null };
  } catch (error) {
    if (error instanceof TlaError) return { steps, problem: error.message };
    throw error;
  }
}

function openModelOf({ module, config }: Steps): OpenModel {
  return openModel({ modules: moduleTexts(module), main: module, data: [], config: readConfig(config) });
}

/** Null: none leads there, or it is not certain which. */
function actionBetween(
  model: OpenModel,
  from: readonly Value[],
  to: readonly Value[],
): NonNullable<CounterexampleStep['by']> | null {
  const found = model
    .nextStates(from)
    .filter(({ values }) => values.every((value, index) => equal(value, to[index]!)));
  const [first] = found;
  if (first?.action == null || found.some(({ action }) => action?.name !== first.action!.name)) return null;
  return written(first.action);
}

function written({ name, operands }: ActionUse): NonNullable<CounterexampleStep['by']> {
  return {
    name,
    operands: Object.fromEntries(operands.map((one) => [one.name, compact(formatValue(one.value))])),
  };
}
