import { describe, expect, it } from 'vitest';
import { divergences, lostByLevel } from './testing/checkers.ts';
import { SimulatedGroup, type SimulationOptions } from './testing/simulated-group.ts';

const all = ['async', 'majority', 'semi', 'sync'] as const;

/** Faults, then none; checked all along. */
function runGroup(options: SimulationOptions): SimulatedGroup {
  const group = new SimulatedGroup(options);
  for (let until = 100; until <= 4000; until += 100) {
    group.run(until);
    const wrong = divergences(group);
    if (wrong.length > 0) throw new Error(`seed ${options.seed}: ${wrong.join('; ')}`);
    const longest = Math.max(
      0,
      ...[...group.unanswered.values()].map(({ sinceMs }) => group.nowMs - sinceMs),
    );
    if (longest > 450) throw new Error(`seed ${options.seed}: a client waits for ${longest} ms`);
  }
  return group;
}

function heal(group: SimulatedGroup): void {
  group.heal();
  group.run(group.nowMs + 4000);
}

const totals = new Map<string, number>();

describe.each([2, 3, 4, 5])('a group of %s in a bad world', (replicas) => {
  it('loses nothing that majority, semi or sync acknowledged, and goes on when the world is well', () => {
    for (let seed = 1; seed <= 12; seed += 1) {
      const group = runGroup({ seed: seed * 100 + replicas, replicas, levels: all });
      heal(group);
      const lost = lostByLevel(group);
      expect({ seed, ...lost, async: 0 }).toEqual({ seed, none: 0, async: 0, majority: 0, semi: 0, sync: 0 });
      for (const level of all)
        totals.set(
          level,
          (totals.get(level) ?? 0) + group.acknowledged.filter((each) => each.level === level).length,
        );
      totals.set('lost at async', (totals.get('lost at async') ?? 0) + lost.async);
      totals.set('transfers', (totals.get('transfers') ?? 0) + group.transfers);
      const before = group.acknowledged.length;
      group.run(group.nowMs + 500);
      expect({ seed, goesOn: group.acknowledged.length > before }).toEqual({ seed, goesOn: true });
      group.isQuiet = true;
      group.run(group.nowMs + 1500);
      const roles = group.replicas.map(({ state }) => state?.role ?? '').toSorted();
      expect({ seed, roles }).toEqual({
        seed,
        roles: ['primary', ...Array.from({ length: replicas - 1 }, () => 'standby')],
      });
      expect({
        seed,
        databases: new Set(group.replicas.map(({ database }) => database.join(' '))).size,
      }).toEqual({ seed, databases: 1 });
    }
  });
});

describe('what the simulations saw', () => {
  it('is something at every level, lost operations at async, and copies of databases', () => {
    if (process.env.SHOW) console.log(Object.fromEntries(totals));
    for (const name of [...all, 'lost at async', 'transfers'])
      expect([name, (totals.get(name) ?? 0) > 0]).toEqual([name, true]);
  });
});
