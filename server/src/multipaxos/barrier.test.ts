import { describe, expect, it } from 'vitest';
import { appendOwn } from './barrier.ts';
import type { InvariantName } from './invariants.ts';
import {
  address,
  ballot,
  configuration,
  configurationEntry,
  newServingLeader,
  type OneCore,
  promise,
  newCandidate,
  r1,
  r2,
  r3,
  slot,
} from './testing/one-core.ts';
import type { Configuration } from './types/members.ts';
import type { ReplicaId } from './types/names.ts';

const r4 = 'r4' as ReplicaId;
const own = ballot(1, r1);
const grown = (version: number): Configuration => configuration([r1, r2, r3], { learners: [r4], version });

/** A leader appends a configuration, whatever else is open. */
function append(core: OneCore, next: Configuration): void {
  appendOwn({ state: core.state, effects: [], mark: 0 }, [configurationEntry(own, next)]);
}

/** It knows `version`, chosen in `at`; its own next slot is 2. */
function knowing(version: number, at: number): OneCore {
  const core = newServingLeader();
  core.state.configuration = configuration([r1, r2, r3], { version, slot: at });
  return core;
}

const stops = (rule: InvariantName): unknown => expect.objectContaining({ invariant: rule });

describe('a leader that appends a configuration', () => {
  it('stops when something below is open', () => {
    const core = newServingLeader();
    core.propose('a');
    expect(() => append(core, grown(2))).toThrow(stops('OneChangeAtATime'));
  });

  it('stops when another change is under way', () => {
    const core = newServingLeader();
    append(core, grown(2));
    core.state.commitPoint = slot(2);
    expect(() => append(core, grown(2))).toThrow(stops('OneChangeAtATime'));
  });

  it.each([
    ['leaves out a version', 1, 0, 3],
    ['follows one that is chosen in its own slot', 1, 2, 2],
    ['follows one that is chosen above', 1, 3, 2],
    ['is known to be chosen elsewhere', 2, 1, 2],
    ['is older than one in its own slot', 3, 2, 2],
    ['is newer by two than one in its own slot', 1, 2, 3],
  ])('stops when it %s', (_how, known, at, version) => {
    expect(() => append(knowing(known, at), grown(version))).toThrow(stops('ConfigurationsFormAChain'));
  });

  it('appends one that it knows to be chosen in that very slot', () => {
    const core = knowing(2, 2);
    append(core, grown(2));
    expect(core.state.leadership?.pending).toMatchObject({ slot: 2, version: 2 });
  });

  it('knows its peers by the bits of the new members', () => {
    const core = newServingLeader();
    core.tick(300);
    for (const peer of [r2, r3]) core.heartbeatAck(peer);
    core.reconfigure({ kind: 'remove', replica: r2 });
    core.fsync();
    core.accepted(r3, 2, 2);
    const { leadership, roster } = core.state;
    expect(roster.peers).toEqual([r3]);
    expect(leadership?.peers.map(({ id, bit }) => [id, bit])).toEqual([[r3, roster.bits.get(r3)]]);
  });
});

describe('a leader', () => {
  it('is not kept in office by learners', () => {
    const core = newServingLeader();
    for (let waited = 0; waited <= 600; waited += 100) {
      core.tick(100);
      for (const peer of [r2, r3]) core.heartbeatAck(peer);
    }
    core.reconfigure({ kind: 'add', replica: r4, address });
    core.fsync();
    core.accepted(r2, 2, 2);
    core.reconfigure({ kind: 'join', replica: r4, nonce: 'n', address });
    core.fsync();
    core.accepted(r2, 3, 3);
    const learner = core.state.roster.peers.find((name) => name !== r2 && name !== r3)!;
    expect(core.state).toMatchObject({ role: 'leader', commitPoint: 3 });
    for (let waited = 0; waited <= 700 && core.state.role === 'leader'; waited += 100) {
      core.tick(100);
      if (core.state.role === 'leader') core.heartbeatAck(learner);
    }
    expect(core.state).toMatchObject({ role: 'follower', lastReason: 'quorumLost' });
  });

  it('sends no heartbeat for a commit point that an Accept has told', () => {
    const core = newServingLeader();
    core.propose('a');
    core.fsync();
    core.accepted(r2, 2, 2);
    core.propose('b');
    expect(core.take('Accept').at(-1)?.commitPoint).toBe(2);
    core.tick(1);
    expect(core.take('Heartbeat')).toEqual([]);
  });

  it('tells each stage of what it found as an action of its own, and none while it waits', () => {
    const core = newCandidate();
    const found = configuration([r1, r2, r3], { learners: [r4], version: 2 });
    const first = ballot(1, r2);
    promise(core, r2, [{ slot: slot(1), ballot: first, entry: configurationEntry(first, found) }]);
    core.fsync();
    core.accepted(r2, 1, 1);
    core.fsync();
    core.accepted(r2, 2, 2);
    const names = core.effectsOf('trace').map(({ event }) => event.name);
    expect(names.slice(names.indexOf('BecomeLeader'))).toEqual([
      'BecomeLeader',
      'Fsync',
      'HandleAccepted',
      'AdvanceCommitPoint',
      'Propose',
      'Fsync',
      'HandleAccepted',
      'AdvanceCommitPoint',
    ]);
  });
});
