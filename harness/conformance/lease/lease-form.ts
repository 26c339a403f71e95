/**
 * What an event of the layer `lease` is made of: its fields, and what can be a value of each; and whose event it is.
 *
 * Responsible for: what can be said of one event alone, and of the run that it is of. What it says of others the specification judges. Source: `LeaseTraceEvent` in server/src/api/events.ts. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { StepDownReason } from '../../../server/src/multipaxos/types/names.ts';
import type { LeaseEvent } from './lease-event.ts';

/** A record of what it names, or a test of a value. */
type Field = ((value: unknown) => boolean) | { readonly [name: string]: Field };

const isTime = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1;
const isName = (value: unknown): boolean => typeof value === 'string' && /^[^./]+(\.\d+)?$/.test(value);
const orNull =
  (field: Field) =>
  (value: unknown): boolean =>
    value === null || isOf(value, field);

const ballot: Field = { round: isCount, replica: isName };
/** Of a replica that has never promised anything. */
const noBallot: Field = { round: (value) => value === 0, replica: (value) => value === '' };
const grant: Field = { untilMs: isTime, to: orNull(isName) };
const lease: Field = {
  ballot,
  untilMs: (value) => isTime(value) || value === 'always' || value === 'never',
  configuration: isCount,
  acked: (value) => Array.isArray(value) && value.every(isAcknowledged) && areDistinct(value),
};

const reasons: Readonly<Record<StepDownReason, true>> = {
  databaseFailed: true,
  logFailed: true,
  quorumLost: true,
  higherBallot: true,
  requested: true,
  handedOver: true,
  removed: true,
};
export const stepDownReasons = Object.keys(reasons);

const forms: Readonly<Record<LeaseEvent['name'], Readonly<Record<string, Field>>>> = {
  Restart: {
    leaseMs: (value) => isTime(value) && (value as number) > 0,
    clockDriftMax: (value) => isTime(value) && (value as number) >= 0 && (value as number) < 1,
    promised: (value) => isOf(value, ballot) || isOf(value, noBallot),
    grant,
  },
  HandleHeartbeat: { ballot, sentAtMs: isTime, grant },
  HandleHeartbeatAck: { from: isName, ballot, sentAtMs: isTime, lease },
  GivePromise: { ballot, grant, lease: orNull(lease) },
  Lead: { lease },
  Learn: { lease },
  Resign: { ballot, reason: (value) => stepDownReasons.includes(value as string) },
  HandleResigned: { ballot, grant },
  RunRead: { generation: isCount, leadership: ballot },
  AnswerRead: { generation: isCount, ranMs: isTime, lease: orNull(lease) },
  RefuseAnswer: { generation: isCount, lease: orNull(lease) },
};

const common: Readonly<Record<string, Field>> = { clockMs: isTime };
const ofAll: ReadonlySet<string> = new Set(['seq', 'run', 'replica', 'atUs', 'layer', 'name']);

/** Why no replica tells such an event; null: one does. */
export function malformedLease(event: LeaseEvent): string | null {
  if (!Object.hasOwn(forms, event.name)) return `${event.name} is no event of the layer lease`;
  const told = Object.fromEntries(Object.entries(event).filter(([name]) => !ofAll.has(name)));
  const form = { ...common, ...forms[event.name] };
  const wrong = Object.keys({ ...form, ...told }).find(
    (name) => !Object.hasOwn(form, name) || !isOf(told[name], form[name]!),
  );
  return wrong === undefined ? null : `${JSON.stringify(told[wrong])} is no ${wrong} of ${event.name}`;
}

function isOf(value: unknown, field: Field): boolean {
  if (typeof field === 'function') return field(value);
  if (typeof value !== 'object' || value === null) return false;
  const names = Object.keys(value);
  return (
    names.length === Object.keys(field).length &&
    Object.entries(field).every(([name, inside]) => isOf((value as Record<string, unknown>)[name], inside))
  );
}

/** A pair of whoever has acknowledged and when that was sent. */
function isAcknowledged(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && isName(value[0]) && isTime(value[1]);
}

function areDistinct(acked: readonly (readonly [string, number])[]): boolean {
  return new Set(acked.map(([peer]) => peer)).size === acked.length;
}

/** A run is of one replica. Of each the name that its events of the consensus layer have. */
export function namesOfRuns(events: readonly TraceEvent[]): ReadonlyMap<string, string> {
  return new Map(
    events.flatMap(({ layer, run, replica }) => (layer === 'consensus' ? [[run, replica]] : [])),
  );
}
