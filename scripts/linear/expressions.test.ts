/** All regular expressions of the server are linear: none of them can be made to stand still by a text. */
import { expect, it } from 'vitest';
import { superLinear } from './judge.ts';
import { expressionsIn, serverSources } from './sources.ts';

const sources = serverSources();

it('no regular expression of the server costs more than linear work', () => {
  const found = sources.flatMap((source) =>
    expressionsIn(source).literals.flatMap((expression) => {
      const why = superLinear(expression);
      return why === null ? [] : [`${source.name}: ${expression}: ${why}`];
    }),
  );
  expect(found).toEqual([]);
});

it('nor does one that is put together', async () => {
  const found: string[] = [];
  for (const source of sources) {
    const { made } = expressionsIn(source);
    if (made === 0) continue;
    const expressions = await madeBy(source.name);
    if (expressions.length < made) found.push(`${source.name}: makes one later than when it is loaded`);
    for (const expression of expressions) {
      const why = superLinear(expression);
      if (why !== null) found.push(`${source.name}: ${expression}: ${why}`);
    }
  }
  expect(found).toEqual([]);
});

/** While the module is loaded once more, alone. */
async function madeBy(name: string): Promise<RegExp[]> {
  const Plain = RegExp;
  const made: RegExp[] = [];
  globalThis.RegExp = new Proxy(Plain, {
    construct(target, values: [string, string?]) {
      const expression = new target(...values);
      made.push(expression);
      return expression;
    },
  });
  try {
    await import(/* @vite-ignore */ `../../server/src/${name}?expressions`);
  } finally {
    globalThis.RegExp = Plain;
  }
  return made;
}

it.each([
  /[a-z_][\w$]*(?:\.[a-z_][\w$]*)+/gi,
  /^\s*(?:commit|end)\s*;?\s*$/i,
  /\s+$/,
  /\/\*[\s\S]*?\*\//g,
  /(?:a|b|ab)*c/,
  /^(?:a*)*$/,
  /^(?:(?:gmt|[a-z]{1,3}t)[\s,]+)*now$/,
  /x\s*(?=\s*y)/,
  /(?<=a{1,1000})b/,
  /(a)\1/,
  /a{0,1000}b/,
  /\w+\b[^;]*$/,
])('is found to cost more: %s', (expression) => {
  expect(superLinear(expression)).not.toBeNull();
});

it.each([
  /["\s]/g,
  /^\s*(?:commit|end)(?:\s*;)?\s*$/i,
  /--[^\n\r]*/g,
  /'[^']*'/g,
  /\bwith\s+hold\b/i,
  /^(?:[a-z]+,)*$/,
  /\s{0,100}(?:set|reset)\b/iy,
  /set_config(?!\s*\([^()]*,\s*true\s*\))/,
  /[\p{L}]+/u,
  /^(?<year>\d{4})-(\d\d)$/,
])('and this to be linear: %s', (expression) => {
  expect(superLinear(expression)).toBeNull();
});
