import { describe, expect, it } from 'vitest';
import {
  changed,
  consistencyIn,
  consistencyOf,
  defaultConsistency,
  type ReadConsistency,
  type ReadMode,
  stricter,
} from './read-consistency.ts';
import type { StartupMessage } from './startup.ts';

function startup(...parameters: [string, string][]): StartupMessage {
  return { kind: 'startup', version: 196_608, parameters, tunnelNonce: null };
}

describe('what a startup packet asks for', () => {
  it.each([
    ['-c barista.read_consistency=snapshot'],
    ['-cbarista.read_consistency=snapshot'],
    ['--barista.read-consistency=snapshot'],
    ['-c search_path=a\\ b -c barista.read_consistency=snapshot -c jit=off'],
    ['-c barista.read_consistency=bounded  -c BARISTA.read_consistency=Snapshot'],
  ])('is found in options: %s', (options) => {
    expect(consistencyOf(startup(['user', 'a'], ['options', options]))).toMatchObject({ mode: 'snapshot' });
  });

  it('is found as a parameter of its own, which goes before options', () => {
    const both = startup(
      ['barista.read_consistency', 'bounded'],
      ['options', '-c barista.read_consistency=snapshot'],
      ['barista.max_staleness', '1min'],
    );
    expect(consistencyOf(both)).toEqual({ mode: 'bounded', stalenessMaxMs: 60_000 });
  });

  it('is what it was before where nothing is asked for', () => {
    const others = startup(['options', '-c search_path=barista.read_consistency=snapshot -c']);
    expect(consistencyOf(others)).toEqual(defaultConsistency);
  });

  it('may be wrong', () => {
    const name = 'barista.read_consistency';
    expect(consistencyOf(startup([name, 'fast']))).toEqual({ name, value: 'fast' });
    expect(consistencyOf(startup(['barista.max_staleness', '0']))).toMatchObject({ value: '0' });
  });
});

describe('a statement', () => {
  it.each([
    ["SET barista.read_consistency = 'bounded'", 'bounded'],
    ['set session barista.read_consistency to snapshot ;', 'snapshot'],
    ['SET "barista"."read_consistency"=linearizable', 'linearizable'],
    ['RESET barista.read_consistency', null],
    ['SET barista.read_consistency TO DEFAULT', null],
  ])('of its own changes it: %s', (text, value) => {
    expect(consistencyIn(text)).toEqual({ kind: 'change', name: 'barista.read_consistency', value });
  });

  it.each([
    ["SET LOCAL barista.read_consistency = 'bounded'"],
    ["SELECT set_config('barista.read_consistency', 'bounded', false)"],
    ["BEGIN; SET barista.read_consistency = 'bounded'; COMMIT"],
    // PostgreSQL refuses these two.
    ['SET barista.max_staleness = 1h'],
    ['SET barista"."max_staleness = 1'],
  ])('that changes it in another way is not followed: %s', (text) => {
    expect(consistencyIn(text)).toEqual({ kind: 'other' });
  });

  it.each([
    ['SHOW barista.max_staleness'],
    ["SELECT current_setting('barista.read_consistency')"],
    ['SELECT 1'],
  ])('that changes nothing of it is none of its business: %s', (text) => {
    expect(consistencyIn(text)).toBeNull();
  });

  it('may reset everything', () => {
    expect([consistencyIn('DISCARD ALL;'), consistencyIn('reset all')]).toEqual([
      { kind: 'all' },
      { kind: 'all' },
    ]);
  });

  it.each([
    ['/* a pool */ DISCARD ALL'],
    ['SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL'],
    ['SELECT $$ discard all $$'],
  ])('may reset everything among other things, or not: %s', (text) => {
    expect(consistencyIn(text)).toEqual({ kind: 'perhapsAll' });
  });

  it('of the two ways to read has the one that asks for more', () => {
    const of = (mode: ReadMode, stalenessMaxMs: number): ReadConsistency => ({ mode, stalenessMaxMs });
    expect(stricter(of('snapshot', 5), of('bounded', 10))).toEqual(of('bounded', 5));
    expect(stricter(of('linearizable', 10), of('bounded', 5))).toEqual(of('linearizable', 5));
    expect(stricter(of('snapshot', 10), of('snapshot', 10))).toEqual(of('snapshot', 10));
  });
});

it.each([
  ['250', 250],
  ['250ms', 250],
  ['1.5 s', 1500],
  ['2min', 120_000],
  ['1h', 3_600_000],
])('a time is read as PostgreSQL does: %s', (value, ms) => {
  expect(changed(defaultConsistency, 'barista.max_staleness', value)).toMatchObject({ stalenessMaxMs: ms });
});
