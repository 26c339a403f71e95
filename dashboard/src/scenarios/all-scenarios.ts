/** All scenarios, in the order in which they are offered. */
import { leaderDies } from './plays/leader-dies.ts';
import type { Scenario } from './scenario.ts';

export const scenarios: readonly Scenario[] = [leaderDies];

/** Null: there is none of that name. */
export function scenarioNamed(id: string | null): Scenario | null {
  return scenarios.find((scenario) => scenario.id === id) ?? null;
}
