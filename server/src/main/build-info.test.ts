import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { buildInfo } from './build-info.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'barista-build-'));
  writeFileSync(join(root, 'package.json'), '{ "version": "1.2.3" }');
  mkdirSync(join(root, 'server', 'dist'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

it('the commit is the one that was written down at the build', () => {
  const commit = 'a'.repeat(40);
  writeFileSync(join(root, 'server', 'dist', 'commit'), `${commit}-dirty\n`);
  expect(buildInfo(root)).toEqual({
    version: '1.2.3',
    commit: `${commit}-dirty`,
    node: process.versions.node,
  });
});

it.each(['', 'main', `${'a'.repeat(40)}"} 1\n`, '<html>'])('a commit that is none is unknown: %j', (text) => {
  writeFileSync(join(root, 'server', 'dist', 'commit'), text);
  expect(buildInfo(root).commit).toBe('unknown');
});

it('so is that of a build outside of a checkout', () => {
  expect(buildInfo(root).commit).toBe('unknown');
});

it('the version is that of this package', () => {
  expect(buildInfo().version).toMatch(/^\d+\.\d+\.\d+/);
});
