/** `conformance replay`: makes behaviours with TLC, leads the core through them, and reports how often each action was taken. */
import { copyFile, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SPECS_DIR, runTlc } from '../../../scripts/specs/tlc.ts';
import { errorText } from '../../../scripts/specs/tlc-output.ts';
import { STEADY_ACTIONS } from '../trace/trace-command.ts';
import { replayBehaviour, type Divergence } from './replay.ts';
import { parseBehaviour, type TlaState } from './tla-value.ts';

const MODULE = 'ReplayMultiPaxos';
const TIMEOUT_MS = 600_000;

export interface BehaviourOptions {
  readonly behaviours: number;
  readonly depth: number;
  readonly seed: number;
}

/** Random behaviours of ReplayMultiPaxos. @throws Error if TLC fails */
export async function makeBehaviours({ behaviours, depth, seed }: BehaviourOptions): Promise<TlaState[][]> {
  const directory = await mkdtemp(join(tmpdir(), 'barista-replay-'));
  try {
    for (const file of ['MultiPaxos.tla', 'Consensus.tla'])
      await copyFile(join(SPECS_DIR, file), join(directory, file));
    for (const file of [`${MODULE}.tla`, `${MODULE}.cfg`]) {
      await copyFile(fileURLToPath(new URL(file, import.meta.url)), join(directory, file));
    }
    const args = ['-workers', '1', '-simulate', `file=${join(directory, 'behaviour')},num=${behaviours}`];
    const limits = ['-depth', String(depth), '-seed', String(seed)];
    const { exitCode, output } = await runTlc({
      module: MODULE,
      cfg: `${MODULE}.cfg`,
      args: [...args, ...limits],
      specDir: directory,
      timeoutMs: TIMEOUT_MS,
    });
    const names = (await readdir(directory)).filter((name) => name.startsWith('behaviour')).sort();
    if (exitCode !== 0 || names.length === 0)
      throw new Error(`TLC ended with ${exitCode ?? 'a time-out'}:\n${errorText(output)}`);
    const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
    return texts.map(parseBehaviour);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export interface ReplayReport {
  readonly behaviours: number;
  readonly steps: number;
  readonly actions: ReadonlyMap<string, number>;
  readonly failed: { readonly behaviour: number; readonly divergence: Divergence } | null;
}

export function replayAll(behaviours: readonly (readonly TlaState[])[]): ReplayReport {
  const actions = new Map<string, number>();
  let steps = 0;
  for (const [i, states] of behaviours.entries()) {
    const outcome = replayBehaviour(states);
    steps += outcome.steps;
    for (const [name, count] of outcome.actions) actions.set(name, (actions.get(name) ?? 0) + count);
    const { divergence } = outcome;
    if (divergence !== null)
      return { behaviours: i + 1, steps, actions, failed: { behaviour: i, divergence } };
  }
  return { behaviours: behaviours.length, steps, actions, failed: null };
}

/** @returns the exit code */
export async function runReplayCommand(options: BehaviourOptions): Promise<number> {
  const startMs = performance.now();
  const behaviours = await makeBehaviours(options);
  const { steps, actions, failed } = replayAll(behaviours);
  if (failed !== null) {
    const { step, action, what, spec, core } = failed.divergence;
    console.log(
      `the core diverges from the spec in behaviour ${failed.behaviour} of seed ${options.seed}, step ${step}, ${action}: ${what}`,
    );
    console.log(`the spec: ${JSON.stringify(spec)}\nthe core: ${JSON.stringify(core)}`);
    return 1;
  }
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(`the core follows ${behaviours.length} behaviours, ${steps} steps, in ${seconds} s`);
  console.log(STEADY_ACTIONS.map((action) => `${action} ${actions.get(action) ?? 0}`).join(', '));
  const absent = STEADY_ACTIONS.filter((action) => !actions.has(action));
  if (absent.length > 0) console.log(`FAILED: never taken: ${absent.join(', ')}`);
  return absent.length > 0 ? 1 : 0;
}
