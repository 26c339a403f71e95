/** The part of the core's interface that the simulator drives: so that a core with a planted bug can take its place. */
import { createState, leaseHeld, step, type State } from '../../server/src/multipaxos/step.ts';
import type { CoreConfig, Effect, Input } from '../../server/src/multipaxos/types/effects.ts';
import type { RecoveredLog } from '../../server/src/multipaxos/types/records.ts';

export interface Core {
  readonly name: string;
  createState(config: CoreConfig, recovered: RecoveredLog, nowMs: number, random: number): State;
  step(state: State, input: Input): { state: State; effects: Effect[] };
  leaseHeld(state: State, nowMs: number): boolean;
}

export const realCore: Core = { name: 'real', createState, step, leaseHeld };
