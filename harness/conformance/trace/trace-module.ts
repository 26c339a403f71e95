/**
 * Writes segments as a TLA+ module that extends TraceMultiPaxos, everything a literal: TLC evaluates literals fast, and computed
 * constants slowly. What the fields mean is said in TraceMultiPaxos.tla.
 */
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { knownVersion } from './event-steps.ts';
import type { TracedStep } from './linearize.ts';
import type { FrozenReplica, HeldOrNot, Segment } from './segments.ts';
import { noBallot, type SpecConfiguration, type SpecMessage } from './spec-message.ts';
import { readConfigurationLabel, type Configurations } from './spec-configuration.ts';
import type { BufferItem, Step } from './spec-state.ts';

export const TRACE_MODULE = 'TraceRun';

export interface ModuleOptions {
  readonly members: readonly ReplicaId[];
  readonly founding: SpecConfiguration;
  readonly configurations: Configurations;
  /** Prints each step that is reached, and the state at the end, to find out where and why a segment is rejected. */
  readonly diagnose?: boolean;
  /** Leaves out what the last step asserts, so that the spec's own outcome can be shown. */
  readonly unassertLast?: boolean;
}

/** The module's text and its configuration's. */
export function traceModule(
  segments: readonly Segment[],
  options: ModuleOptions,
): { readonly tla: string; readonly cfg: string } {
  const slotsMax = Math.max(1, ...segments.map((segment) => segment.slots.length));
  const tla = `---- MODULE ${TRACE_MODULE} ----
EXTENDS TraceMultiPaxos
Segments == <<
${segments.map((segment) => segmentLiteral(segment, options)).join(',\n')}
>>
RunFounders == {${options.founding.voters.map((id) => options.members.indexOf(id) + 1).join(', ')}}
RunInit == TraceInit(Segments)
RunNext == TraceNext(Segments)
RunSpec == RunInit /\\ [][RunNext]_traceVars
RunProgress == Progress(Segments)${options.diagnose === true ? ' /\\ EachStep /\\ ShowState(Segments)' : ''}
====
`;
  const cfg = `SPECIFICATION RunSpec
CONSTANTS
  Replicas = {${options.members.map((_, i) => i + 1).join(', ')}}
  Ballots <- NoBallots
  MaxSlot = ${slotsMax}
  MaxBatch = ${slotsMax}
  WindowSlots = 1000000000
  MaxCrashes = 1000000000
  Founders <- RunFounders
  Proposable <- AnyVoters
  MayFollow <- AtMostOneVoterApart
  Max <- FastMax
INVARIANT RunProgress
VIEW TraceView
CHECK_DEADLOCK FALSE
`;
  return { tla, cfg };
}

const text = (value: string): string => `"${value}"`;
const sequence = (items: readonly string[]): string => `<<${items.join(',')}>>`;

interface Names {
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

function namesOf(segment: Segment, { members, configurations }: ModuleOptions): Names {
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

/** One element of the module's `Segments`. */
export function segmentLiteral(segment: Segment, options: ModuleOptions): string {
  const names = namesOf(segment, options);
  const { steps } = segment;
  const literals = steps.map((step, i) =>
    stepLiteral(
      options.unassertLast === true && i === steps.length - 1 ? { ...step, event: null } : step,
      names,
    ),
  );
  return `[init|->${sequence(segment.init.map((replica) => replicaLiteral(replica, names)))},
msgs|->${messages(segment.imports, names)},
steps|->${sequence(literals)},
exports|->${messages(segment.exports, names)},
end|->${sequence(segment.end.map((replica) => replicaLiteral(replica, names)))}]`;
}

function messages(all: readonly SpecMessage[], names: Names): string {
  return sequence(all.map((message) => messageLiteral(message, names)));
}

function messageLiteral(message: SpecMessage, names: Names): string {
  const type = text(message.type);
  switch (message.type) {
    case 'Prepare':
      return sequence([type, names.ballot(message.ballot), `${names.slot(message.commitPoint)}`]);
    case 'Heartbeat':
      return sequence([
        type,
        names.ballot(message.ballot),
        `${names.slot(message.commitPoint)}`,
        ...(message.configuration === null ? [] : [names.configuration(message.configuration)]),
      ]);
    case 'Promise': {
      const votes = message.votes.map(({ slot, ballot, label }) => voteLiteral(slot, ballot, label, names));
      const commitPoint = `${names.slot(message.commitPoint)}`;
      return sequence([
        type,
        `${names.replica(message.from)}`,
        names.ballot(message.ballot),
        commitPoint,
        sequence(votes),
        names.known(message.configuration),
      ]);
    }
    case 'Accept':
      return sequence([
        type,
        names.ballot(message.ballot),
        `${names.slot(message.slot)}`,
        names.entry(message.label),
        ...(message.voters === null ? [] : [names.voters(message.voters)]),
      ]);
    case 'Accepted':
      return sequence([
        type,
        `${names.replica(message.from)}`,
        names.ballot(message.ballot),
        `${names.slot(message.slot)}`,
      ]);
    case 'CatchUpReply':
      return sequence([type, `${names.slot(message.slot)}`, names.entry(message.label)]);
    default:
      return message satisfies never;
  }
}

function voteLiteral(slot: number, ballot: Ballot | null, label: EntryLabel, names: Names): string {
  return sequence([`${names.slot(slot)}`, names.ballot(ballot), names.entry(label)]);
}

function heldLiteral(held: HeldOrNot, names: Names): string {
  if (held === 'nothing') return '<<<<0,0>>,<<>>>>';
  if (held === 'settled') return '<<<<0,0>>,<<-1>>>>';
  return sequence([names.ballot(held.ballot), names.entry(held.label)]);
}

function bufferLiteral({ record, replies }: BufferItem, names: Names): string {
  const { kind, slot, ballot, label } = record;
  if (kind === 'base') throw new Error('a segment ended before a base was durable');
  const fields =
    kind === 'promise'
      ? [text(kind), '0', names.ballot(ballot), '<<>>']
      : [text(kind), `${names.slot(slot)}`, names.ballot(ballot), names.entry(label)];
  return sequence([sequence(fields), messages(replies, names)]);
}

function replicaLiteral(replica: FrozenReplica, names: Names): string {
  const fields = {
    role: text(replica.role),
    promised: names.ballot(replica.promised),
    config: names.configuration(replica.config),
    commitPoint: `${names.slot(replica.commitPoint)}`,
    log: sequence(replica.log.map((held) => heldLiteral(held, names))),
    durablePromised: names.ballot(replica.durablePromised),
    durableLog: sequence(replica.durableLog.map((held) => heldLiteral(held, names))),
    buffer: sequence(replica.buffer.map((item) => bufferLiteral(item, names))),
    promises: messages(replica.promises, names),
    acks: sequence(replica.acks.map(([slot, from]) => `<<${names.slot(slot)},${names.replica(from)}>>`)),
    startSlot: `${replica.startSlot === 0 ? 0 : names.slot(replica.startSlot)}`,
    backlog: sequence(
      replica.backlog.map(([slot, label]) => `<<${names.slot(slot)},${names.entry(label)}>>`),
    ),
    serving: replica.serving ? 'TRUE' : 'FALSE',
  };
  return record(fields);
}

function record(fields: Readonly<Record<string, string>>): string {
  return `[${Object.entries(fields)
    .map(([name, value]) => `${name}|->${value}`)
    .join(',')}]`;
}

function stepLiteral({ step, event, number }: TracedStep, names: Names): string {
  const fields: Record<string, string> = {
    a: text(step.action),
    r: `${names.replica(step.replica)}`,
    k: `${number}`,
  };
  Object.assign(fields, parameters(step, names));
  // A crashed replica has no state to assert; what it finds on its disk, Restart asserts.
  if (event === null || step.action === 'Crash') return record(fields);
  const { state } = event;
  fields.v = sequence(
    (event.votes ?? []).map(([slot, ballot, label]) => voteLiteral(slot, ballot, label, names)),
  );
  fields.s = sequence(sentLiterals(event, names));
  fields.p = sequence([
    text(state.role),
    names.ballot(state.promised),
    names.ballot(state.durablePromised),
    `${names.slot(state.commitPoint)}`,
    `${names.slot(state.lastSlot)}`,
    state.serving ? 'TRUE' : 'FALSE',
    `${knownVersion(event)}`,
  ]);
  return record(fields);
}

function parameters(step: Step, names: Names): Record<string, string> {
  const { firstSlot = 0, lastSlot = 0, labels = [] } = step;
  const fields: Record<string, string> = {};
  const isEmptyRun = lastSlot < firstSlot;
  if (step.ballot !== undefined) fields.b = names.ballot(step.ballot);
  if (step.from !== undefined) fields.q = `${names.replica(step.from)}`;
  if (step.commitPoint !== undefined) fields.c = `${names.slot(step.commitPoint)}`;
  if (step.firstSlot !== undefined)
    fields.f = isEmptyRun && step.action === 'HandleAccept' ? '1' : `${names.slot(firstSlot)}`;
  if (step.lastSlot !== undefined) fields.l = isEmptyRun ? '0' : `${names.slot(lastSlot)}`;
  if (step.labels !== undefined) fields.e = sequence(labels.map((label) => names.entry(label)));
  if (step.promise !== undefined) fields.m = messageLiteral(step.promise, names);
  if (step.records !== undefined) fields.n = `${step.records}`;
  if (step.configuration !== undefined) fields.g = names.configuration(step.configuration);
  if (step.promised !== undefined) fields.p2 = names.ballot(step.promised);
  return fields;
}

/** The same message to several peers is one. Questions and answers that the spec leaves out are left out. */
function sentLiterals(event: NonNullable<TracedStep['event']>, names: Names): string[] {
  const literals = (event.sent ?? []).flatMap(({ message }) => {
    const { kind, ballot, commitPoint = 0, firstSlot = 0, lastSlot = 0, labels = [], votes = [] } = message;
    const b = names.ballot(ballot);
    const c = `${names.slot(commitPoint)}`;
    if (kind === 'Prepare') return sequence([text(kind), b, c]);
    if (kind === 'Heartbeat') return sequence([text(kind), b, c, names.known(message.configuration ?? 1)]);
    if (kind === 'Promise') {
      const all = votes.map(([slot, voteBallot, label]) => voteLiteral(slot, voteBallot, label, names));
      return sequence([
        text(kind),
        `${names.replica(event.replica)}`,
        b,
        c,
        sequence(all),
        names.known(message.configuration ?? 1),
      ]);
    }
    if (kind === 'Accept') {
      const entries = sequence(labels.map((label) => names.entry(label)));
      return sequence([text(kind), b, `${names.slot(firstSlot)}`, entries, c]);
    }
    if (kind === 'Accepted')
      return sequence([text(kind), b, `${names.slot(firstSlot)}`, `${names.slot(lastSlot)}`]);
    if (kind === 'Reject') return sequence([text(kind), b, names.ballot(message.promised ?? noBallot)]);
    return [];
  });
  return [...new Set(literals)];
}
