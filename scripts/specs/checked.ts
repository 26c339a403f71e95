/**
 * Which models TLC has seen as they are now (scripts/proofs/proven.ts).
 *
 * Responsible for: the digest of all that a model's outcome rests on, and which models have to run.
 * Invariant: a model whose digest is noted gives what it gave then. It is the same text to the same TLC, judged by the same code; what people read only (`shows`, `lastRun`) is left out.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { note, type Proven } from '../proofs/proven.ts';
import type { Model } from './manifest.ts';
import { SPECS_DIR } from './tlc.ts';

/** Which TLC runs, how, and what is made of its output. */
const JUDGES = ['tlc.ts', 'tlc-output.ts', 'run-model.ts', 'coverage.ts', 'verdict.ts'];
const DIGEST_LENGTH = 16;
const KIND = 'model ';

/** Gives the text of a file, or null if there is none. */
type ReadText = (file: string) => string | null;

const readSpec: ReadText = (file) => {
  const place = path.join(SPECS_DIR, file);
  return existsSync(place) ? readFileSync(place, 'utf8') : null;
};

const readJudge: ReadText = (file) => readFileSync(new URL(file, import.meta.url), 'utf8');

/** The module and all that it names, in any way, at any depth: too many rather than too few. In the order of their names. */
export function modulesOf(module: string, read: ReadText = readSpec): readonly string[] {
  const found = new Set<string>();
  const waiting = [module];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    const text = read(`${name}.tla`);
    // A word of the language, or a module that comes with TLC.
    if (text === null) continue;
    found.add(name);
    waiting.push(...new Set(text.match(/\b[A-Z]\w*/g)));
  }
  return [...found].sort();
}

/** Of all that the outcome rests on. */
export function digestOf(model: Model, read: ReadText = readSpec, judge: ReadText = readJudge): string {
  const { shows: _shows, lastRun: _lastRun, size: _size, timeoutSeconds: _timeout, ...rest } = model;
  const hash = createHash('sha256').update(JSON.stringify(rest));
  const files = [model.cfg, ...modulesOf(model.module, read).map((name) => `${name}.tla`)];
  for (const file of files) hash.update(`\0${file}\0${read(file) ?? ''}`);
  for (const file of JUDGES) hash.update(`\0${file}\0${judge(file) ?? ''}`);
  return hash.digest('hex').slice(0, DIGEST_LENGTH);
}

/** Those that TLC has not seen as they are now. */
export function haveToRun(
  models: readonly Model[],
  proven: Proven,
  digest: (model: Model) => string = digestOf,
): readonly Model[] {
  return models.filter((model) => proven.get(KIND + model.name) !== digest(model));
}

/** Those that gave what they must are noted, the others are not any more. */
export function noteChecked(
  outcomes: ReadonlyMap<Model, boolean>,
  models: readonly Model[],
  digests: ReadonlyMap<Model, string>,
): void {
  const noted = [...outcomes].map(([model, isAsExpected]): [string, string | null] => [
    KIND + model.name,
    isAsExpected ? (digests.get(model) ?? null) : null,
  ]);
  const names = new Set(models.map(({ name }) => KIND + name));
  note(new Map(noted), KIND, (name) => names.has(name));
}
