/**
 * The list of models and of what each must give: specs/manifest/*.json, one file for each specification.
 *
 * Responsible for: reading and checking that list, and choosing from it. Runs nothing.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { SPECS_DIR } from './tlc.ts';

/**
 * `check`: no error may be found. `bug`: one rule is dropped, and TLC must refute the model. `witness`: claims that something
 * never happens, and TLC must refute that, so the checks are not vacuous. `simulation`: random behaviours, no error.
 */
export const KINDS = ['check', 'bug', 'witness', 'simulation'] as const;
/** tiny: seconds. small: about a minute on two slow cores. nightly: longer. */
export const SIZES = ['tiny', 'small', 'nightly'] as const;

const lastRunSchema = z.strictObject({
  date: z.iso.date(),
  /** Rounded up. */
  seconds: z.number().int().positive(),
  workers: z.number().int().positive(),
});

export type LastRun = z.infer<typeof lastRunSchema>;

const modelSchema = z.strictObject({
  /** Unique; `--only` matches its beginning. */
  name: z.string().min(1),
  module: z.string().min(1),
  cfg: z.string().endsWith('.cfg'),
  kind: z.enum(KINDS),
  size: z.enum(SIZES),
  args: z.array(z.string()).default([]),
  timeoutSeconds: z.number().int().positive(),
  heapMib: z.number().int().positive().optional(),
  expect: z.strictObject({
    /** 0 no error, 11 deadlock, 12 invariant violated, 13 property violated; 255 instead, where TLC cannot print a behaviour again of which parts were drawn. */
    exitCode: z.union([z.literal(0), z.literal(11), z.literal(12), z.literal(13), z.literal(255)]),
    /** Exact; null only where the count depends on chance (simulation) or on when TLC stops (a refuted model). */
    distinctStates: z.number().int().positive().nullable(),
    /** The invariant or property that must be the violated one; null if none must be. */
    violated: z.string().min(1).nullable(),
  }),
  /** Actions that must be taken in the model, by name (check models only: others may end before). */
  takes: z.array(z.string().min(1)).default([]),
  /** What must be seen in some state of it: see coverage.ts. */
  sees: z.array(z.string().min(1)).default([]),
  /** Of a nightly model: when it last gave what it must, and what that took. */
  lastRun: lastRunSchema.optional(),
  /** One line for people: what the model covers, or what dropping the rule leads to. */
  shows: z.string().min(1),
});

export type Model = z.infer<typeof modelSchema>;

function inconsistency(model: Model): string | null {
  const mustFail = model.kind === 'bug' || model.kind === 'witness';
  if (mustFail !== (model.expect.exitCode !== 0))
    return `a ${model.kind} model cannot expect exit code ${model.expect.exitCode}`;
  if (mustFail !== (model.expect.violated !== null))
    return `a ${model.kind} model must ${mustFail ? '' : 'not '}name what is violated`;
  if (model.kind === 'check' && model.expect.distinctStates === null)
    return 'a check model must expect a state count';
  if (model.takes.length > 0 && model.kind !== 'check')
    return `a ${model.kind} model cannot say which actions it takes`;
  return null;
}

/** @throws Error naming the file and the field that is wrong. */
export function parseManifest(file: string, text: string): readonly Model[] {
  const parsed = z.array(modelSchema).safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
  for (const model of parsed.data) {
    const problem = inconsistency(model);
    if (problem !== null) throw new Error(`${file}: ${model.name}: ${problem}`);
  }
  return parsed.data;
}

/** All models, in the order of the files and of their lines. @throws Error if two have one name. */
export function loadManifest(specDir: string = SPECS_DIR): readonly Model[] {
  const dir = path.join(specDir, 'manifest');
  const files = readdirSync(dir)
    .filter((file) => file.endsWith('.json'))
    .sort();
  const models = files.flatMap((file) => parseManifest(file, readFileSync(path.join(dir, file), 'utf8')));
  const names = new Set<string>();
  for (const { name } of models) {
    if (names.has(name)) throw new Error(`two models are called ${name}`);
    names.add(name);
  }
  return models;
}

export type SizeChoice = (typeof SIZES)[number] | 'all-but-nightly' | 'all';

export interface Choice {
  readonly size: SizeChoice;
  /** Names, or beginnings of names that are nobody's own; empty: every name. */
  readonly only: readonly string[];
  /** Only the bug models. */
  readonly bugs: boolean;
}

/** `only` picks by name whatever the size. */
export function selectModels(models: readonly Model[], choice: Choice): readonly Model[] {
  const names = new Set(models.map(({ name }) => name));
  const isNamed = (name: string, wanted: string): boolean =>
    names.has(wanted) ? name === wanted : name.startsWith(wanted);
  return models.filter((model) => {
    if (choice.bugs && model.kind !== 'bug') return false;
    if (choice.only.length > 0) return choice.only.some((wanted) => isNamed(model.name, wanted));
    if (choice.size === 'all') return true;
    return choice.size === 'all-but-nightly' ? model.size !== 'nightly' : model.size === choice.size;
  });
}

/** The `index`-th of so many parts, from 1 on. */
export interface Part {
  readonly index: number;
  readonly parts: number;
}

/** @returns null if the text is not K/N, with K from 1 to N */
export function parsePart(text: string): Part | null {
  const match = /^([1-9]\d*)\/([1-9]\d*)$/.exec(text);
  if (match === null) return null;
  const [index, parts] = [Number(match[1]), Number(match[2])];
  return index <= parts ? { index, parts } : null;
}

/** All parts together have each model once. Neighbours, which take alike, go to different ones. */
export function partOf<T>(models: readonly T[], { index, parts }: Part): readonly T[] {
  return models.filter((_, at) => at % parts === index - 1);
}
