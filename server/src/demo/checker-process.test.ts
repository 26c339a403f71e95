import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Checker, startChecker } from './checker-process.ts';

const TOLD = JSON.stringify({
  checked: 7,
  behind: 0,
  behindMs: 0,
  skipped: 0,
  refused: null,
  ended: null,
});
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'barista-checker-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const start = (script: string, beginMs = 10_000): Checker =>
  startChecker({
    beginMs,
    command: { command: process.execPath, args: ['-e', script] },
    logFile: join(dir, 'check.log'),
    cluster: () => [],
  });

it('is watching once it has said something', async () => {
  const checker = start(`
    process.stdin.on('end', () => process.exit(0)).resume();
    setTimeout(() => console.log(${JSON.stringify(TOLD)}), 300);`);
  expect(checker.status().checked).toBe(0);
  await checker.watching;
  expect(checker.status()).toMatchObject({ checked: 7, ended: null });
  await checker.stop();
});

it.each([
  ['ends before it has said anything', 'process.exit(3)', /exit code 3/],
  ['says what cannot be read', 'console.log("half"); process.stdin.resume()', /cannot be read: half/],
])('keeps nobody waiting when it %s, and tells why nothing is judged', async (_what, script, why) => {
  const checker = start(script);
  await checker.watching;
  expect(checker.status().ended).toMatch(why);
  await checker.stop();
});

it('keeps nobody waiting when it hangs before it has said anything', async () => {
  const checker = start('setInterval(() => {}, 1000)', 300);
  await checker.watching;
  expect(checker.status().ended).toBe('the checker has not begun within 300 ms');
  await checker.stop();
});
