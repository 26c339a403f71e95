/**
 * What the models say of one mutant of a specification.
 *
 * Responsible for: running those that could notice, the cheapest first, until one does. A mutant is killed when a model of the manifest gives anything but
 * what it must; that a check has another number of states, or takes too long, does not count. One that does not parse is none.
 */
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Model } from '../../../scripts/specs/manifest.ts';
import { runModel } from '../../../scripts/specs/run-model.ts';
import { SPECS_DIR } from '../../../scripts/specs/tlc.ts';
import { differences } from '../../../scripts/specs/verdict.ts';
import { alteredText, closure, type SpecModule, type SpecMutant } from './specs-folder.ts';

export type Judgement =
  | { readonly verdict: 'killed'; readonly model: string; readonly how: string }
  | { readonly verdict: 'survived'; readonly unfinished: readonly string[] }
  | { readonly verdict: 'unparsable' };

/** A refuted model says nothing of how long it takes; most are refuted within some thousand states. */
const STATES_OF_REFUTED = 8000;
const SECONDS_MAX = 120;
/** TLC's exit code. */
const DOES_NOT_PARSE = 150;

/** Those that could notice something, the cheapest first; the ones that must hold before those that must not. */
export function modelsFor(
  mutant: Pick<SpecMutant, 'module'>,
  models: readonly Model[],
  modules: ReadonlyMap<string, SpecModule>,
): readonly Model[] {
  const cost = ({ kind, expect }: Model): number =>
    (expect.distinctStates ?? STATES_OF_REFUTED) +
    (kind === 'check' ? 0 : 1e6) +
    (kind === 'simulation' ? 1e6 : 0);
  return models
    .filter(({ size, module }) => size !== 'nightly' && closure(modules, module).has(mutant.module))
    .sort((a, b) => cost(a) - cost(b));
}

/** The difference that kills, or null. */
export function killing(model: Model, observed: Parameters<typeof differences>[1]): string | null {
  if (observed.exitCode === null) return null;
  const uncounted = { ...model, expect: { ...model.expect, distinctStates: null } };
  return differences(uncounted, observed)[0] ?? null;
}

export async function judgeMutant(
  mutant: SpecMutant,
  models: readonly Model[],
  modules: ReadonlyMap<string, SpecModule>,
): Promise<Judgement> {
  const folder = await mkdtemp(path.join(tmpdir(), 'barista-mutant-'));
  try {
    for (const file of await readdir(SPECS_DIR)) {
      if (/\.(tla|cfg)$/.test(file)) await cp(path.join(SPECS_DIR, file), path.join(folder, file));
    }
    const module = modules.get(mutant.module)!;
    await writeFile(path.join(folder, `${mutant.module}.tla`), alteredText(module, mutant));
    const unfinished: string[] = [];
    for (const model of modelsFor(mutant, models, modules)) {
      const timeoutSeconds = Math.min(model.timeoutSeconds, SECONDS_MAX);
      const observed = await runModel({ ...model, timeoutSeconds }, { workers: 1, specDir: folder });
      if (observed.exitCode === DOES_NOT_PARSE) return { verdict: 'unparsable' };
      const how = killing(model, observed);
      if (how !== null) return { verdict: 'killed', model: model.name, how };
      if (observed.exitCode === null) unfinished.push(model.name);
    }
    return { verdict: 'survived', unfinished };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
