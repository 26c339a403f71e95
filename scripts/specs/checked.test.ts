import { describe, expect, it } from 'vitest';
import { digestOf, haveToRun, modulesOf } from './checked.ts';
import { type Model, parseManifest } from './manifest.ts';

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

it('what was not noted has to run, and what was noted with another digest', () => {
  const models = Array.from({ length: 6 }, (_, i) => parsed({ ...line, name: `MCX-${i}` }));
  const named = (model: Model): string => `digest of ${model.name}`;
  const proven = new Map(models.map((model) => [`model ${model.name}`, named(model)]));
  expect(haveToRun(models, proven, named)).toEqual([]);
  proven.set('model MCX-3', 'of before').delete('model MCX-5');
  expect(haveToRun(models, proven, named).map(({ name }) => name)).toEqual(['MCX-3', 'MCX-5']);
});
