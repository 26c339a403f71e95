/**
 * Runs one model of the manifest, and gathers all that is to be compared with what it must give.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { actionsTaken, actionsTold, COVERAGE_MINUTES, sightsSeen } from './coverage.ts';
import type { Model } from './manifest.ts';
import { runTlc, SPECS_DIR } from './tlc.ts';
import type { Observed } from './verdict.ts';

/** Ten seconds of a processor: Java's second compiler saves more than it takes from there on, a fifth to a third of the whole. */
const LONG_STATES = 10_000;

export interface ModelRun {
  readonly workers: number;
  /** Where the modules and configurations are. Default: specs/ of this repository. */
  readonly specDir?: string;
  readonly onOutput?: (text: string) => void;
}

export async function runModel(
  model: Model,
  { workers, specDir = SPECS_DIR, onOutput }: ModelRun,
): Promise<Observed & { readonly output: string }> {
  // TLC's own statistics take their time.
  const tellsItself = readFileSync(path.join(specDir, model.cfg), 'utf8').includes('TellActions');
  const result = await runTlc({
    module: model.module,
    cfg: model.cfg,
    specDir,
    args: [
      '-workers',
      String(workers),
      ...(model.takes.length > 0 && !tellsItself ? ['-coverage', String(COVERAGE_MINUTES)] : []),
      ...model.args,
    ],
    timeoutMs: model.timeoutSeconds * 1000,
    isLong: model.size === 'nightly' || (model.expect.distinctStates ?? 0) >= LONG_STATES,
    ...(model.heapMib === undefined ? {} : { heapMib: model.heapMib }),
    ...(onOutput === undefined ? {} : { onOutput }),
  });
  const moduleText = (module: string): string | null => {
    const file = path.join(specDir, `${module}.tla`);
    return existsSync(file) ? readFileSync(file, 'utf8') : null;
  };
  const taken = tellsItself ? actionsTold(result.output) : actionsTaken(result.output, moduleText);
  return { ...result, taken, seen: sightsSeen(result.output) };
}
