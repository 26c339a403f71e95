import { expect, it } from 'vitest';
import { NothingToAlterError } from '../conformance/trace/nothing-to-alter.ts';
import { applicable, mutantVerdict } from './judge-traces.ts';

const none = { shows: 'one', alter: () => [] };
const failing = (error: Error) => ({
  shows: 'two',
  alter: () => {
    throw error;
  },
});

it('an alteration that a run has nothing for is left out, and one that fails is an error', () => {
  expect(applicable([none, failing(new NothingToAlterError('no such event'))])).toEqual([
    { shows: 'one', trace: [] },
  ]);
  expect(() => applicable([none, failing(new TypeError('a mistake'))])).toThrow('a mistake');
});

it('an alteration that is accepted is an anomaly, and so is a run that none applies to', () => {
  const [one, two] = [
    { shows: 'one', trace: [] },
    { shows: 'two', trace: [] },
  ];
  expect(mutantVerdict('consensus', [one, two], [true, true], 3)).toEqual({
    anomalies: [],
    told: ['consensus: 2 of 3 ways to alter it rejected, 1 do not apply to this run'],
  });
  expect(mutantVerdict('consensus', [one, two], [true, false], 3).anomalies).toEqual([
    { kind: 'mutant-accepted', summary: 'consensus: two', detail: [] },
  ]);
  expect(mutantVerdict('consensus', [], [], 3).anomalies.map(({ kind }) => kind)).toEqual([
    'nothing-altered',
  ]);
});
