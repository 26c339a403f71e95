import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf, haveToRun, loadChecked, modulesOf, textOfChecked, todaysTurn, TURNS } from './checked.ts';
import { type Model, parseManifest } from './manifest.ts';
import { SPECS_DIR } from './tlc.ts';

const line = {
  name: 'MCX-tiny',
  module: 'MCX',
  cfg: 'MCX-tiny.cfg',
  kind: 'check',
  size: 'tiny',
  timeoutSeconds: 10,
  expect: { exitCode: 0, distinctStates: 7, violated: null },
  shows: 'x',
} as const;
const files = {
  'MCX.tla': 'EXTENDS X, Integers',
  'X.tla': 'Refined == INSTANCE Y WITH n <- 1',
  'Y.tla': 'Next == n',
  'Other.tla': 'EXTENDS X',
  'MCX-tiny.cfg': 'CONSTANT N = 2',
  'tlc.ts': 'starts it',
  'verdict.ts': 'judges it',
};

function parsed(model: object): Model {
  return parseManifest('x.json', JSON.stringify([model]))[0]!;
}

function digest(model: object, changed: Readonly<Record<string, string>> = {}): string {
  const texts: Readonly<Record<string, string>> = { ...files, ...changed };
  const read = (file: string): string | null => texts[file] ?? null;
  return digestOf(parsed(model), read, read);
}

describe('the digest of a model', () => {
  it('takes in each module that its own rests on, at any depth', () => {
    expect(modulesOf('MCX', (file) => files[file as keyof typeof files] ?? null)).toEqual(['MCX', 'X', 'Y']);
  });

  it.each(['MCX.tla', 'X.tla', 'Y.tla', 'MCX-tiny.cfg', 'tlc.ts', 'verdict.ts'])(
    'is another when %s is',
    (file) => {
      expect(digest(line, { [file]: 'something else' })).not.toBe(digest(line));
    },
  );

  it.each([
    { expect: { ...line.expect, distinctStates: 8 } },
    { args: ['-deadlock'] },
    { takes: ['Go'] },
    { sees: ['it'] },
    { heapMib: 64 },
  ])('is another with %j', (other) => {
    expect(digest({ ...line, ...other })).not.toBe(digest(line));
  });

  it('is the same whatever is said for people, and whatever other modules say', () => {
    expect(digest({ ...line, shows: 'y' }, { 'Other.tla': '' })).toBe(digest(line));
  });
});

describe('what has to run', () => {
  const models = Array.from({ length: 2 * TURNS }, (_, i) => parsed({ ...line, name: `MCX-${i}` }));
  const named = (model: Model): string => `digest of ${model.name}`;
  const checked = new Map(models.map((model) => [model.name, named(model)]));
  const run = (of: ReadonlyMap<string, string>, turn: number): readonly string[] =>
    haveToRun(models, of, turn, named).map(({ name }) => name);

  it('is what was not noted, or with another digest, whosever turn it is', () => {
    const others = new Map(checked).set('MCX-3', 'of before');
    others.delete('MCX-5');
    for (let turn = 0; turn < TURNS; turn++)
      expect(run(others, turn)).toEqual(expect.arrayContaining(['MCX-3', 'MCX-5']));
  });

  it('is everything in so many days one after the other', () => {
    const turns = Array.from({ length: TURNS }, (_, day) => todaysTurn(Date.UTC(2026, 1, 25 + day)));
    expect(turns.flatMap((turn) => run(checked, turn)).sort()).toEqual(models.map(({ name }) => name).sort());
  });
});

it('the file is as it is written', () => {
  const text = readFileSync(path.join(SPECS_DIR, 'checked.json'), 'utf8');
  expect(textOfChecked(loadChecked())).toBe(text);
});
