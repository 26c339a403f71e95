/**
 * The roster: what a replica derives from the configurations that it works with, so that counting is a matter of bits.
 *
 * Responsible for: giving each member of the known and of the proposed configuration a bit, and telling voters from learners. A roster is never
 * changed, only made anew: bits begin with 0 again each time, so no number of changes uses them up. A leader makes a new one only
 * while its window is empty (barrier.ts), so no vote counted with the bits of an old one is left.
 */
import { namesOf, votersOf } from './configuration.ts';
import { majority } from './quorum.ts';
import type { State } from './state.ts';
import type { Configuration, Member } from './types/members.ts';
import type { ReplicaId } from './types/names.ts';

export interface Roster {
  /** A bit for each member that has been admitted. */
  readonly bits: ReadonlyMap<ReplicaId, number>;
  /** All of them but this replica. */
  readonly peers: readonly ReplicaId[];
  /** 0 if this replica is no member (any more). */
  readonly selfBit: number;
  /** Of the known configuration alone: a proposed one counts for nothing before it is chosen. */
  readonly voters: readonly ReplicaId[];
  readonly voterMask: number;
  readonly quorum: number;
  readonly isVoter: boolean;
}

export function makeRoster(
  self: ReplicaId,
  configuration: Configuration,
  proposed: readonly Member[] | null,
): Roster {
  const names = new Set([...namesOf(configuration.members), ...(proposed === null ? [] : namesOf(proposed))]);
  const bits = new Map([...names].map((name, index) => [name, 1 << index]));
  const voters = votersOf(configuration);
  return {
    bits,
    peers: [...names].filter((name) => name !== self),
    selfBit: bits.get(self) ?? 0,
    voters,
    voterMask: voters.reduce((mask, name) => mask | bits.get(name)!, 0),
    quorum: majority(voters.length),
    isVoter: voters.includes(self),
  };
}

/** After the known or the proposed configuration has changed. */
export function renewRoster(state: State): void {
  state.roster = makeRoster(state.config.id, state.configuration, state.leadership?.pending?.members ?? null);
}
