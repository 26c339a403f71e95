/** The names that one segment gives to replicas, slots, entries and configurations, and the literals of TLA+ that are made of them. */
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { RecordedTrace } from './read-trace.ts';
import type { Segment } from './segments.ts';
import { SETTLED } from './settled-before.ts';
import { readConfigurationLabel } from './spec-configuration.ts';
import type { SpecConfiguration } from './spec-message.ts';

/** What the names in the segments of a trace stand for. */
export type TraceNames = Pick<RecordedTrace, 'members' | 'founding' | 'configurations'>;

export const text = (value: string): string => `"${value}"`;
export const sequence = (items: readonly string[]): string => `<<${items.join(',')}>>`;

export interface Names {
  readonly replica: (id: ReplicaId) => number;
  readonly ballot: (ballot: Ballot | null) => string;
  readonly entry: (label: EntryLabel) => string;
  readonly voters: (voters: readonly ReplicaId[]) => string;
  readonly configuration: (configuration: SpecConfiguration) => string;
  /** Of a version. */
  readonly known: (version: number) => string;
  /** The number of a slot, or of the nearest one below it that the segment has. */
  readonly slot: (slot: number) => number;
}

export function namesOf(segment: Segment, { members, configurations }: TraceNames): Names {
  const numbers = new Map(members.map((id, i) => [id, i + 1]));
  const replica = (id: ReplicaId): number => numbers.get(id) ?? 0;
  const commands = new Map<EntryLabel, number>();
  const slot = (one: number): number => segment.slots.findLastIndex((other) => other <= one) + 1;
  const voters = (those: readonly ReplicaId[]): string => `{${those.map(replica).join(',')}}`;
  const configuration = (one: SpecConfiguration): string =>
    `<<${one.version},${slot(one.slot)},${voters(one.voters)}>>`;
  return {
    replica,
    slot,
    voters,
    configuration,
    known(version) {
      const known = configurations.chosen.get(version);
      if (known === undefined) throw new Error(`no event of the trace says what configuration ${version} is`);
      return configuration(known);
    },
    ballot: (ballot) =>
      ballot === null || ballot.round === 0 ? '<<0,0>>' : `<<${ballot.round},${replica(ballot.replica)}>>`,
    entry(label) {
      if (label === 'noop') return '<<0>>';
      if (label === SETTLED) return '<<-1>>';
      const change = readConfigurationLabel(label);
      if (change !== null) {
        const those = configurations.voters.get(label) ?? [];
        return `<<${change.version},<<${change.round},${replica(change.owner)}>>,${voters(those)}>>`;
      }
      const start = /^start:(\d+)\.([^/]+)$/.exec(label);
      if (start !== null) return `<<${start[1]},${replica(start[2] as ReplicaId)}>>`;
      const number = commands.get(label) ?? commands.size + 1;
      commands.set(label, number);
      return `<<${number}>>`;
    },
  };
}

export function voteLiteral(slot: number, ballot: Ballot | null, label: EntryLabel, names: Names): string {
  return sequence([`${names.slot(slot)}`, names.ballot(ballot), names.entry(label)]);
}
