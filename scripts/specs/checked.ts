/**
 * What TLC has found already: specs/checked.json says of each model with which text it last gave what it must.
 *
 * Responsible for: the digest of all that a model's outcome rests on, which models have to run, and the file's text.
 * Invariant: a model whose digest is noted gives what it gave then. It is the same text to the same TLC, judged by the same code; what people read only (`shows`, `lastRun`) is left out.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { Model } from './manifest.ts';
import { SPECS_DIR } from './tlc.ts';

const CHECKED_FILE = path.join(SPECS_DIR, 'checked.json');
/** Which TLC runs, how, and what is made of its output. */
const JUDGES = ['tlc.ts', 'tlc-output.ts', 'run-model.ts', 'coverage.ts', 'verdict.ts'];
const DIGEST_LENGTH = 16;
/** Of those that are noted one in so many runs anyway, another one each day. */
export const TURNS = 7;
const DAY_MS = 86_400_000;

/** The digest with which a model gave what it must, by its name. */
export type Checked = ReadonlyMap<string, string>;

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

export function todaysTurn(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) % TURNS;
}

/** Those that TLC has not seen as they are now, and of the others those whose turn it is. */
export function haveToRun(
  models: readonly Model[],
  checked: Checked,
  turn: number,
  digest: (model: Model) => string = digestOf,
): readonly Model[] {
  return models.filter((model, at) => checked.get(model.name) !== digest(model) || at % TURNS === turn);
}

export function loadChecked(): Checked {
  const noted = z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(CHECKED_FILE, 'utf8')));
  return new Map(Object.entries(noted));
}

/** By name, a model a line: two who note different ones seldom meet. */
export function textOfChecked(checked: Checked): string {
  const lines = [...checked.keys()]
    .sort()
    .map((name) => `  ${JSON.stringify(name)}: ${JSON.stringify(checked.get(name))}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

/** Those that gave what they must are noted, the others are not any more. */
export function noteChecked(
  outcomes: ReadonlyMap<Model, boolean>,
  models: readonly Model[],
  digests: ReadonlyMap<Model, string>,
): void {
  const checked = new Map(loadChecked());
  for (const [model, isAsExpected] of outcomes) {
    const digest = digests.get(model);
    if (isAsExpected && digest !== undefined) checked.set(model.name, digest);
    else checked.delete(model.name);
  }
  const names = new Set(models.map(({ name }) => name));
  for (const name of checked.keys()) if (!names.has(name)) checked.delete(name);
  writeFileSync(CHECKED_FILE, textOfChecked(checked));
}
