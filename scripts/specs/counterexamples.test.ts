/** The counterexamples that are kept are of the specifications as they are now. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ListedCounterexample, statesOf } from '../../dashboard/src/spec/counterexample.ts';
import { headOf, readCounterexamples } from './counterexample-files.ts';
import { loadManifest } from './manifest.ts';
import { SPECS_DIR } from './tlc.ts';

const models = loadManifest();
const bugs = models.filter(({ kind }) => kind === 'bug');
const kept = readCounterexamples();
const command = 'npx tsx scripts/specs/counterexamples.ts --changed';

describe('the counterexamples that are kept', () => {
  it(`are of the models as they are now; if not: ${command}`, () => {
    const now = new Map(bugs.map((model) => [model.name, headOf(model, models)]));
    const stale = [...now].filter(([name, head]) => {
      const one = kept.find((other) => other.name === name);
      if (one === undefined) return true;
      const { steps: _steps, loop: _loop, ...known } = one;
      return JSON.stringify(known) !== JSON.stringify(head);
    });
    expect(
      stale.map(([name]) => name),
      `made of other texts than those of now: ${command}`,
    ).toEqual([]);
    expect(kept.map(({ name }) => name).sort()).toEqual([...now.keys()].sort());
  });

  it('are listed in the index, each with its states', () => {
    const text = readFileSync(path.join(SPECS_DIR, 'counterexamples', 'index.json'), 'utf8');
    const index = JSON.parse(text) as readonly ListedCounterexample[];
    const states = new Map(kept.map(({ name, steps }) => [name, steps.length]));
    expect(index.map(({ name, states: count }) => [name, count])).toEqual(
      bugs.map(({ name }) => [name, states.get(name)]),
    );
  });

  it('have values in every state that can be read, and a place in a module for every step', () => {
    for (const counterexample of kept) {
      const states = statesOf(counterexample);
      const names = [...states[0]!.keys()];
      for (const state of states) expect([...state.keys()]).toEqual(names);
      expect(counterexample.steps.slice(1).every(({ place }) => place !== null)).toBe(true);
    }
  });
});
