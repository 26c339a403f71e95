/** `conformance replay`: makes behaviours with TLC, leads the core through them, and reports how often each action was taken. */
import { ACTIONS } from '../trace/trace-command.ts';
import { behaviourTexts, type BehaviourOptions } from './behaviours.ts';
import { replayBehaviour, type Divergence, type ReplayOutcome } from './replay.ts';
import { parseBehaviour, type TlaState } from './tla-value.ts';

/** The members stay; and they change, which takes longer to get anywhere and to make up. */
const models = [
  { cfg: 'ReplayMultiPaxos.cfg', share: 1, length: 1 },
  { cfg: 'ReplayMultiPaxos-members.cfg', share: 1 / 4, length: 3 / 2 },
] as const;

/** So many random behaviours in which the members stay, and a quarter as many in which they change. @throws Error if TLC fails */
export async function makeBehaviours({ behaviours, depth, seed }: BehaviourOptions): Promise<TlaState[][]> {
  const all: TlaState[][] = [];
  for (const { cfg, share, length } of models) {
    const module = { module: 'ReplayMultiPaxos', cfg, extended: ['MultiPaxos', 'Consensus'] };
    const options = { behaviours: Math.ceil(behaviours * share), depth: Math.ceil(depth * length), seed };
    for (const text of await behaviourTexts(module, options)) all.push(parseBehaviour(text));
  }
  return all;
}

export interface ReplayReport {
  readonly behaviours: number;
  readonly steps: number;
  readonly actions: ReadonlyMap<string, number>;
  readonly failed: { readonly behaviour: number; readonly divergence: Divergence } | null;
}

export function replayAll(
  behaviours: readonly (readonly TlaState[])[],
  replay: (states: readonly TlaState[]) => ReplayOutcome = (states) => replayBehaviour(states),
): ReplayReport {
  const actions = new Map<string, number>();
  let steps = 0;
  for (const [i, states] of behaviours.entries()) {
    const outcome = replay(states);
    steps += outcome.steps;
    for (const [name, count] of outcome.actions) actions.set(name, (actions.get(name) ?? 0) + count);
    const { divergence } = outcome;
    if (divergence !== null)
      return { behaviours: i + 1, steps, actions, failed: { behaviour: i, divergence } };
  }
  return { behaviours: behaviours.length, steps, actions, failed: null };
}

/** Tells what came of it, and how often each of these actions was taken. @returns the exit code: 1 also if one never was */
export function tellReplay(
  { behaviours, steps, actions, failed }: ReplayReport,
  {
    who,
    seed,
    expected,
  }: { readonly who: string; readonly seed: number; readonly expected: readonly string[] },
): number {
  if (failed !== null) {
    const { step, action, what, spec, core } = failed.divergence;
    console.log(
      `${who} diverges from the spec in behaviour ${failed.behaviour} of seed ${seed}, step ${step}, ${action}: ${what}`,
    );
    console.log(`the spec: ${JSON.stringify(spec)}\nthe code: ${JSON.stringify(core)}`);
    return 1;
  }
  console.log(`${who} follows ${behaviours} behaviours, ${steps} steps`);
  console.log(expected.map((action) => `${action} ${actions.get(action) ?? 0}`).join(', '));
  const absent = expected.filter((action) => !actions.has(action));
  if (absent.length > 0) console.log(`FAILED: never taken: ${absent.join(', ')}`);
  return absent.length > 0 ? 1 : 0;
}

/** @returns the exit code */
export async function runReplayCommand(options: BehaviourOptions): Promise<number> {
  const report = replayAll(await makeBehaviours(options));
  return tellReplay(report, { who: 'the core', seed: options.seed, expected: ACTIONS });
}
