/** What the cores record in the simulated run of a seed. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { mixes, type MixName } from '../../simulation/mixes.ts';
import { optionsOfSeed } from '../../simulation/options.ts';
import { simulate } from '../../simulation/simulation.ts';
import { recordTrace } from '../../simulation/trace-recorder.ts';

const TRACE_EVENTS_MAX = 1_000_000;

export interface SeedOptions {
  readonly mix: MixName;
  /** Of the simulator, under faults. */
  readonly steps: number;
}

/** @throws Error if the run breaks a rule of the simulator */
export function recordSeed(seed: number, { mix, steps }: SeedOptions): readonly TraceEvent[] {
  const recorder = recordTrace(TRACE_EVENTS_MAX);
  const { failure } = simulate(optionsOfSeed(seed, { ...mixes[mix], steps }), recorder);
  if (failure !== null) throw new Error(`the run of seed ${seed} breaks ${failure.rule}: ${failure.message}`);
  return recorder.events;
}
