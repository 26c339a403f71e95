import { describe, expect, it } from 'vitest';
import { configurationChosen } from './chain.ts';
import { InvariantViolation } from './invariants.ts';
import type { State } from './state.ts';
import { ballot, configuration, newFollower, r1, r2, r3, slot } from './testing/one-core.ts';
import type { Member } from './types/members.ts';
import type { ReplicaId } from './types/names.ts';

const r4 = 'r4' as ReplicaId;
const r5 = 'r5' as ReplicaId;
const four = configuration([r1, r2, r3, r4]).members;
const five = configuration([r1, r2, r3, r4, r5]).members;

/** Knows version 3, chosen in slot 5. */
const knowing = (): State =>
  newFollower({}, { configuration: configuration([r1, r2, r3], { version: 3, slot: 5 }) }).state;

function chosen(state: State, at: number, version: number, members: readonly Member[] = four): void {
  configurationChosen(state, slot(at), {
    kind: 'configuration',
    group: state.config.group,
    ballot: ballot(1, r2),
    version,
    members,
  });
}

describe('a configuration that the commit point passes', () => {
  it('is in force from then on, and its voters count', () => {
    const state = knowing();
    chosen(state, 6, 4);
    expect(state.configuration).toEqual({ version: 4, slot: 6, members: four });
    expect(state.roster).toMatchObject({ voters: [r1, r2, r3, r4], quorum: 3 });
  });

  it('changes nothing if it is known, or was replaced, already', () => {
    const state = knowing();
    const { configuration: known } = state;
    chosen(state, 2, 2, five);
    chosen(state, 5, 3);
    expect(state.configuration).toBe(known);
  });

  it.each([
    ['is known to be chosen elsewhere', 6, 3, four],
    ['leaves out a version', 6, 5, four],
    ['is newer than one behind it', 4, 4, four],
    ['is newer than one in its own slot', 5, 4, four],
    ['changes two voters', 6, 4, five],
  ] as const)('stops a replica if it %s', (_how, at, version, members) => {
    expect(() => chosen(knowing(), at, version, members)).toThrow(InvariantViolation);
  });
});
