/**
 * Configurations in a recorded trace: what their versions and the labels of their entries stand for, and who decides a slot.
 *
 * Responsible for: the spec's KnownAt and DecidedBy, and reading labels `members:<version>:<round>.<owner>`. Changes no state.
 */
import { sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { SpecConfiguration } from './spec-message.ts';
import type { ReplicaState, SpecState } from './spec-state.ts';

/** What the names of configurations stand for. */
export interface Configurations {
  /** Known to be chosen, by version. */
  readonly chosen: ReadonlyMap<number, SpecConfiguration>;
  /** Of each proposed one, by the label of its entry. */
  readonly voters: ReadonlyMap<EntryLabel, readonly ReplicaId[]>;
}

export interface ConfigurationLabel {
  readonly version: number;
  readonly round: number;
  readonly owner: ReplicaId;
}

/** Null: the label is of another entry. */
export function readConfigurationLabel(label: EntryLabel): ConfigurationLabel | null {
  const parts = /^members:(\d+):(\d+)\.(.+)$/.exec(label);
  if (parts === null) return null;
  return { version: Number(parts[1]), round: Number(parts[2]), owner: parts[3] as ReplicaId };
}

/** The configuration of a version that a message or an event names. */
export function configurationOf(state: SpecState, version: number): SpecConfiguration {
  const known = state.configurations.chosen.get(version);
  if (known === undefined) throw new Error(`no event of the trace says what configuration ${version} is`);
  return known;
}

/** The voters of a configuration's entry; null: the label is of another entry. */
export function votersOfLabel(state: SpecState, label: EntryLabel): readonly ReplicaId[] | null {
  if (readConfigurationLabel(label) === null) return null;
  const voters = state.configurations.voters.get(label);
  if (voters === undefined) throw new Error(`no event of the trace says who votes in ${label}`);
  return voters;
}

/** The spec's KnownAt: `known`, or a configuration that the commit point has passed behind `from`. */
export function knownAt(state: SpecState, replica: ReplicaState, from: number): SpecConfiguration {
  let newest = replica.config;
  for (let slot = Math.max(from, newest.slot) + 1; slot <= replica.commitPoint; slot++) {
    const label = replica.log.get(slot)?.label ?? '';
    const version = readConfigurationLabel(label)?.version ?? 0;
    if (version > newest.version) newest = { version, slot, voters: votersOfLabel(state, label) ?? [] };
  }
  return newest;
}

/** The spec's DecidedBy: the voters of the configuration next below the slot, among the leader's own proposals or those known. */
export function decidedBy(state: SpecState, replica: ReplicaState, slot: number): readonly ReplicaId[] {
  for (let at = slot - 1; at > replica.config.slot && at > replica.commitPoint; at--) {
    const held = replica.log.get(at);
    if (held?.ballot == null || !sameBallot(held.ballot, replica.promised)) continue;
    const voters = votersOfLabel(state, held.label);
    if (voters !== null) return voters;
  }
  return replica.config.voters;
}
