/** What a step asserts of what its event recorded: the fields p, v, o, s, u and t of TraceMultiPaxos.tla. */
import type { TraceConfiguration, TraceMessage } from '../../../server/src/multipaxos/types/trace.ts';
import { knownVersion } from './event-steps.ts';
import { sequence, text, voteLiteral, type Names } from './literal-names.ts';
import type { ConsensusEvent } from './read-trace.ts';
import { noBallot } from './spec-message.ts';

export function assertions(event: ConsensusEvent, isUnheard: boolean, names: Names): Record<string, string> {
  const fields: Record<string, string> = {};
  const { state } = event;
  fields.v = sequence(
    (event.votes ?? []).map(([slot, ballot, label]) => voteLiteral(slot, ballot, label, names)),
  );
  fields.s = sequence(sentLiterals(event, names));
  // What a replica that was just admitted begins with is the flush of a base.
  if (event.name !== 'Restart') fields.o = `${event.base === undefined ? 0 : names.slot(event.base)}`;
  if (isUnheard) fields.u = 'TRUE';
  const told = (event.configurations ?? []).map((one) => toldLiteral(one, names));
  if (told.length > 0) fields.t = sequence(told);
  fields.p = sequence([
    text(state.role),
    names.ballot(state.promised),
    names.ballot(state.durablePromised),
    `${names.slot(state.commitPoint)}`,
    `${names.slot(state.lastSlot)}`,
    state.serving ? 'TRUE' : 'FALSE',
    `${knownVersion(event)}`,
    names.ballot(state.ballot),
  ]);
  return fields;
}

function toldLiteral({ version, slot, voters, label }: TraceConfiguration, names: Names): string {
  const fields = [`${version}`, `${names.slot(slot)}`, names.voters(voters)];
  return sequence(label === undefined ? fields : [...fields, names.entry(label)]);
}

/** <<to, message>> each. Questions and answers that the spec leaves out are left out. */
function sentLiterals(event: ConsensusEvent, names: Names): string[] {
  return (event.sent ?? []).flatMap(({ to, message }) => {
    const literal = sentLiteral(event, message, names);
    return literal === null ? [] : sequence([`${names.replica(to)}`, literal]);
  });
}

function sentLiteral(event: ConsensusEvent, message: TraceMessage, names: Names): string | null {
  const { kind, ballot, commitPoint = 0, firstSlot = 0, lastSlot = 0, labels = [], votes = [] } = message;
  const b = names.ballot(ballot);
  const c = `${names.slot(commitPoint)}`;
  if (kind === 'Prepare') return sequence([text(kind), b, c]);
  if (kind === 'Heartbeat') return sequence([text(kind), b, c, names.known(message.configuration ?? 1)]);
  if (kind === 'Promise') {
    const all = votes.map(([slot, voteBallot, label]) => voteLiteral(slot, voteBallot, label, names));
    const known = names.known(message.configuration ?? 1);
    return sequence([text(kind), `${names.replica(event.replica)}`, b, c, sequence(all), known]);
  }
  if (kind === 'Accept') {
    const entries = sequence(labels.map((label) => names.entry(label)));
    return sequence([text(kind), b, `${names.slot(firstSlot)}`, entries, c]);
  }
  if (kind === 'Accepted')
    return sequence([text(kind), b, `${names.slot(firstSlot)}`, `${names.slot(lastSlot)}`, c]);
  if (kind === 'Reject') return sequence([text(kind), b, names.ballot(message.promised ?? noBallot)]);
  return null;
}
