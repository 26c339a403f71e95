import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from './options.ts';
import { counts, directoryToWrite, fileToWrite, listed, readJson, UsageError } from './usage.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'barista-usage-'));
  writeFileSync(join(root, 'file'), 'not JSON');
  writeFileSync(join(root, 'other.json'), '{"judged":[]}');
  mkdirSync(join(root, 'directory'));
});
afterAll(() => rmSync(root, { recursive: true }));

describe('a command line', () => {
  it.each([
    ['compare', '--minutes=3'],
    ['budget', '--json=x'],
    ['log', '--quick'],
    ['compare', '--unheard-of'],
  ])('of %s is refused with %s', (...args) => {
    expect(() => parse(args)).toThrow(UsageError);
  });

  it('is taken with what the command heeds', () => {
    expect(parse(['compare', '--quick', '--json=x']).values).toMatchObject({ quick: true, json: 'x' });
    expect(parse(['memory', '--minutes=3', '--help']).values).toMatchObject({ minutes: '3', help: true });
  });

  it('may name a thing twice, which counts once', () => {
    expect(listed('only', 'a,b,a', ['a', 'b'])).toEqual(['a', 'b']);
    expect(counts('clients', '1, 16,1', 100)).toEqual([1, 16]);
  });
});

describe('files', () => {
  it('that cannot be written are refused before anything is measured', () => {
    expect(() => fileToWrite('json', join(root, 'nowhere', 'x.json'))).toThrow(
      /nowhere" cannot be written to/,
    );
    expect(() => fileToWrite('json', join(root, 'directory'))).toThrow(/is a directory/);
    expect(() => directoryToWrite('report', join(root, 'file', 'x'))).toThrow(/file" is no directory/);
  });

  it('that can be made are not', () => {
    expect(fileToWrite('json', join(root, 'new.json'))).toBe(join(root, 'new.json'));
    expect(directoryToWrite('report', join(root, 'new', 'newer'))).toBe(join(root, 'new', 'newer'));
  });

  it('that hold no figures are refused, and say so', () => {
    type Figures = { readonly judged: unknown; readonly versions: unknown };
    const read = (name: string): Figures =>
      readJson<Figures>('before', join(root, name), ['judged', 'versions']);
    expect(() => read('absent')).toThrow(/--before: .*absent" cannot be read/);
    expect(() => read('file')).toThrow(/cannot be read/);
    expect(() => read('other.json')).toThrow(/does not hold the figures of a comparison/);
  });
});
