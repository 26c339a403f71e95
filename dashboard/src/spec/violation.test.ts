import { expect, it } from 'vitest';
import { readCounterexamples } from '../../../scripts/specs/counterexample-files.ts';
import { violationOf } from './violation.ts';

const kept = new Map(readCounterexamples().map((one) => [one.name, one]));

it.each([
  ['BugLease-no-margin', 'state', 'NoStaleAnswer'],
  ['BugLease-leader-promises', 'step', 'LeaseKeepsOffice'],
])('what breaks %s is its last %s', (name, of, violated) => {
  expect(violationOf(kept.get(name)!)).toEqual({ of, names: [violated] });
});

it('a property that one step breaks is of the step, and nothing else is', () => {
  const ofSteps = [...kept.values()].filter((one) => violationOf(one).of === 'step');
  expect(ofSteps.map(({ violated }) => violated).sort()).toEqual([
    'AdoptsNoOther',
    'LeaseKeepsOffice',
    'PurgeLeavesNobody',
    'PurgeLeavesNobody',
    'SettledStays',
    'SettledStays',
  ]);
});

it('where TLC names no property it is one of those of the model, and of how it goes on', () => {
  const temporal = [...kept.values()].filter(({ violated }) => violated === 'Temporal');
  expect(temporal.length).toBeGreaterThan(3);
  for (const one of temporal) {
    const { of, names } = violationOf(one);
    expect(of).toBe('behaviour');
    expect(names.length).toBeGreaterThan(0);
    expect(names).not.toContain('Temporal');
  }
});
