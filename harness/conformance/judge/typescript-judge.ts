/** The evaluator of this repository (harness/tla) as the judge of what was recorded: it reads the specification itself, and needs nothing but Node.js. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type CompiledModel, compileModel } from '../../tla/explore.ts';
import { formatValue } from '../../tla/format-value.ts';
import { readConfig } from '../../tla/model-config.ts';
import { readLiteral } from '../../tla/read-literal.ts';
import type { Judge, RecordedModel } from './recorded-model.ts';

const texts = new Map<string, string>();

function textOf(spec: string): string {
  const known = texts.get(spec);
  if (known !== undefined) return known;
  const text = readFileSync(fileURLToPath(new URL(`../../../specs/${spec}.tla`, import.meta.url)), 'utf8');
  texts.set(spec, text);
  return text;
}

/** By all of their texts. A run of a trace is judged in pieces by one and the same model. */
const compiled = new Map<string, CompiledModel>();
const COMPILED_MAX = 16;

function modelOf({ module, text, data, specs, config }: RecordedModel): CompiledModel {
  const key = [module, text, data.module, data.name, config, ...specs].join('\n\n');
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const modules = new Map(specs.map((spec) => [spec, textOf(spec)]));
  modules.set(module, text);
  modules.set(data.module, `---- MODULE ${data.module} ----\n====\n`);
  const model = compileModel({ modules, main: module, data: [data.name], config: readConfig(config) });
  if (compiled.size >= COMPILED_MAX) compiled.clear();
  compiled.set(key, model);
  return model;
}

export const judgeByTypescript: Judge = async (recorded) => {
  const { data } = recorded;
  const printed = modelOf(recorded).run(new Map([[data.name, readLiteral(data.literal)]]));
  return printed.map((value) => `${formatValue(value)}\n`).join('');
};
