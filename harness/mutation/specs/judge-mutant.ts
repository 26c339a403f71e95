/**
 * What the models say of one mutant of a specification.
 *
 * Responsible for: running those that could notice, the cheapest first, until one does. A mutant is killed when a model of the manifest gives anything but
 * what it must; that a check has another number of states, or takes too long, does not count. One that does not parse is none.
 */
import { readFileSync } from 'node:fs';
import { cp, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeScratch, removeScratch } from '../../../scripts/specs/scratch.ts';
import type { Model } from '../../../scripts/specs/manifest.ts';
import { runModel } from '../../../scripts/specs/run-model.ts';
import { SPECS_DIR } from '../../../scripts/specs/tlc.ts';
import { differences } from '../../../scripts/specs/verdict.ts';
import { looksAt } from './noticing.ts';
import { alteredText, closure, type SpecModule, type SpecMutant } from './specs-folder.ts';

export type Judgement =
  | { readonly verdict: 'killed'; readonly model: string; readonly how: string }
  | Survival
  | { readonly verdict: 'unparsable' };

/** By the names of models: `passed` gave what they must, `unfinished` took too long, and for `left` there was no time. */
export interface Survival {
  readonly verdict: 'survived';
  readonly passed: readonly string[];
  readonly unfinished: readonly string[];
  readonly left: readonly string[];
}

/** A refuted model says nothing of how long it takes; most are refuted within some thousand states. */
const STATES_OF_REFUTED = 8000;
/** What checking a model's liveness adds, in states that take as long. */
const STATES_OF_LIVENESS = 20_000;
const SECONDS_MAX = 120;
/** However little time there is, a model that is begun may take so long. */
const SECONDS_MIN = 5;
/** TLC's exit code. */
const DOES_NOT_PARSE = 150;

/** Those that could notice something, the cheapest first; the ones that must hold, then random behaviours, then those that must not hold. */
export function modelsFor(
  mutant: Pick<SpecMutant, 'module' | 'definition'>,
  models: readonly Model[],
  modules: ReadonlyMap<string, SpecModule>,
  cfgOf: (model: Model) => string,
): readonly Model[] {
  const cost = ({ kind, expect, args }: Model): number =>
    (expect.distinctStates ?? STATES_OF_REFUTED) +
    (args.includes('-lncheck') ? STATES_OF_LIVENESS : 0) +
    (kind === 'check' ? 0 : 1e6) +
    (kind === 'check' || kind === 'simulation' ? 0 : 1e6);
  return models
    .filter((model) => {
      const read = closure(modules, model.module);
      if (model.size === 'nightly' || !read.has(mutant.module)) return false;
      return looksAt(
        mutant.definition,
        cfgOf(model),
        [...read].map((name) => modules.get(name)!),
      );
    })
    .sort((a, b) => cost(a) - cost(b));
}

/** The difference that kills, or null. */
export function killing(model: Model, observed: Parameters<typeof differences>[1]): string | null {
  if (observed.exitCode === null) return null;
  const uncounted = { ...model, expect: { ...model.expect, distinctStates: null } };
  return differences(uncounted, observed)[0] ?? null;
}

/**
 * `seconds`: after so many no further model is begun, and each may take a third of them. `passed`: models that have judged this mutant before.
 * `isAsked`: which others may, now.
 */
export async function judgeMutant(
  mutant: SpecMutant,
  models: readonly Model[],
  modules: ReadonlyMap<string, SpecModule>,
  {
    seconds,
    passed: before,
    isAsked,
  }: {
    readonly seconds: number;
    readonly passed: readonly string[];
    readonly isAsked: (model: Model) => boolean;
  },
): Promise<Judgement> {
  const started = performance.now();
  const secondsLeft = (): number => seconds - (performance.now() - started) / 1000;
  const folder = await makeScratch('barista-mutant-');
  const passed = [...before];
  const unfinished: string[] = [];
  const left: string[] = [];
  try {
    for (const file of await readdir(SPECS_DIR)) {
      if (/\.(tla|cfg)$/.test(file)) await cp(path.join(SPECS_DIR, file), path.join(folder, file));
    }
    const module = modules.get(mutant.module)!;
    await writeFile(path.join(folder, `${mutant.module}.tla`), alteredText(module, mutant));
    const cfgOf = ({ cfg }: Model): string => readFileSync(path.join(folder, cfg), 'utf8');
    const noticing = modelsFor(mutant, models, modules, cfgOf);
    for (const model of noticing.filter(({ name }) => !before.includes(name))) {
      if (secondsLeft() <= 0 || !isAsked(model)) {
        left.push(model.name);
        continue;
      }
      const timeoutSeconds = Math.min(
        model.timeoutSeconds,
        SECONDS_MAX,
        Math.max(SECONDS_MIN, Math.min(secondsLeft(), seconds / 3)),
      );
      const observed = await runModel({ ...model, timeoutSeconds }, { workers: 1, specDir: folder });
      if (observed.exitCode === DOES_NOT_PARSE) return { verdict: 'unparsable' };
      const how = killing(model, observed);
      if (how !== null) return { verdict: 'killed', model: model.name, how };
      (observed.exitCode === null ? unfinished : passed).push(model.name);
    }
    return { verdict: 'survived', passed, unfinished, left };
  } finally {
    await removeScratch(folder);
  }
}
