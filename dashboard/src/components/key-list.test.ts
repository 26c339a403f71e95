/** What people are told of keys is so. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { keyList, spellKey } from './key-list.ts';

const src = join(import.meta.dirname, '..');

/** Of what the views give to `useKeys`, and of the keys of time. */
function keysInSource(): ReadonlySet<string> {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  const texts = files.map((name) => readFileSync(join(src, name), 'utf8'));
  const given = texts.flatMap((text) =>
    [...text.matchAll(/(?:useKeys\(|: Keys \{\n {2}return )\{([\s\S]*?)\n? *\}/g)].map(([, body]) => body!),
  );
  const keys = given.flatMap((body) =>
    [...body.matchAll(/(?:^|[\n,]) *(?:'([^']+)'|(\w+)): /g)].map(([, quoted, plain]) => quoted ?? plain!),
  );
  return new Set(keys);
}

it('every key that a view heeds is in the list, and none twice', () => {
  const told = keyList.flatMap(({ keys }) => keys.flatMap((one) => one.keys));
  expect(new Set(told).size).toBe(told.length);
  const heeded = [...keysInSource()].filter((key) => key !== 'Shift+?');
  expect(heeded.length).toBeGreaterThan(8);
  expect(heeded.filter((key) => !told.includes(key))).toEqual([]);
});

it('keys are written as on a keyboard', () => {
  expect([' ', 'Shift+ArrowLeft', 'd', '+'].map(spellKey)).toEqual(['Space', 'Shift ←', 'd', '+']);
});
