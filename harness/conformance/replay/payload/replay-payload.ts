/**
 * Leads the real payload through behaviours of OrderedApply that TLC made up, and compares its state with the specification's.
 *
 * Responsible for: the order: an action of the behaviour, whatever the code does of its own accord, and the comparison when the behaviour has done all of that, too (`pending` in ReplayOrderedApply.tla).
 */
import type { Divergence, ReplayOutcome } from '../replay.ts';
import type { TlaState } from '../tla-value.ts';
import { PayloadDriver } from './payload-driver.ts';
import { payloadState } from './payload-state.ts';
import { payloadDifference } from './payload-view.ts';

/** How long the code may take for what it does of its own accord, in simulated time. */
const patienceMs = 1000;
const lookMs = 10;

export async function replayPayload(
  states: readonly TlaState[],
  makeDriver: (initial: ReturnType<typeof payloadState>) => PayloadDriver = (initial) =>
    new PayloadDriver(initial),
): Promise<ReplayOutcome> {
  const actions = new Map<string, number>();
  const initial = payloadState(states[0]!);
  const driver = makeDriver(initial);
  await driver.begin();
  for (let step = 0; step < states.length; step++) {
    const state = step === 0 ? initial : payloadState(states[step]!);
    const { name, params } = state.act;
    const diverges = ({
      what,
      spec,
      code,
    }: {
      what: string;
      spec: unknown;
      code: unknown;
    }): ReplayOutcome => {
      const divergence: Divergence = {
        step,
        action: `${name} ${JSON.stringify(params)}`,
        what,
        spec,
        core: code,
      };
      return { steps: step, actions, divergence };
    };
    try {
      if (step > 0) await driver.take(state);
      if (step > 0) actions.set(name, (actions.get(name) ?? 0) + 1);
      await driver.settle();
      if (state.pending) continue;
      let difference = payloadDifference(state, driver);
      for (let ms = 0; difference !== null && ms < patienceMs; ms += lookMs) {
        await driver.settle(lookMs);
        difference = payloadDifference(state, driver);
      }
      if (difference !== null) return diverges(difference);
    } catch (error) {
      return diverges({
        what: error instanceof Error ? error.message : String(error),
        spec: null,
        code: null,
      });
    }
  }
  return { steps: states.length - 1, actions, divergence: null };
}
