/** Naive beside ours: under the same seed and the same acts the world without the rule comes to harm, and the world as it is does not. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LoadStatus } from '../../../server/src/api/load.ts';
import { loadMutated } from '../../../harness/groups/mutant.ts';
import { plantedBugs } from '../../../harness/groups/planted.ts';
import { type Variant, variants } from '../../src/compare/variants.ts';
import { Simulator } from '../simulator.ts';

type Simulators = typeof Simulator;

/** After so long both are whole again, and everything was looked for once more. */
const settledMs = 6_000;

/** What was told of the load last, up to `toMs`. */
function loadAt(Simulated: Simulators, { setup }: Variant, toMs: number): Promise<LoadStatus> {
  return new Promise((resolve) => {
    let load: LoadStatus | null = null;
    const simulator = new Simulated((message) => {
      if (message.kind === 'frames') {
        for (const frame of message.frames) if (frame.type === 'load') load = frame.load;
        setImmediate(() => simulator.hear({ kind: 'taken' }));
      }
      if (message.kind === 'pace' && message.pace.mode === 'standing') setImmediate(() => resolve(load!));
    });
    simulator.hear({ kind: 'begin', setup, atMs: toMs });
  });
}

describe('without its rule, and as it is', () => {
  for (const variant of variants) {
    it(`harm and none: ${variant.title}`, async () => {
      const bug = plantedBugs.find(({ name }) => name === variant.bug)!;
      const entry = bug.name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      expect(existsSync(join(import.meta.dirname, `${entry}.ts`))).toBe(true);
      const mutated = await loadMutated<{ readonly Simulator: Simulators }>({
        entry: 'dashboard/sim/simulator.ts',
        name: `worlds-${bug.name}`,
        mutations: bug.mutations,
      });
      const { foundByMs, beats } = variant;
      const found = await loadAt(mutated.Simulator, variant, foundByMs);
      expect(found.lost).toBeGreaterThan(0);
      expect(found.findings?.find(({ kind }) => kind === 'lost')).toMatchObject({
        row: expect.any(Number) as number,
        replica: expect.stringMatching(/^r\d$/) as string,
      });
      const [first] = found.findings!.toSorted((one, other) => one.foundAtMs - other.foundAtMs);
      expect(first).toMatchObject(variant.foundFirst);
      expect(first!.acknowledgedAtMs).toBeLessThan(first!.foundAtMs);
      const last = Math.max(foundByMs, beats.at(-1)!.atMs) + settledMs;
      const ours = await loadAt(Simulator, variant, last);
      expect({ lost: ours.lost, stale: ours.stale, risen: ours.risen, findings: ours.findings }).toEqual({
        lost: 0,
        stale: 0,
        risen: 0,
        findings: [],
      });
      expect(ours.counts.acknowledged).toBeGreaterThan(100);
    });
  }
});
