/** One run of a group in simulated time, as chance gives it or turned from there: what it is written as, and what it comes through. */
import { runSchedule, type ScheduleResult, type Turn } from '../group-schedule.ts';
import { Coverage } from './coverage.ts';

export interface Input {
  readonly seed: number;
  readonly replicas: number;
  readonly turns: readonly Turn[];
}

/** Every so many seeds are of five replicas. */
const ofFiveEvery = 4;

/** What the seed alone makes. */
export function inputOf(seed: number): Input {
  return { seed, replicas: seed % ofFiveEvery === 0 ? 5 : 3, turns: [] };
}

export interface Run {
  readonly input: Input;
  readonly pairs: Coverage['pairs'];
  readonly faults: ScheduleResult['faults'];
}

export async function runInput(input: Input): Promise<Run> {
  const coverage = new Coverage();
  const { faults } = await runSchedule({
    ...input,
    rounds: 1,
    onEvent: (event, atMs) => coverage.see(event, atMs),
  });
  return { input, pairs: coverage.pairs, faults };
}

/** How it is run again. */
export function commandOf({ seed, replicas, turns }: Input): string {
  return `npm run groups -- --seed ${seed} --replicas ${replicas} --rounds 1${turnOptions(turns)}`;
}

export function turnOptions(turns: Input['turns']): string {
  return turns.map(({ atMs, salt }) => ` --turn ${atMs}/${salt}`).join('');
}

/** @throws Error if it is no turn */
export function readTurn(text: string): Turn {
  const found = /^(\d+)\/(\d+)$/.exec(text);
  if (found === null) throw new Error(`--turn ${text}: MILLISECONDS/NUMBER is asked for`);
  return { atMs: Number(found[1]), salt: Number(found[2]) };
}
