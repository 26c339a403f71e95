import { describe, expect, it } from 'vitest';
import { electorate, hasWon } from './phase-1.ts';
import type { Candidacy, State } from './state.ts';
import {
  ballot,
  configuration,
  configurationEntry,
  newCandidate,
  noop,
  r1,
  r2,
  r3,
  slot,
} from './testing/one-core.ts';
import type { Entry } from './types/entries.ts';
import type { Configuration } from './types/members.ts';
import type { ReplicaId } from './types/names.ts';

const [r4, r5] = ['r4', 'r5'] as unknown as [ReplicaId, ReplicaId];
const first = ballot(1, r2);
const three = [r1, r2, r3];

/** A candidate that knows `known`, has its own promise and that of r2, has heard of a commit point, and found these votes. */
function campaign(
  known: Configuration,
  heard: number,
  found: Readonly<Record<number, Entry>> = {},
): { state: State; candidacy: Candidacy } {
  const { state } = newCandidate({}, { configuration: known });
  const votes = Object.entries(found).map(([at, entry]) => ({
    slot: slot(Number(at)),
    ballot: first,
    entry,
  }));
  return {
    state,
    candidacy: {
      ...state.candidacy!,
      promises: new Set([r1, r2]),
      commitPoint: slot(heard),
      votes: new Map(votes.map((vote) => [vote.slot, vote])),
    },
  };
}

function wins(...made: Parameters<typeof campaign>): boolean {
  const { state, candidacy } = campaign(...made);
  return hasWon(state, candidacy);
}

const known = configuration(three, { version: 4, slot: 9 });
const members = (version: number, voters: readonly ReplicaId[] = three): Entry =>
  configurationEntry(first, configuration(voters, { version }));

describe('a candidate', () => {
  it('wins next to the slot of its configuration only if it found that very one there', () => {
    expect(wins(known, 9)).toBe(true);
    expect(wins(known, 8)).toBe(false);
    expect(wins(known, 8, { 9: members(4) })).toBe(true);
    expect(wins(known, 8, { 9: members(3) })).toBe(false);
    expect(wins(known, 8, { 9: noop })).toBe(false);
    expect(wins(known, 7, { 9: members(4) })).toBe(false);
  });

  it('needs those, too, whom a newer configuration names above what it heard of', () => {
    const found = { 10: members(5, [r1, r2, r3, r4, r5]) };
    const { state, candidacy } = campaign(known, 9, found);
    expect(electorate(state, candidacy)).toEqual([r1, r2, r3, r4, r5]);
    expect(hasWon(state, candidacy)).toBe(false);
  });

  it('needs nobody whom one names that is not newer, or lies at or below what it heard of', () => {
    expect(wins(known, 9, { 10: members(3, [r3, r4, r5]) })).toBe(true);
    expect(wins(known, 10, { 10: members(5, [r3, r4, r5]) })).toBe(true);
    expect(wins(known, 11, { 10: members(5, [r3, r4, r5]) })).toBe(true);
  });
});
