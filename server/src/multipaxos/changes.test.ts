/** Which changes of the members a leader takes on beside another one, and what is left of one when it gives up. */
import { describe, expect, it } from 'vitest';
import { address, newServingLeader, type OneCore, r2, r3 } from './testing/one-core.ts';
import type { ConfigurationChange } from './types/members.ts';
import type { ReplicaId } from './types/names.ts';

const r4 = 'r4' as ReplicaId;
const r22 = 'r2.2' as ReplicaId;
const join = (replica: ReplicaId, nonce: string): ConfigurationChange => ({
  kind: 'join',
  replica,
  nonce,
  address,
});
const add: ConfigurationChange = { kind: 'add', replica: r4, address };

/** r2 has been silent for long, r3 was heard just now. */
function leader(): OneCore {
  const core = newServingLeader();
  for (let waitedMs = 0; waitedMs <= 600; waitedMs += 100) {
    core.tick(100);
    core.heartbeatAck(r3);
  }
  core.effects = [];
  return core;
}

function answers(core: OneCore, ...changes: readonly ConfigurationChange[]): string[] {
  for (const change of changes) core.reconfigure(change);
  return core.effectsOf('reconfigured').map(({ code }) => code);
}

describe('a leader with a change under way', () => {
  it('is busy for every other one, but not for what is done and for the same life that asks again', () => {
    const asked = [join(r2, 'n'), join(r2, 'n'), join(r2, 'other'), join(r3, 'n'), join(r4, 'n'), add];
    expect(answers(leader(), ...asked)).toEqual(['proposed', 'proposed', 'busy', 'busy', 'busy', 'busy']);
  });

  it('says that something is done, whatever else is under way', () => {
    const promote: ConfigurationChange = { kind: 'promote', replica: r3, incarnation: 1 };
    expect(answers(leader(), add, promote)).toEqual(['proposed', 'done']);
  });

  it('is busy while the change still waits for what is proposed below it', () => {
    const core = leader();
    core.propose('a');
    expect(answers(core, add, { kind: 'remove', replica: r3 })).toEqual(['proposed', 'busy']);
  });

  it('does not know the new members any more when it gives up', () => {
    const core = leader();
    core.reconfigure(join(r2, 'n'));
    expect(core.state.roster.bits.has(r22)).toBe(true);
    core.input({ kind: 'StepDown', reason: 'requested' });
    expect(core.state.roster.bits.has(r22)).toBe(false);
  });
});

describe('a leader that is asked to replace a life', () => {
  const hear = (core: OneCore, ...peers: readonly ReplicaId[]): void => {
    core.tick(100);
    for (const peer of peers) core.heartbeatAck(peer);
  };

  it('has led for longer than the longest election timeout before it believes that one is silent', () => {
    const core = newServingLeader();
    for (let waitedMs = 0; waitedMs < 600; waitedMs += 100) hear(core, r2);
    expect(answers(core, join(r3, 'n'))).toEqual(['busy']);
    core.tick(1);
    expect(answers(core, join(r3, 'n')).at(-1)).toBe('proposed');
  });

  it('has not heard that one for longer than the longest election timeout', () => {
    const core = newServingLeader();
    for (let waitedMs = 0; waitedMs < 700; waitedMs += 100) hear(core, r2, r3);
    for (let waitedMs = 0; waitedMs < 600; waitedMs += 100) hear(core, r2);
    expect(answers(core, join(r3, 'n'))).toEqual(['busy']);
    core.tick(1);
    expect(answers(core, join(r3, 'n')).at(-1)).toBe('proposed');
  });
});

describe('a leader', () => {
  it('refuses what there is nothing to change of', () => {
    const core = leader();
    expect(answers(core, { kind: 'remove', replica: r4 })).toEqual(['unknownReplica']);
    expect(core.state.leadership).toMatchObject({ wanted: null, pending: null });
  });

  it('waits before it campaigns when it has stepped down', () => {
    const core = leader();
    core.input({ kind: 'StepDown', reason: 'requested' });
    core.effects = [];
    core.tick(10);
    expect(core.sentKinds()).toEqual([]);
  });
});
