import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadManifest, type Model, parseManifest, parsePart, partOf, selectModels } from './manifest.ts';
import { SPECS_DIR } from './tlc.ts';
import { differences, formatTable } from './verdict.ts';

const CHECK = {
  name: 'MCX-tiny',
  module: 'MCX',
  cfg: 'MCX-tiny.cfg',
  kind: 'check',
  size: 'tiny',
  timeoutSeconds: 10,
  expect: { exitCode: 0, distinctStates: 7, violated: null },
  shows: 'x',
} as const;
const BUG = {
  ...CHECK,
  name: 'BugX',
  kind: 'bug',
  size: 'small',
  expect: { exitCode: 12, distinctStates: null, violated: 'Agreement' },
} as const;

function parse(...models: readonly object[]): readonly Model[] {
  return parseManifest('x.json', JSON.stringify(models));
}

function parseOne(model: object): Model {
  const [parsed] = parse(model);
  if (parsed === undefined) throw new Error('no model');
  return parsed;
}

describe('the manifest', () => {
  it('names the file and the field that is wrong', () => {
    expect(() => parse({ ...CHECK, size: 'huge' })).toThrow(/x\.json.*\n.*size/s);
  });

  it('takes no bug model that is expected to hold', () => {
    expect(() => parse({ ...BUG, expect: CHECK.expect })).toThrow('a bug model cannot expect exit code 0');
  });

  it('takes no bug model that does not say what is violated', () => {
    expect(() => parse({ ...BUG, expect: { ...BUG.expect, violated: null } })).toThrow(
      'must name what is violated',
    );
  });

  it('takes no bug model that says which actions it takes', () => {
    expect(() => parse({ ...BUG, takes: ['Go'] })).toThrow('cannot say which actions it takes');
  });

  it('takes no check without a state count', () => {
    expect(() => parse({ ...CHECK, expect: { ...CHECK.expect, distinctStates: null } })).toThrow(
      'state count',
    );
  });

  it('of this repository is valid, and every file that it names is there', () => {
    const missing = loadManifest().filter(
      ({ module, cfg }) =>
        !existsSync(path.join(SPECS_DIR, `${module}.tla`)) || !existsSync(path.join(SPECS_DIR, cfg)),
    );
    expect(missing).toEqual([]);
  });

  it('is what the README says of how many states a model has', () => {
    const readme = readFileSync(path.join(SPECS_DIR, 'README.md'), 'utf8');
    const told = new Map(
      [...readme.matchAll(/^\| (\S+) \| \w+ \| ([\d,]+) \|/gm)].map(([, name, count]) => [
        name,
        Number(count!.replaceAll(',', '')),
      ]),
    );
    const counted = loadManifest().filter(({ name }) => told.has(name));
    expect(counted.length).toBeGreaterThan(50);
    for (const { name, expect: must } of counted)
      expect([name, told.get(name)]).toEqual([name, must.distinctStates]);
  });
});

describe('choosing models', () => {
  const nightly = { ...CHECK, name: 'MCX-nightly', size: 'nightly' };
  const models = parse(CHECK, BUG, nightly);
  const names = (choice: Parameters<typeof selectModels>[1]): string[] =>
    selectModels(models, choice).map(({ name }) => name);

  it('leaves the nightly ones out', () => {
    expect(names({ size: 'all-but-nightly', only: [], bugs: false })).toEqual(['MCX-tiny', 'BugX']);
  });

  it('goes by size', () => {
    expect(names({ size: 'small', only: [], bugs: false })).toEqual(['BugX']);
  });

  it('goes by the beginning of a name whatever the size', () => {
    expect(names({ size: 'tiny', only: ['MCX'], bugs: false })).toEqual(['MCX-tiny', 'MCX-nightly']);
  });

  it('takes a full name for that model alone, though others begin so', () => {
    const longer = parse(CHECK, { ...CHECK, name: 'MCX-tiny-crash' });
    const chosen = selectModels(longer, { size: 'tiny', only: ['MCX-tiny'], bugs: false });
    expect(chosen.map(({ name }) => name)).toEqual(['MCX-tiny']);
  });

  it('can take the bug models alone', () => {
    expect(names({ size: 'all', only: [], bugs: true })).toEqual(['BugX']);
  });
});

describe('the verdict', () => {
  const check = parseOne(CHECK);
  const bug = parseOne(BUG);
  const nothing: ReadonlySet<string> = new Set();
  const good = { exitCode: 0, distinctStates: 7, violated: null, seconds: 1, taken: nothing, seen: nothing };

  it('is good when everything is as expected', () => {
    expect(differences(check, good)).toEqual([]);
  });

  it('minds one state too few', () => {
    expect(differences(check, { ...good, distinctStates: 6 })).toEqual(['6 distinct states, expected 7']);
  });

  it('minds an action that was never taken, and what was never seen', () => {
    const model = parseOne({ ...CHECK, takes: ['Go', 'Stop'], sees: ['two leaders', 'a crash'] });
    const observed = { ...good, taken: new Set(['Go']), seen: new Set(['a crash']) };
    expect(differences(model, observed)).toEqual(['never took Stop', 'never saw that two leaders']);
  });

  it('minds a bug that was not found', () => {
    expect(differences(bug, good)).toEqual([
      'exit code 0, expected 12',
      'violated nothing, expected Agreement',
    ]);
  });

  it('minds a bug that breaks something else', () => {
    expect(differences(bug, { ...good, exitCode: 12, violated: 'TypeOK' })).toEqual([
      'violated TypeOK, expected Agreement',
    ]);
  });

  it('minds a run that was stopped', () => {
    expect(differences(check, { ...good, exitCode: null })).toEqual(['stopped after 10 s']);
  });

  it('is a table with a line for each model', () => {
    const table = formatTable([
      { model: check, observed: good, differences: [] },
      { model: bug, observed: { ...good, distinctStates: null }, differences: ['exit code 0, expected 12'] },
    ]);
    expect(table.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['model', 'expected', 'result', 'distinct states', 'seconds'],
      ['MCX-tiny', 'holds', 'as expected', '7', '1.0'],
      ['BugX', 'violates Agreement', 'FAILED: exit code 0, expected 12', '-', '1.0'],
    ]);
  });
});

describe('a part of the models', () => {
  it('together with the others has each once', () => {
    const models = loadManifest();
    const parts = [1, 2, 3].map((index) => partOf(models, { index, parts: 3 }));
    expect(parts.flat().toSorted((a, b) => models.indexOf(a) - models.indexOf(b))).toEqual(models);
    expect(Math.max(...parts.map(({ length }) => length)) * 3).toBeLessThan(models.length + 3);
  });

  it('is one of those that there are', () => {
    expect(parsePart('2/6')).toEqual({ index: 2, parts: 6 });
    for (const text of ['0/6', '7/6', '1', '1/0', '-1/2', '1/2/3', 'a/b', ''])
      expect(parsePart(text)).toBeNull();
  });
});
