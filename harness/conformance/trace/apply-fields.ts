/**
 * The fields of a step of specs/TraceOrderedApply.tla, and how they are written. Pure.
 */
import type { ApplyEvent } from './apply-event.ts';
import type { ApplyFacts } from './apply-facts.ts';

/** A unit of WAL: the leadership that wrote it, whether a record ends with it, whether it is of the empty rest of a segment, and the transactions that it commits. */
export interface UnitFields {
  readonly b: number;
  readonly w: boolean;
  readonly e: boolean;
  readonly c: readonly number[];
}

export type Fields = Readonly<
  Record<string, string | number | boolean | readonly UnitFields[] | ReadonlySet<number>>
>;

/** Proposals name the slot that they got into, and their label; other steps need none. */
export const noParameters: Fields = { s: 0, l: '', p: 0 };

/** Everything that the event tells, under the names of the specification. */
export function eventFields(event: ApplyEvent, facts: ApplyFacts): Fields {
  const { positionRank, ballotRank } = facts;
  switch (event.name) {
    case 'Ship':
      return { ...range(event, facts), s: facts.slotOf(event.label) };
    case 'Feed':
      return { ...range(event, facts), s: event.slot };
    case 'Release':
      return { s: event.slot, from: positionRank(event.start), p: positionRank(event.position) };
    case 'FlushStandby':
      return { from: event.from, s: event.slot, p: positionRank(event.position) };
    case 'Skip':
      return { s: event.slot, l: event.label };
    case 'Replay':
      return {
        flushed: positionRank(event.flushed),
        replayed: positionRank(event.replayed),
        durable: event.durable,
        applied: event.applied,
      };
    case 'ProposeLeadership':
      return { ...leadership(event, facts), s: facts.slotOf(event.label) };
    case 'BeginLeadership':
      return { ...leadership(event, facts), s: event.slot, role: event.role };
    case 'Promote':
      return { b: ballotRank(event.leadership), t: event.timeline, f: positionRank(event.fork) };
    case 'Resume':
      return { b: ballotRank(event.leadership), t: event.timeline, p: positionRank(event.position) };
    case 'Open':
      return { b: ballotRank(event.leadership), s: event.slot, p: positionRank(event.position) };
    case 'Depose':
      return { b: ballotRank(event.leadership) };
    case 'DatabaseUp':
      return { role: event.role, s: event.slot, p: positionRank(event.position), t: event.timeline };
    case 'CheckPrefix':
      return { outcome: event.outcome, s: event.slot, p: positionRank(event.position), t: event.timeline };
    case 'BeginCopy':
    case 'GiveUpCopy':
      return { q: facts.replicaRank(event.source) };
    case 'EndCopy':
      return {
        q: facts.replicaRank(event.source),
        s: event.slot,
        p: positionRank(event.position),
        t: event.timeline,
      };
    case 'Barrier':
      return { s: event.slot, p: positionRank(event.position), opens: event.opens };
    case 'AskOutcome':
      return { ...question(event, facts), open: event.open };
    case 'TellOutcome':
      return { ...question(event, facts), outcome: event.outcome };
    case 'Purge':
      return { from: event.from, s: event.slot, why: event.why };
    case 'DatabaseDown':
    case 'EndWait':
      return {};
    default:
      return event satisfies never;
  }
}

function question(
  event: Extract<ApplyEvent, { name: 'AskOutcome' | 'TellOutcome' }>,
  facts: ApplyFacts,
): Fields {
  return { n: event.question, b: facts.ballotRank(event.leadership), x: facts.xidRank(event.xid) };
}

function range(event: Extract<ApplyEvent, { name: 'Ship' | 'Feed' }>, facts: ApplyFacts): Fields {
  const { label, leadership: ballot, timeline, start, end } = event;
  return {
    l: label,
    b: facts.ballotRank(ballot),
    t: timeline,
    from: facts.positionRank(start),
    to: facts.positionRank(end),
  };
}

function leadership(
  event: Extract<ApplyEvent, { name: 'ProposeLeadership' | 'BeginLeadership' }>,
  facts: ApplyFacts,
): Fields {
  const { label, leadership: ballot, timeline, fork, nextXid, resumes } = event;
  return {
    l: label,
    b: facts.ballotRank(ballot),
    t: timeline,
    f: facts.positionRank(fork),
    x: facts.xidRank(nextXid),
    resumes,
  };
}

/** As TLA+ has it. A transaction of a unit is named by its leadership and its id. */
export function fieldsLiteral(action: string, fields: Fields): string {
  const parts = Object.entries(fields).map(([name, value]) => `${name}|->${valueLiteral(value)}`);
  return `[${[`a|->"${action}"`, ...parts].join(',')}]`;
}

function valueLiteral(value: Fields[string]): string {
  if (typeof value === 'string') return `"${value.replaceAll(/[\\"]/g, '\\$&')}"`;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  if (value instanceof Set) return `{${[...value].join(',')}}`;
  return `<<${(value as readonly UnitFields[]).map(unitLiteral).join(',')}>>`;
}

function unitLiteral({ b, w, e, c }: UnitFields): string {
  const commits = c.map((xid) => `[request|-><<${b},${xid}>>,xid|->${xid}]`);
  return `[b|->${b},w|->${valueLiteral(w)},e|->${valueLiteral(e)},c|->{${commits.join(',')}}]`;
}
