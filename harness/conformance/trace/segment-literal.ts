/**
 * One segment as a literal of TLA+: TLC evaluates literals fast, and computed constants slowly. What the fields mean is said in TraceMultiPaxos.tla.
 */
import { assertions } from './event-literal.ts';
import type { FrozenReplica, HeldOrNot } from './frozen-replicas.ts';
import type { TracedStep } from './linearize.ts';
import { namesOf, sequence, text, voteLiteral, type Names, type TraceNames } from './literal-names.ts';
import type { Segment } from './segments.ts';
import type { SpecMessage } from './spec-message.ts';
import type { BufferItem, Step } from './spec-state.ts';

/** One element of the module's `Segments`. `unassertLast`: leaves out what the last step asserts, so that the spec's own outcome can be shown. */
export function segmentLiteral(segment: Segment, trace: TraceNames, unassertLast = false): string {
  const names = namesOf(segment, trace);
  const { steps, slots } = segment;
  const literals = steps.map((step, i) =>
    stepLiteral(unassertLast && i === steps.length - 1 ? { ...step, event: null } : step, names),
  );
  return `[founders|->${names.voters(trace.founding.voters)},
slots|->${slots.length},
init|->${sequence(segment.init.map((replica) => replicaLiteral(replica, names)))},
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

function stepLiteral({ step, event, number, isUnheard }: TracedStep, names: Names): string {
  const fields: Record<string, string> = {
    a: text(step.action),
    r: `${names.replica(step.replica)}`,
    k: `${number}`,
  };
  Object.assign(fields, parameters(step, names));
  if (event !== null) Object.assign(fields, assertions(event, isUnheard === true, names));
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
