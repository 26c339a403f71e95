/** All scenarios, in the order in which they are offered. */
import { duel } from './plays/duel.ts';
import { frozenLeader } from './plays/frozen-leader.ts';
import { leaderDies } from './plays/leader-dies.ts';
import { longAbsence } from './plays/long-absence.ts';
import { middleOfAgreement } from './plays/middle-of-agreement.ts';
import { oneWayCut } from './plays/one-way-cut.ts';
import { unchosenWal } from './plays/unchosen-wal.ts';
import { wipedMajority } from './plays/wiped-majority.ts';
import { wipedMinority } from './plays/wiped-minority.ts';
import type { Scenario } from './scenario.ts';

export const scenarios: readonly Scenario[] = [
  leaderDies,
  duel,
  oneWayCut,
  frozenLeader,
  middleOfAgreement,
  unchosenWal,
  wipedMinority,
  longAbsence,
  wipedMajority,
];

/** Null: there is none of that name. */
export function scenarioNamed(id: string | null): Scenario | null {
  return scenarios.find((scenario) => scenario.id === id) ?? null;
}
