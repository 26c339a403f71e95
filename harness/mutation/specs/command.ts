/**
 * `npm run mutate -- specs`: how many alterations of the specifications their models notice.
 *
 *   --sample N   N mutants of each module, chosen by the seed; without it all of them, which takes a night
 *   --only X,Y   those whose name begins so (a module, or a module and a line), or those of this definition
 *   --seconds N  after so many seconds no further model is given to a mutant, and each may take a third of them; a survivor says which were left
 *   --models A,B only these models, by the beginnings of their names: those of which one expects a kill, before the others
 *   --json FILE  where to write the score, with every mutant. What stands there is not run again: a survivor is given only those models that it has
 *                not passed. Begin a new file when specifications have changed
 *
 * Responsible for: the choice, the order and the score. What is altered says specs-folder.ts, what kills says judge-mutant.ts.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readCfg } from '../../../scripts/specs/cfg.ts';
import { loadManifest, type Model } from '../../../scripts/specs/manifest.ts';
import { ensureTlc, SPECS_DIR } from '../../../scripts/specs/tlc.ts';
import { sample } from '../sampling.ts';
import { explainedSpecs } from './explained.ts';
import { judgeMutant, type Judgement } from './judge-mutant.ts';
import { allMutants, loadModules, type SpecMutant } from './specs-folder.ts';

export interface SpecMutationOptions {
  readonly sample?: number;
  readonly json?: string;
  readonly seed?: number;
  /** Beginnings of mutants' names, such as `Lease` or `Lease:104`, or names of definitions, with commas between. */
  readonly only?: string;
  /** Beginnings of the names of the models that are asked, with commas between. */
  readonly models?: string;
  /** How long one mutant may take; without it, until all models have judged. */
  readonly seconds?: number;
}

export interface Survivor {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly what: string;
}

export interface SpecScore {
  readonly mutants: number;
  readonly killed: number;
  /** Without an explanation. */
  readonly survivors: readonly Survivor[];
  readonly explained: readonly (Survivor & { readonly why: string })[];
  /** Explanations of mutants that are killed, or not made any more. */
  readonly stale: readonly string[];
}

interface Judged {
  readonly mutant: SpecMutant;
  readonly judgement: Judgement;
}

/** So many of each module, and the same ones for the same seed. */
export function sampled(
  mutants: readonly SpecMutant[],
  count: number | undefined,
  seed: number,
): readonly SpecMutant[] {
  if (count === undefined) return mutants;
  const keyed = mutants.map((mutant) => ({ name: mutant.key, mutant }));
  const modules = [...new Set(mutants.map(({ module }) => module))];
  return modules.flatMap((name) =>
    sample(
      keyed.filter(({ mutant }) => mutant.module === name),
      count,
      seed,
    ).map(({ mutant }) => mutant),
  );
}

/** One of each module in turn, so that a run that is broken off has judged as many of each. */
export function inTurn(mutants: readonly SpecMutant[]): readonly SpecMutant[] {
  const places = new Map<string, number>();
  const placed = mutants.map((mutant) => {
    const place = places.get(mutant.module) ?? 0;
    places.set(mutant.module, place + 1);
    return { mutant, place };
  });
  return placed.toSorted((a, b) => a.place - b.place).map(({ mutant }) => mutant);
}

/** What a model takes for its behaviour: what its cfg names after SPECIFICATION, what it puts in the place of a rule, and what bounds its steps. */
export function rootsOf(
  model: Pick<Model, 'module'>,
  cfg: string,
): Array<{ module: string; operator: string }> {
  const { specification, substitutes, constraints } = readCfg(cfg);
  const operators = [...(specification === null ? [] : [specification]), ...substitutes, ...constraints];
  return operators.map((operator) => ({ module: model.module, operator }));
}

/** `explanations`: by module, definition and what is altered. `all`: every mutant that is made, judged or not. */
export function score(
  judged: readonly Judged[],
  explanations: ReadonlyMap<string, string>,
  all: readonly SpecMutant[],
): SpecScore {
  const counted = judged.filter(({ judgement }) => judgement.verdict !== 'unparsable');
  const survived = counted.filter(({ judgement }) => judgement.verdict === 'survived');
  const told = survived.map(({ mutant }) => ({
    name: mutant.name,
    file: `specs/${mutant.module}.tla`,
    line: mutant.line,
    what: `${mutant.definition}: ${mutant.what}`,
    why: explanations.get(mutant.key),
  }));
  const killed = new Set(
    counted.filter(({ judgement }) => judgement.verdict === 'killed').map(({ mutant }) => mutant.key),
  );
  const made = new Set(all.map(({ key }) => key));
  return {
    mutants: counted.length,
    killed: counted.length - survived.length,
    survivors: told.flatMap(({ why, ...survivor }) => (why === undefined ? [survivor] : [])),
    explained: told.flatMap(({ why, ...survivor }) => (why === undefined ? [] : [{ ...survivor, why }])),
    stale: [...explanations.keys()].filter((key) => killed.has(key) || !made.has(key)),
  };
}

export function isMeant(
  { name, definition }: Pick<SpecMutant, 'name' | 'definition'>,
  only: string,
): boolean {
  return only
    .split(',')
    .some((each) => definition === each || name.startsWith(`${each}:`) || name.startsWith(`${each} `));
}

function tellOf({ mutant, judgement }: Judged): string {
  if (judgement.verdict === 'killed') return `✓ ${mutant.name}   ${judgement.model}: ${judgement.how}`;
  if (judgement.verdict === 'unparsable') return `- ${mutant.name}   does not parse`;
  const { unfinished, left } = judgement;
  const told = (what: string, names: readonly string[]): string =>
    names.length === 0 ? '' : `, ${what}: ${names.join(', ')}`;
  return `✗ ${mutant.name}   SURVIVED${told('without an end', unfinished)}${told('left', left)}`;
}

function readJudged(file: string | undefined): ReadonlyMap<string, Judged> {
  if (file === undefined || !existsSync(file)) return new Map();
  const { judged } = JSON.parse(readFileSync(file, 'utf8')) as { judged: readonly Judged[] };
  return new Map(judged.map((each) => [each.mutant.key, each]));
}

/** Runs what was chosen, one after another, and prints what became of each. @returns the score */
export async function runSpecMutation(options: SpecMutationOptions): Promise<SpecScore> {
  const { json, only, seed = 1 } = options;
  await ensureTlc();
  const models = loadManifest();
  const modules = loadModules();
  const roots = models.flatMap((model) =>
    rootsOf(model, readFileSync(path.join(SPECS_DIR, model.cfg), 'utf8')),
  );
  const made = allMutants(modules, roots);
  const all = made.filter((mutant) => only === undefined || isMeant(mutant, only));
  const isAsked = ({ name }: Model): boolean =>
    options.models === undefined || options.models.split(',').some((each) => name.startsWith(each));
  const isExplained = ({ key }: SpecMutant): boolean => explainedSpecs.has(key);
  const turns = inTurn(sampled(all, options.sample, seed));
  // Those last of which nobody expects to be killed: they take longest.
  const chosen = [...turns.filter((mutant) => !isExplained(mutant)), ...turns.filter(isExplained)];
  if (chosen.length === 0) throw new Error(`there is nothing to alter in ${only ?? 'the specifications'}`);
  console.log(`${chosen.length} of ${all.length} mutants`);
  const before = readJudged(json);
  const judged: Judged[] = [];
  for (const mutant of chosen) {
    const known = before.get(mutant.key)?.judgement;
    const survived = known?.verdict === 'survived';
    const judgement =
      known === undefined || survived
        ? await judgeMutant(mutant, models, modules, {
            seconds: options.seconds ?? Number.POSITIVE_INFINITY,
            passed: survived ? known.passed : [],
            isAsked,
          })
        : known;
    const each = { mutant, judgement };
    judged.push(each);
    console.log(tellOf(each));
    const soFar = score(judged, explainedSpecs, made);
    if (json !== undefined) writeFileSync(json, `${JSON.stringify({ ...soFar, judged }, null, 2)}\n`);
  }
  const result = score(judged, explainedSpecs, made);
  for (const { name, why } of result.explained) console.log(`explained  ${name}: ${why}`);
  for (const { name } of result.survivors) console.log(`SURVIVED   ${name}`);
  for (const key of result.stale)
    console.log(`STALE      ${key} is explained, and was killed or is not made any more`);
  const percent = (whole: number): string => ((100 * result.killed) / Math.max(1, whole)).toFixed(1);
  console.log(
    `${result.killed} of ${result.mutants} killed (${percent(result.mutants)} %); ${result.explained.length} survivors are explained, ${result.survivors.length} are not: ` +
      `${percent(result.mutants - result.explained.length)} % of those that a model could notice`,
  );
  return result;
}
