/** The evaluator of this repository as the judge, over the specifications of this checkout: it needs nothing but Node.js. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { judgeOver } from './evaluator-judge.ts';

const texts = new Map<string, string>();

function textOf(spec: string): string {
  const known = texts.get(spec);
  if (known !== undefined) return known;
  const text = readFileSync(fileURLToPath(new URL(`../../../specs/${spec}.tla`, import.meta.url)), 'utf8');
  texts.set(spec, text);
  return text;
}

export const judgeByTypescript = judgeOver(textOf);
