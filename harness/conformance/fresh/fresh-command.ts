/** `conformance fresh`: new seeds of the simulator, judged; each that is refused is printed with the command that repeats it. */
import { randomInt } from 'node:crypto';
import type { JudgeName } from '../judge/judges.ts';
import { LEASE_EVENTS, printLeaseRejection } from '../lease/lease-command.ts';
import { ACTIONS, APPLY_EVENTS, printApplyRejection, printRejection } from '../trace/trace-command.ts';
import { judgeSeeds, type Refused } from './judge-seeds.ts';
import { recordFresh, type FreshMix } from './record-fresh.ts';

/** Seeds are mixed to 32 bits. */
const FIRST_MAX = 1_000_000_000;

export interface FreshOptions {
  readonly mix: FreshMix;
  readonly seeds: number;
  /** Null: drawn, so that no two runs judge the same. */
  readonly first: number | null;
  readonly judge: JudgeName;
  /** How many run at once. */
  readonly jvms: number;
}

/** @returns the exit code */
export async function runFreshCommand(options: FreshOptions): Promise<number> {
  const first = options.first ?? randomInt(1, FIRST_MAX);
  const { seeds, mix } = options;
  const started = performance.now();
  const seconds = (): string => ((performance.now() - started) / 1000).toFixed(0);
  console.log(`${seeds} seeds of the mix ${mix} from ${first}: ${commandOf(mix, first, seeds)}`);
  const totals = await judgeSeeds({
    record: (seed) => recordFresh(seed, mix),
    first,
    seeds,
    judge: options.judge,
    jvms: options.jvms,
    onRefused: (refused) => printRefused(refused, mix),
    onProgress: (done) =>
      console.log(`${mix}: ${done.seeds} of ${seeds} seeds, ${done.refused} refused, ${seconds()} s`),
  });
  console.log(
    `${mix}: ${totals.seeds - totals.refused} of ${seeds} seeds accepted, ${totals.events} events in ${seconds()} s`,
  );
  const expected =
    mix === 'groups'
      ? [...ACTIONS, ...APPLY_EVENTS, ...LEASE_EVENTS.map((name) => `lease ${name}`)]
      : ACTIONS;
  const absent = expected.filter((action) => !totals.actions.has(action));
  if (absent.length > 0) console.log(`never occurred, so not checked: ${absent.join(', ')}`);
  return totals.refused === 0 ? 0 : 1;
}

function commandOf(mix: FreshMix, first: number, seeds: number): string {
  return `npm run conformance -- fresh --seeds ${seeds} --first ${first} --mix ${mix}`;
}

function printRefused({ seed, why }: Refused, mix: FreshMix): void {
  console.log(`REFUSED: seed ${seed}: ${commandOf(mix, seed, 1)}`);
  if (typeof why === 'string') console.log(why);
  else if (!('layer' in why)) printRejection(why);
  else if (why.layer === 'lease') printLeaseRejection(why);
  else printApplyRejection(why);
}
