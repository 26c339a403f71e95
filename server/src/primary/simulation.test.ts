import { describe, expect, it } from 'vitest';
import type { Slot } from '../multipaxos/types/names.ts';
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
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'loses nothing that majority, semi or sync acknowledged, and goes on when the world is well (seed %s)',
    (seed) => {
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
    },
  );
});

describe('two replicas by the paper’s rule', () => {
  const run = (seed: number, dropSilentCopies: boolean): ReturnType<typeof lostByLevel> => {
    const config = { promoteAloneRiskingSplitBrain: true, dropSilentCopies };
    return lostByLevel(runGroup({ seed, replicas: 2, levels: all, config }));
  };
  const seeds = Array.from({ length: 40 }, (_, i) => i + 1);

  it('lose what semi and sync acknowledged, where each goes on alone', () => {
    const lost = seeds.map((seed) => run(seed, true));
    expect(lost.reduce((sum, { semi, sync }) => sum + semi + sync, 0)).toBeGreaterThan(0);
  });

  it('lose none of it where each waits for the other', () => {
    for (const seed of seeds)
      expect({ seed, ...run(seed, false), async: 0 }).toMatchObject({ seed, majority: 0, semi: 0, sync: 0 });
  });
});

/** What a replica does wrong, by what goes out of it; found by a run with one of these seeds. */
const planted: Readonly<Record<string, NonNullable<SimulationOptions['plant']>>> = {
  'a copy tells of one entry more than it has': (_, __, effect) =>
    effect.kind === 'send' && effect.message.kind === 'Received' && effect.message.received > 0
      ? { ...effect, message: { ...effect.message, received: (effect.message.received + 1) as Slot } }
      : effect,
  'a candidate tells of a longer log than it has': (_, __, effect) =>
    effect.kind === 'send' && effect.message.kind === 'AskWord'
      ? { ...effect, message: { ...effect.message, lastSlot: (effect.message.lastSlot + 50) as Slot } }
      : effect,
  'who refuses says yes': (_, __, effect) =>
    effect.kind === 'send' && effect.message.kind === 'Refuse' && effect.message.hasMore
      ? { ...effect, message: { kind: 'Word', group: effect.message.group, epoch: effect.message.epoch } }
      : effect,
  'operations leave one out': (group, _, effect) =>
    effect.kind === 'send' && effect.message.kind === 'Operations' && group.nowMs % 50 === 0
      ? { ...effect, message: { ...effect.message, entries: effect.message.entries.slice(1) } }
      : effect,
  'clients hear that all is well when nobody knows': (_, __, effect) =>
    effect.kind === 'unacknowledged'
      ? { kind: 'acknowledged', proposal: effect.proposal, slot: effect.slot, level: 'semi' }
      : effect,
};

describe('a planted bug is found', () => {
  it.each(Object.keys(planted))('%s', (name) => {
    const isFound = (seed: number, replicas: number): boolean => {
      try {
        const group = runGroup({ seed, replicas, levels: all, plant: planted[name]! });
        const { majority, semi, sync } = lostByLevel(group);
        return majority + semi + sync > 0;
      } catch {
        return true;
      }
    };
    expect(
      [3, 5].some((replicas) =>
        Array.from({ length: 15 }, (_, i) => i + 1).some((seed) => isFound(seed, replicas)),
      ),
    ).toBe(true);
  });
});

describe('what the simulations saw', () => {
  it('is something at every level, lost operations at async, and copies of databases', () => {
    if (process.env.SHOW) console.log(Object.fromEntries(totals));
    for (const name of [...all, 'lost at async', 'transfers'])
      expect([name, (totals.get(name) ?? 0) > 0]).toEqual([name, true]);
  });
});
