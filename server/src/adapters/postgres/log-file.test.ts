import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type LogFile, openLogFile } from './log-file.ts';

let root = '';
let path = '';
let log: LogFile;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'barista-log-'));
  mkdirSync(join(root, 'postgres'));
  path = join(root, 'postgres', 'postgres.log');
  log = openLogFile(path, 100);
});
afterEach(() => {
  log.close();
  rmSync(root, { recursive: true });
});

const line = (text: string): Buffer => Buffer.from(`${text.padEnd(39, '.')}\n`);

it('takes two files of bounded size on the disk, and goes on where an earlier life ended', () => {
  log.write(line('one'));
  log.close();
  log = openLogFile(path, 100);
  for (const text of ['two', 'three', 'four', 'five', 'six']) log.write(line(text));
  const kept = [`${path}.1`, path].map((file) => readFileSync(file, 'utf8'));
  expect(kept.map((text) => text.split('\n').filter((each) => each !== '').length)).toEqual([2, 2]);
  expect(kept.join('')).toBe(['three', 'four', 'five', 'six'].map((text) => String(line(text))).join(''));
});

it('tells whoever watches, and remembers the last lines', () => {
  const seen: string[] = [];
  const stop = log.watch((text) => seen.push(text));
  log.write(line('one'));
  stop();
  for (let n = 2; n <= 20; n += 1) log.write(line(`line ${n}`));
  expect(seen).toEqual([String(line('one'))]);
  expect(log.tail().split('\n')).toHaveLength(12);
  expect(log.tail()).toMatch(/^line 9\./);
});

it('goes on in a file of its own name when its directory was replaced', () => {
  log.write(line('one'));
  renameSync(join(root, 'postgres'), join(root, 'postgres.lost'));
  log.write(line('two'));
  mkdirSync(join(root, 'postgres'));
  expect(existsSync(path)).toBe(false);
  log.reopen();
  log.write(line('three'));
  expect(readFileSync(path, 'utf8')).toBe(String(line('three')));
  expect(readFileSync(join(root, 'postgres.lost', 'postgres.log'), 'utf8')).toContain('two');
});

it('is dropped where it cannot be written, and whoever watches is told all the same', () => {
  rmSync(join(root, 'postgres'), { recursive: true });
  log.reopen();
  let seen = '';
  log.watch((text) => {
    seen += text;
  });
  for (let n = 1; n <= 5; n += 1) log.write(line(String(n)));
  expect(seen.split('\n')).toHaveLength(6);
});
