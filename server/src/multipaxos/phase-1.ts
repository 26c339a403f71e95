/**
 * Whose promises a candidate needs.
 *
 * Responsible for: electorate and hasWon. A candidate needs a majority of the newest configuration that it knows to be chosen (its own, or told by
 * anyone in between), and of every one that it finds in the votes above the commit point that it heard of, for that may be chosen too.
 *
 * Why that is enough: let the candidate know configuration k, and let k + 1 be chosen by a majority of k, in a lower ballot than the candidate's. One of
 * that majority is among those who promised: it reports its vote, or a commit point that has passed it and, with it, configuration
 * k + 1. So the candidate finds k + 1, asks a majority of it, too, and the same holds for k + 2.
 *
 * Why it must hear of a commit point next to the known configuration's slot: whoever voted for it had a commit point there (barrier.ts), so
 * one of them is among the majority of that configuration, unless its promise is older than its vote; then the ballot of this
 * candidate is lower than the one that chose the configuration, and it must not fill slots below that it has heard nothing of.
 */
import { votersOf } from './configuration.ts';
import { hasMajority } from './quorum.ts';
import type { Candidacy, State } from './state.ts';
import type { Entry } from './types/entries.ts';
import type { ReplicaId } from './types/names.ts';

type ConfigurationEntry = Extract<Entry, { kind: 'configuration' }>;

/** Everyone whose promise may be needed. */
export function electorate(state: State, candidacy: Candidacy): ReplicaId[] {
  const names = new Set(state.roster.voters);
  for (const found of foundAbove(state, candidacy)) for (const name of votersOf(found)) names.add(name);
  return [...names];
}

export function hasWon(state: State, candidacy: Candidacy): boolean {
  const { promises } = candidacy;
  if (!hasMajority(state.roster.voters, promises)) return false;
  return (
    reachesConfiguration(state, candidacy) &&
    foundAbove(state, candidacy).every((found) => hasMajority(votersOf(found), promises))
  );
}

function heardCommitPoint({ commitPoint }: State, candidacy: Candidacy): number {
  return Math.max(commitPoint, candidacy.commitPoint);
}

/** Only the vote of the highest ballot in a slot can be for what is chosen there. */
function foundAbove(state: State, candidacy: Candidacy): ConfigurationEntry[] {
  const from = heardCommitPoint(state, candidacy);
  const found: ConfigurationEntry[] = [];
  for (const { slot, entry } of candidacy.votes.values()) {
    if (slot > from && entry.kind === 'configuration' && entry.version > state.configuration.version)
      found.push(entry);
  }
  return found;
}

function reachesConfiguration(state: State, candidacy: Candidacy): boolean {
  const { slot, version } = state.configuration;
  const from = heardCommitPoint(state, candidacy);
  if (from >= slot) return true;
  const entry = candidacy.votes.get(slot)?.entry;
  return from === slot - 1 && entry?.kind === 'configuration' && entry.version === version;
}
