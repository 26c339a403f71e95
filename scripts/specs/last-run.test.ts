import { expect, it } from 'vitest';
import { inTurn, withLastRun } from './last-run.ts';
import { parseManifest, type Model } from './manifest.ts';

const lastRun = { date: '2026-11-23', seconds: 38, workers: 2 };

function model(name: string, extra: object = {}): object {
  return {
    name,
    module: 'M',
    cfg: 'M.cfg',
    kind: 'check',
    size: 'nightly',
    timeoutSeconds: 1,
    expect: { exitCode: 0, distinctStates: 1, violated: null },
    ...extra,
    shows: 'x',
  };
}

function namesInTurn(...models: readonly object[]): readonly string[] {
  return inTurn(parseManifest('x.json', JSON.stringify(models))).map(({ name }: Model) => name);
}

it('the nightly models come in turn, those that never ran first', () => {
  const ran = (date: string): object => ({ lastRun: { ...lastRun, date } });
  expect(
    namesInTurn(
      model('late', ran('2026-11-23')),
      model('never'),
      model('small', { size: 'small' }),
      model('early', ran('2026-10-01')),
    ),
  ).toEqual(['never', 'early', 'late']);
});

it('a run is noted with its model, in place of the one before, and nothing else changes', () => {
  const text = JSON.stringify([model('A'), model('B'), model('C')], null, 2);
  const once = withLastRun(text, 'B', { ...lastRun, date: '2026-01-01', seconds: 7 })!;
  const twice = withLastRun(once, 'B', lastRun)!;
  expect(JSON.parse(twice)).toEqual([model('A'), model('B', { lastRun }), model('C')]);
  expect(twice.replace(/\n {4}"lastRun".*/, '')).toBe(text);
  expect(withLastRun(text, 'D', lastRun)).toBeNull();
});
