/**
 * The counterexamples that are kept, in specs/counterexamples: one file for each module that the bugs are planted in (`BugLease.json`), and `index.json`, which names them all without their steps.
 *
 * Responsible for: their form, and what tells whether they are of the specifications as they are now. The form itself is the page's: dashboard/src/spec/counterexample.ts.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Counterexample, familyOf } from '../../dashboard/src/spec/counterexample.ts';
import { modulesBelow } from '../../dashboard/src/spec/modules-below.ts';
import { digestOf } from './checked.ts';
import type { Model } from './manifest.ts';
import { SPECS_DIR } from './tlc.ts';

const DIRECTORY = path.join(SPECS_DIR, 'counterexamples');

/** Of all that the behaviour rests on but TLC itself. */
export function madeFrom(model: Model): string {
  const files = new Set([model.cfg, ...[...moduleTexts(model.module).keys()].map((name) => `${name}.tla`)]);
  return digestOf(
    model,
    (file) => (files.has(file) ? readFileSync(path.join(SPECS_DIR, file), 'utf8') : null),
    () => '',
  );
}

/** The module, and those of ours that it extends or puts in, at any depth. */
export function moduleTexts(module: string): ReadonlyMap<string, string> {
  const below = modulesBelow(module);
  let asked = below.next();
  while (asked.done !== true) {
    const file = path.join(SPECS_DIR, `${asked.value}.tla`);
    asked = below.next(existsSync(file) ? readFileSync(file, 'utf8') : null);
  }
  return asked.value;
}

function configOf({ cfg }: Model): string {
  return readFileSync(path.join(SPECS_DIR, cfg), 'utf8');
}

const PUT_IN = /^\s*(\w+)\s*<-\s*(\w+)/gm;

function putIn(model: Model): readonly { rule: string; by: string }[] {
  return [...configOf(model).matchAll(PUT_IN)].map(([, rule, by]) => ({ rule: rule!, by: by! }));
}

/** What a model puts in the place of what, and no model that is true does. */
function droppedBy(model: Model, models: readonly Model[]): Counterexample['dropped'] {
  const harmless = new Set(
    models
      .filter(({ kind }) => kind === 'check' || kind === 'simulation')
      .flatMap(putIn)
      .map(({ rule, by }) => `${rule} ${by}`),
  );
  return putIn(model).filter(({ rule, by }) => !harmless.has(`${rule} ${by}`));
}

export function readCounterexamples(): readonly Counterexample[] {
  if (!existsSync(DIRECTORY)) return [];
  return readdirSync(DIRECTORY)
    .filter((file) => file.endsWith('.json') && file !== 'index.json')
    .flatMap((file) => JSON.parse(readFileSync(path.join(DIRECTORY, file), 'utf8')) as Counterexample[]);
}

/** What is known of a model without running it. */
export function headOf(model: Model, models: readonly Model[]): Omit<Counterexample, 'steps' | 'loop'> {
  const { name, module, cfg, shows, expect } = model;
  const violated = expect.violated!;
  const dropped = droppedBy(model, models);
  return { name, module, cfg, shows, violated, madeFrom: madeFrom(model), config: configOf(model), dropped };
}

/** Those of bug models, in their order; what is of no model any more goes. */
export function writeCounterexamples(
  models: readonly Model[],
  made: ReadonlyMap<string, Counterexample>,
): void {
  mkdirSync(DIRECTORY, { recursive: true });
  const kept = models.flatMap((model) => {
    const one = made.get(model.name);
    return one === undefined || model.kind !== 'bug'
      ? []
      : [{ ...headOf(model, models), madeFrom: one.madeFrom, loop: one.loop, steps: one.steps }];
  });
  const families = new Map<string, Counterexample[]>();
  for (const one of kept)
    families.set(familyOf(one.name), [...(families.get(familyOf(one.name)) ?? []), one]);
  for (const file of readdirSync(DIRECTORY))
    if (!families.has(file.replace('.json', ''))) rmSync(path.join(DIRECTORY, file));
  for (const [family, all] of families) write(family, all.map(lineOf));
  const index = kept.map(({ name, module, cfg, shows, violated, steps }) =>
    JSON.stringify({ name, module, cfg, shows, violated, states: steps.length }),
  );
  write('index', index);
}

/** A step a line: a difference shows where it is. */
function lineOf({ steps, loop, ...head }: Counterexample): string {
  const start = JSON.stringify(head).slice(0, -1);
  const lines = steps.map((step) => JSON.stringify(step)).join(',\n');
  return `${start},"loop":${JSON.stringify(loop)},"steps":[\n${lines}\n]}`;
}

function write(name: string, lines: readonly string[]): void {
  writeFileSync(path.join(DIRECTORY, `${name}.json`), `[\n${lines.join(',\n')}\n]\n`);
}
