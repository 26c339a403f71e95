import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { replicaColor } from './replica-name.tsx';

test('nine replicas, the most of a demo, have nine colours, and each is there', () => {
  const ids = Array.from({ length: 9 }, (_, index) => `r${index + 1}`);
  const colors = ids.map((id) => replicaColor(ids, id));
  expect(new Set(colors).size).toBe(9);
  const tokens = readFileSync(join(import.meta.dirname, '../styles/tokens.css'), 'utf8');
  const values = colors.map((color) => {
    const name = color.replace(/^var\((.*)\)$/, '$1');
    return new RegExp(`${name}: (.*);`).exec(tokens)?.[1];
  });
  expect(new Set(values).size).toBe(9);
  expect(values).not.toContain(undefined);
});
