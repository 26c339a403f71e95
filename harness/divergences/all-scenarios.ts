/** Every scenario, in the order in which they are run. */
import { escalations } from './escalation.ts';
import { executedAgain } from './executed-again.ts';
import { executedElsewhere } from './executed-elsewhere.ts';
import { formerlyRefused } from './formerly-refused.ts';
import { formerlyRefusedCode } from './formerly-refused-code.ts';
import type { Scenario } from './scenario.ts';

/** `marker`: the file that no scenario may leave. */
export function allScenarios(marker: string): readonly Scenario[] {
  return [
    ...executedAgain,
    ...executedElsewhere,
    ...formerlyRefused,
    ...formerlyRefusedCode,
    ...escalations(marker),
  ];
}
