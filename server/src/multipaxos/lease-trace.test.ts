import { describe, expect, it } from 'vitest';
import {
  ballot,
  command,
  configuration,
  configurationEntry,
  founding,
  newCandidate,
  newFollower,
  newServingLeader,
  OneCore,
  promise,
  r1,
  r2,
  r3,
  slot,
} from './testing/one-core.ts';
import type { CoreLeaseEvent } from './types/lease-trace.ts';

function events(core: OneCore): CoreLeaseEvent[] {
  return core.effectsOf('traceLease').map((effect) => effect.event);
}

describe('a trace of the lease', () => {
  it('begins with the wait of a new life, at the clock of when it began', () => {
    const core = new OneCore();
    core.tick(50);
    expect(events(core)).toEqual([
      {
        name: 'Restart',
        clockMs: 1000,
        leaseMs: 200,
        clockDriftMax: 0.05,
        promised: ballot(0, '' as typeof r2),
        grant: { untilMs: 1200, to: null },
      },
    ]);
  });

  it('tells whom a follower has given its word, for every message of its leader', () => {
    const core = newFollower();
    core.receive(r2, core.accept(ballot(1, r2), 1, [command('a')]));
    core.nowMs += 10;
    core.receive(r2, core.accept(ballot(1, r2), 1, []));
    expect(events(core)).toMatchObject([
      { name: 'HandleHeartbeat', clockMs: 1250, sentAtMs: 7, grant: { untilMs: 1450, to: r2 } },
      { name: 'HandleHeartbeat', clockMs: 1260, grant: { untilMs: 1460, to: r2 } },
    ]);
  });

  it('tells a promise with the word that was given before it, and no promise that is not given', () => {
    const core = newFollower();
    core.receive(r2, core.accept(ballot(1, r2), 1, []));
    const { group } = core.state.config;
    const prepare = {
      kind: 'Prepare',
      group,
      ballot: ballot(2, r3),
      commitPoint: core.state.commitPoint,
    } as const;
    core.receive(r3, prepare);
    core.nowMs += 200;
    core.receive(r3, prepare);
    expect(events(core).slice(1)).toEqual([
      {
        name: 'GivePromise',
        clockMs: 1450,
        ballot: ballot(2, r3),
        grant: { untilMs: 1450, to: r2 },
        lease: null,
      },
    ]);
  });

  it('tells the promise that a candidate gives itself, with the word that it gave before', () => {
    const core = newCandidate();
    expect(events(core)).toEqual([
      {
        name: 'GivePromise',
        clockMs: 1700,
        ballot: ballot(1, r1),
        grant: { untilMs: 1200, to: null },
        lease: null,
      },
    ]);
  });

  it('tells of renewals the first of each peer, and then one in a while, with what the lease rests on', () => {
    const core = newServingLeader();
    const { nowMs } = core;
    core.heartbeatAck(r3);
    core.nowMs += 2;
    core.heartbeatAck(r2);
    core.nowMs += 10;
    core.heartbeatAck(r2);
    expect(events(core)).toMatchObject([
      { name: 'HandleHeartbeatAck', from: r3, sentAtMs: nowMs },
      {
        name: 'HandleHeartbeatAck',
        from: r2,
        lease: {
          ballot: core.state.promised,
          untilMs: nowMs + 12 + 190,
          configuration: 1,
          acked: [
            [r2, nowMs + 12],
            [r3, nowMs],
          ],
        },
      },
    ]);
  });

  it('tells of a renewal once a twentieth of a lease has passed, and not before', () => {
    const core = newServingLeader();
    core.heartbeatAck(r3);
    const toldAfter = [1, 8, 1].map((afterMs) => {
      core.nowMs += afterMs;
      core.effects = [];
      core.heartbeatAck(r2);
      return events(core).length;
    });
    expect(toldAfter).toEqual([0, 0, 1]);
  });

  it('tells that a leader gives up, and nothing of the kind where it promises to another', () => {
    const given = newServingLeader();
    given.input({ kind: 'StepDown', reason: 'requested' });
    const promised = newServingLeader();
    promised.nowMs += 200;
    const { group } = promised.state.config;
    const { commitPoint } = promised.state;
    promised.receive(r3, { kind: 'Prepare', group, ballot: ballot(9, r3), commitPoint });
    expect([given, promised].map((core) => events(core).map(({ name }) => name))).toEqual([
      ['Resign'],
      ['GivePromise'],
    ]);
  });

  it('tells that a change counts where it is chosen, and not where it is chosen again by one who knew it', () => {
    const first = ballot(1, r2);
    const changed = configuration([r1, r2, r3], { learners: ['r4' as typeof r2], version: 2, slot: 1 });
    const tail = [{ slot: slot(1), ballot: first, entry: configurationEntry(first, changed) }];
    const told = [founding, changed].map((known) => {
      const core = newCandidate({}, { configuration: known, tail });
      promise(core, r2, [], 0, known);
      core.fsync();
      core.accepted(r2, 1, 1);
      expect(core.state.commitPoint).toBe(1);
      return events(core).flatMap((event) => (event.name === 'Learn' ? [event.lease.configuration] : []));
    });
    expect(told).toEqual([[2], []]);
  });

  it('costs nothing where nobody wants to know', () => {
    const core = newCandidate({ trace: 'none' });
    promise(core, r2);
    core.fsync();
    core.accepted(r2, 1, 1);
    expect(core.state.leadership).not.toBeNull();
    core.heartbeatAck(r2);
    core.input({ kind: 'StepDown', reason: 'requested' });
    expect(events(core)).toEqual([]);
  });
});
