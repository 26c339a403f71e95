import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { adminToken } from './admin-token.ts';
import { operatorTokens } from './operator-tokens.ts';

const clusterSecret = 'a secret of the cluster';
const own = adminToken(clusterSecret);
let dir = '';
let nowMs = 0;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'barista-token-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const file = () => join(dir, 'token');
function tokens(problems: string[] = [], tokenFile: string | undefined = file()): () => readonly string[] {
  const http = { tokenFile } as ReplicaConfig['http'];
  return operatorTokens(
    { clusterSecret, http },
    (problem) => problems.push(problem),
    () => nowMs,
  );
}

it('the token of the secret always counts, and that of the file as it is by now', () => {
  writeFileSync(file(), `${'a'.repeat(40)}\n`);
  const problems: string[] = [];
  const now = tokens(problems);
  expect(now()).toEqual([own, 'a'.repeat(40)]);
  writeFileSync(file(), 'b'.repeat(40));
  expect(now()).toEqual([own, 'a'.repeat(40)]);
  nowMs += 1001;
  expect(now()).toEqual([own, 'b'.repeat(40)]);
  rmSync(file());
  for (let n = 0; n < 3; n += 1) {
    nowMs += 1001;
    expect(now()).toEqual([own]);
  }
  expect(problems).toEqual([`cannot read ${file()} (ENOENT)`]);
});

it('a file that gives none is refused at the start', () => {
  expect(() => tokens()).toThrow(`http.tokenFile: cannot read ${file()} (ENOENT)`);
  writeFileSync(file(), 'short');
  expect(() => tokens()).toThrow(/holds fewer than 32 characters/);
  writeFileSync(file(), `${'a'.repeat(40)} ${'b'.repeat(40)}`);
  expect(() => tokens()).toThrow(/more than one word/);
});

it('without a file there is only that of the secret', () => {
  const http = {} as ReplicaConfig['http'];
  expect(operatorTokens({ clusterSecret, http }, () => {})()).toEqual([own]);
});
