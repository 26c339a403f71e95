import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { heapGrowth } from './heap-growth.ts';

it("is an option of this Node.js's V8, which would ignore another one", () => {
  const [name = ''] = heapGrowth.split('=');
  const options = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  expect(options).toMatch(new RegExp(`^ *${name}\\b`, 'm'));
});
