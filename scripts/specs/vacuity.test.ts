import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadManifest, type Model, parseManifest } from './manifest.ts';
import { SPECS_DIR } from './tlc.ts';
import { actionsOf, type Antecedents, idleActions, idleInvariants } from './vacuity.ts';

function read(file: string): string {
  return readFileSync(path.join(SPECS_DIR, file), 'utf8');
}

const CHECK = {
  name: 'MCX',
  module: 'MCX',
  cfg: 'MCX.cfg',
  kind: 'check',
  size: 'small',
  timeoutSeconds: 10,
  expect: { exitCode: 0, distinctStates: 7, violated: null },
  shows: 'x',
} as const;

function model(fields: object): Model {
  const [parsed] = parseManifest('x.json', JSON.stringify([{ ...CHECK, ...fields }]));
  if (parsed === undefined) throw new Error('no model');
  return parsed;
}

const SPEC = [
  'Go(r) ==',
  "  /\\ x' = x + 1",
  "Ways(r) == {r}   \\* of r's own",
  'Halt == Stop(1)',
  'Stop(r) ==',
  "  x' = 0",
  '(* Whoever goes, stops. *)',
  'Next == (\\E r \\in Ways(1) : Go(r)) \\/ Halt',
  '-----',
  '',
].join('\n');

describe('actions', () => {
  it('are what Next names and what changes something, be it through another', () => {
    expect(actionsOf(SPEC)).toEqual(['Go', 'Halt']);
  });

  it('are idle unless an exhaustive model of every run takes them', () => {
    expect(idleActions(SPEC, [model({ takes: ['Go'] })])).toEqual(['Halt']);
    expect(idleActions(SPEC, [model({ takes: ['Go', 'Halt'], size: 'nightly' })])).toEqual(['Go', 'Halt']);
  });
});

describe('invariants', () => {
  const cfg = 'SPECIFICATION Spec\nINVARIANTS\n  TypeOK\n  Kept   \\* why\n';

  it('are idle unless a model that checks them sees their condition met', () => {
    expect(idleInvariants([{ model: model({}), cfg }], {})).toEqual(['Kept']);
    expect(idleInvariants([{ model: model({ sees: ['Kept: two lead'] }), cfg }], {})).toEqual([]);
    expect(idleInvariants([{ model: model({ sees: ['two lead'] }), cfg }], { Kept: 'two lead' })).toEqual([]);
  });

  it('are not spoken for by a model that does not check them', () => {
    const other = { model: model({ sees: ['Kept: two lead'] }), cfg: 'INVARIANT TypeOK\n' };
    expect(idleInvariants([{ model: model({}), cfg }, other], {})).toEqual(['Kept']);
  });
});

describe('the specifications of this repository', () => {
  const models = loadManifest();
  /** Which models include a module: by what their own modules extend. */
  const includes = (name: string, wanted: string): boolean => {
    if (name === wanted) return true;
    const file = `${name}.tla`;
    if (!readdirSync(SPECS_DIR).includes(file)) return false;
    const names = /^EXTENDS(.*)$/m.exec(read(file))?.[1] ?? '';
    return names.split(',').some((each) => includes(each.trim(), wanted));
  };

  it.each([
    'MultiPaxos',
    'OrderedApply',
    'Recovery',
    'Lease',
    'FollowerReads',
    'Paxos',
    'PrimaryCopies',
    'RequestOutcomes',
  ])('have every action of %s taken', (name) => {
    expect(
      idleActions(
        read(`${name}.tla`),
        models.filter(({ module }) => includes(module, name)),
      ),
    ).toEqual([]);
  });

  it('have the condition of every invariant met', () => {
    const antecedents = JSON.parse(read('antecedents.json')) as Antecedents;
    const checked = models.map((each) => ({ model: each, cfg: read(each.cfg) }));
    expect(idleInvariants(checked, antecedents)).toEqual([]);
  });
});
