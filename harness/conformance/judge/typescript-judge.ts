/** The evaluator of this repository (harness/tla) as the judge of what was recorded: it reads the specification itself, and needs nothing but Node.js. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { explore } from '../../tla/explore.ts';
import { formatValue } from '../../tla/format-value.ts';
import { readConfig } from '../../tla/model-config.ts';
import { readLiteral } from '../../tla/read-literal.ts';
import type { Judge } from './recorded-model.ts';

const texts = new Map<string, string>();

function textOf(spec: string): string {
  const known = texts.get(spec);
  if (known !== undefined) return known;
  const text = readFileSync(fileURLToPath(new URL(`../../../specs/${spec}.tla`, import.meta.url)), 'utf8');
  texts.set(spec, text);
  return text;
}

export const judgeByTypescript: Judge = async ({ module, text, data, specs, config }) => {
  const modules = new Map(specs.map((spec) => [spec, textOf(spec)]));
  modules.set(module, text);
  modules.set(data.module, `---- MODULE ${data.module} ----\n====\n`);
  const values = new Map([[data.name, readLiteral(data.literal)]]);
  const printed = explore({ modules, main: module, values, config: readConfig(config) });
  return printed.map((value) => `${formatValue(value)}\n`).join('');
};
