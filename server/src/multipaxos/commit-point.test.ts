import { describe, expect, it } from 'vitest';
import { newServingLeader, type OneCore, r2 } from './testing/one-core.ts';
import type { CommitPointMode } from './types/effects.ts';

function leaderWith(commitPoint: CommitPointMode): OneCore {
  const core = newServingLeader({ commitPoint });
  core.fsync();
  core.effects = [];
  return core;
}

/** One proposal, voted for by itself and another. */
function choose(core: OneCore, name: string): number {
  core.propose(name);
  core.fsync();
  const slot = core.state.leadership!.nextSlot - 1;
  core.effects = [];
  core.accepted(r2, slot, slot);
  return slot;
}

const hint = (slot: number) => ({ kind: 'commitPoint', slot });

describe('the commit point of a leader', () => {
  it('goes along with what comes next, by default', () => {
    const core = leaderWith({ kind: 'piggyback' });
    choose(core, 'a');
    expect(core.records()).toEqual([]);
    expect(core.sentKinds()).toEqual([]);
  });

  it('is written and told in the step in which it moves: synchronous', () => {
    const core = leaderWith({ kind: 'synchronous' });
    const slot = choose(core, 'a');
    expect(core.records()).toEqual([hint(slot)]);
    expect(core.sentKinds()).toEqual(['Heartbeat', 'Heartbeat']);
    core.effects = [];
    core.accepted(r2, slot, slot);
    expect([core.records(), core.sentKinds()]).toEqual([[], []]);
  });

  it('is written and told at regular times, once for all moves between: asynchronous', () => {
    const core = leaderWith({ kind: 'asynchronous', everyMs: 10 });
    core.tick(5);
    core.effects = [];
    choose(core, 'a');
    const slot = choose(core, 'b');
    expect(core.records().filter(({ kind }) => kind === 'commitPoint')).toEqual([]);
    core.effects = [];
    core.tick(4);
    expect(core.records()).toEqual([]);
    core.tick(1);
    expect(core.records()).toEqual([hint(slot)]);
    expect(core.sentKinds()).toEqual(['Heartbeat', 'Heartbeat']);
    core.effects = [];
    core.tick(10);
    expect(core.records()).toEqual([]);
  });

  it('is only a hint: what is told and answered waits for no write of it', () => {
    const core = leaderWith({ kind: 'synchronous' });
    const slot = choose(core, 'a');
    expect(core.chosen().map((each) => each.slot)).toEqual([slot]);
  });
});
