/**
 * What events say of configurations: as much as they must, and all the same.
 *
 * Responsible for: which configurations an event tells (traceConfigurations in server/src/multipaxos/trace.ts), that a version and a label mean the same wherever they are
 * told, and that neighbours differ by one member as membersAfter there makes them.
 */
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { TraceConfiguration } from '../../../server/src/multipaxos/types/trace.ts';
import type { Fault } from './contradictions.ts';
import type { ConsensusEvent, RecordedTrace } from './read-trace.ts';
import { readConfigurationLabel } from './spec-configuration.ts';
import { inTime, isUnheard, type Run } from './trace-place.ts';

export function mistold(trace: RecordedTrace, runs: readonly Run[]): Fault[] {
  return [...untoldIn(runs), ...contradicted(trace)];
}

function untoldIn(runs: readonly Run[]): Fault[] {
  return runs.flatMap((run) =>
    run.flatMap((event, index): Fault[] => {
      if (event.name === 'Crash' || isUnheard(run, index)) return [];
      const told = new Set(
        (event.configurations ?? []).map(({ label, version }) => label ?? String(version)),
      );
      const expected = expectedIn(event, run[index - 1]);
      const missing = [...expected].find((one) => !told.has(one));
      if (missing !== undefined) return [[event, `it does not say what configuration ${missing} is`]];
      const isMore = told.size > expected.size || told.size < (event.configurations ?? []).length;
      // What a new leader found, and may not propose yet, is told by no other field.
      if (!isMore || event.name === 'BecomeLeader') return [];
      return [[event, 'it tells of a configuration that it has nothing to do with']];
    }),
  );
}

/** Labels of entries that are proposed or found, and versions that are known. */
function expectedIn(event: ConsensusEvent, previous: ConsensusEvent | undefined): Set<string> {
  const { message, votes = [], state, name } = event;
  const labels = [...votes, ...(message?.votes ?? [])].map(([, , label]) => label);
  const brought = [...labels, ...(message?.labels ?? [])];
  const expected = new Set(brought.filter((label) => readConfigurationLabel(label) !== null));
  const isTold = previous?.state.configuration === state.configuration;
  if (!isTold || name === 'Restart' || name === 'BecomeLeader') expected.add(String(state.configuration));
  if (message?.kind === 'Promise' && message.configuration !== state.configuration)
    expected.add(String(message.configuration));
  return expected;
}

const membersOf = ({ voters, learners }: TraceConfiguration): string =>
  `voters ${voters.join(' ')}, learners ${learners.join(' ')}`;

/** Whoever tells otherwise than the first in time is wrong, or the first is. */
function contradicted(trace: RecordedTrace): Fault[] {
  const faults: Fault[] = [];
  const proposed = new Map<EntryLabel, TraceConfiguration>();
  const chosen = new Map<number, TraceConfiguration>();
  const events = inTime(trace);
  const tell = <Name>(
    known: Map<Name, TraceConfiguration>,
    name: Name,
    told: TraceConfiguration,
  ): boolean => {
    const first = known.get(name);
    if (first === undefined) known.set(name, told);
    return first === undefined || (first.slot === told.slot && membersOf(first) === membersOf(told));
  };
  for (const event of events) {
    for (const told of event.configurations ?? []) {
      const { label, version, slot } = told;
      if (label === undefined) {
        if (!tell(chosen, version, told)) faults.push([event, `others tell otherwise of version ${version}`]);
        continue;
      }
      if (slot !== 0 || readConfigurationLabel(label)?.version !== version)
        faults.push([event, `${label} is not version ${version} in slot ${slot}`]);
      if (!tell(proposed, label, told)) faults.push([event, `others tell otherwise of ${label}`]);
    }
  }
  const places = placesOf(events);
  for (const event of events) {
    for (const told of event.configurations ?? []) {
      if (told.label === undefined && !isPlaced(told, proposed, places))
        faults.push([event, `version ${told.version} was not proposed so in slot ${told.slot}`]);
      const before = chosen.get(told.version - 1);
      if (before !== undefined && !isChange(before, told))
        faults.push([event, `version ${told.version} does not follow from the one before`]);
    }
  }
  return faults;
}

/** In which slots each configuration was voted for. */
function placesOf(events: readonly ConsensusEvent[]): Map<EntryLabel, Set<number>> {
  const places = new Map<EntryLabel, Set<number>>();
  for (const { votes } of events) {
    for (const [slot, , label] of votes ?? []) {
      if (readConfigurationLabel(label) === null) continue;
      places.set(label, (places.get(label) ?? new Set()).add(slot));
    }
  }
  return places;
}

/** What is known to be chosen was proposed by somebody, where the trace has that. */
function isPlaced(
  told: TraceConfiguration,
  proposed: ReadonlyMap<EntryLabel, TraceConfiguration>,
  places: ReadonlyMap<EntryLabel, ReadonlySet<number>>,
): boolean {
  const candidates = [...places].filter(([label]) => readConfigurationLabel(label)?.version === told.version);
  return (
    candidates.length === 0 ||
    candidates.some(([label, slots]) => {
      const entry = proposed.get(label);
      return slots.has(told.slot) && (entry === undefined || membersOf(entry) === membersOf(told));
    })
  );
}

/** Nobody that can be seen changes (a replica is expected), or one replica does: it joins as a learner, becomes a voter, or goes. */
function isChange(before: TraceConfiguration, after: TraceConfiguration): boolean {
  const [old, now] = [livesOf(before), livesOf(after)];
  if (old === null || now === null) return false;
  const changed = [...new Set([...old.keys(), ...now.keys()])].filter((id) => old.get(id) !== now.get(id));
  const [one, ...others] = changed;
  if (one === undefined || others.length > 0) return others.length === 0;
  const life = now.get(one);
  if (life === undefined || life.startsWith('learner ')) return true;
  return old.get(one) === life.replace('voter ', 'learner ');
}

/** Role and life of each replica; null: two lives of one. */
function livesOf({ voters, learners }: TraceConfiguration): Map<ReplicaId, string> | null {
  const all = [
    ...voters.map((name) => [replicaOf(name), `voter ${name}`] as const),
    ...learners.map((name) => [replicaOf(name), `learner ${name}`] as const),
  ];
  const lives = new Map(all);
  return lives.size === all.length ? lives : null;
}

/** All members of a version that an event tells of as chosen; null: no event does. */
export function memberNames(trace: RecordedTrace): (version: number) => Members | null {
  const chosen = new Map<number, Members>();
  for (const { configurations } of inTime(trace)) {
    for (const { version, label, voters, learners } of configurations ?? []) {
      if (label !== undefined || chosen.has(version)) continue;
      chosen.set(version, { voters, all: [...voters, ...learners] });
    }
  }
  return (version) => chosen.get(version) ?? null;
}

export interface Members {
  readonly voters: readonly ReplicaId[];
  /** Learners included. */
  readonly all: readonly ReplicaId[];
}
