/**
 * Planted bugs: the real core with one rule broken from outside, each of which the judge must catch.
 *
 * Responsible for: showing that the simulator can fail. A bug changes the core's state, its inputs or its effects; the core has
 * no switch for any of them.
 */
import type { Core } from './core.ts';
import type { SimulationOptions } from './options.ts';

export interface PlantedBug {
  readonly core: Core;
  /** Faults under which the bug shows. */
  readonly options: Partial<SimulationOptions>;
}

export const plantedBugs: readonly PlantedBug[] = [];
