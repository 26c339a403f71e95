/**
 * What an event of the layer `apply` is made of: its fields, and what can be a value of each; and whose event it is.
 *
 * Responsible for: what can be said of one event alone, and of the run that it is of. What it says of others TLC judges (specs/TraceOrderedApply.tla). Source: `ApplyTraceEvent` in server/src/api/events.ts.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import { disagreementIn } from './apply-agreement.ts';
import type { ApplyEvent } from './apply-event.ts';

/** `place`: a slot or a position of WAL. `recordEnd`: a position at which PostgreSQL's records end, which is a multiple of eight. `text`: for people. A list of words: one of them. */
type Field =
  | 'place'
  | 'recordEnd'
  | 'number'
  | 'label'
  | 'ballot'
  | 'xid'
  | 'xids'
  | 'truth'
  | 'replica'
  | 'text'
  | readonly string[];

const leadership = {
  leadership: 'ballot',
  timeline: 'number',
  fork: 'place',
  nextXid: 'xid',
  resumes: 'truth',
} as const;
const range = {
  label: 'label',
  leadership: 'ballot',
  timeline: 'number',
  start: 'place',
  end: 'place',
} as const;

/** The words of each field that has no others. */
export const roles = ['founder', 'standby', 'promoting', 'primary', 'copying'] as const;
export const checkOutcomes = ['standby', 'parted', 'undecided'] as const;
export const toldOutcomes = ['committed', 'notCommitted', 'unknown'] as const;
export const purgeReasons = ['everybody', 'pressure'] as const;

export const applyForms: Readonly<Record<ApplyEvent['name'], Readonly<Record<string, Field>>>> = {
  Ship: { ...range, commits: 'xids' },
  Release: { slot: 'place', start: 'place', position: 'place', commits: 'xids' },
  Feed: { slot: 'place', ...range },
  Skip: { slot: 'place', label: 'label', why: 'text' },
  Replay: { flushed: 'place', replayed: 'recordEnd', durable: 'place', applied: 'place' },
  FlushStandby: { from: 'place', slot: 'place', position: 'place' },
  ProposeLeadership: { label: 'label', ...leadership },
  BeginLeadership: { slot: 'place', label: 'label', ...leadership, role: roles },
  Promote: { leadership: 'ballot', timeline: 'number', fork: 'place' },
  Resume: { leadership: 'ballot', timeline: 'number', position: 'place' },
  Open: { leadership: 'ballot', slot: 'place', position: 'place' },
  Depose: { leadership: 'ballot', reason: 'text' },
  DatabaseDown: { reason: 'text' },
  DatabaseUp: { role: ['standby', 'founder'], slot: 'place', position: 'place', timeline: 'number' },
  CheckPrefix: { outcome: checkOutcomes, slot: 'place', timeline: 'number', position: 'place' },
  BeginCopy: { source: 'replica' },
  GiveUpCopy: { source: 'replica' },
  EndCopy: { source: 'replica', slot: 'place', position: 'place', timeline: 'number' },
  EndWait: {},
  Barrier: { slot: 'place', position: 'place', opens: 'truth' },
  AskOutcome: { question: 'number', open: 'number', xid: 'xid', leadership: 'ballot' },
  TellOutcome: { question: 'number', xid: 'xid', leadership: 'ballot', outcome: toldOutcomes },
  Purge: { from: 'place', slot: 'place', why: purgeReasons },
};

const common: ReadonlySet<string> = new Set(['seq', 'run', 'replica', 'atUs', 'layer', 'name']);

export interface ApplyContradiction {
  readonly event: ApplyEvent;
  /** Counts from 1 among those of the layer, in the order in which they were recorded. */
  readonly number: number;
  readonly reason: string;
}

/** The first event that no replica tells; null: there is none. */
export function applyContradictionIn(events: readonly TraceEvent[]): ApplyContradiction | null {
  const names = namesOfRuns(events);
  let number = 0;
  for (const event of events) {
    if (event.layer !== 'apply') continue;
    number++;
    const reason = malformedApply(event) ?? misnamed(event, names);
    if (reason !== null) return { event, number, reason };
  }
  const disagreement = disagreementIn(events);
  if (disagreement === null) return null;
  return { ...disagreement, number: numberOf(events, disagreement.event) };
}

function numberOf(events: readonly TraceEvent[], event: ApplyEvent): number {
  return events.filter(({ layer }) => layer === 'apply').findIndex((one) => one === event) + 1;
}

/** Why no replica tells such an event; null: one does. */
export function malformedApply(event: ApplyEvent): string | null {
  if (!Object.hasOwn(applyForms, event.name)) return `${event.name} is no event of the layer apply`;
  const form = applyForms[event.name];
  const fields = event as unknown as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(fields))
    if (!common.has(name) && !Object.hasOwn(form, name)) return `${event.name} has no ${name}`;
  for (const [name, field] of Object.entries(form)) {
    const value = fields[name];
    if (value === undefined) return `its ${name} is missing`;
    if (!isOf(value, field)) return `${JSON.stringify(value)} is no ${name} of ${event.name}`;
  }
  return null;
}

function isOf(value: unknown, field: Field): boolean {
  switch (field) {
    case 'place':
    case 'number':
      return Number.isSafeInteger(value) && (value as number) >= 0;
    case 'recordEnd':
      return isOf(value, 'place') && (value as number) % 8 === 0;
    case 'label':
      return typeof value === 'string' && /^[^/]+\/\d+$/.test(value);
    case 'text':
      return typeof value === 'string' && value !== '';
    case 'replica':
      return typeof value === 'string' && /^[^./]+(\.\d+)?$/.test(value);
    case 'xid':
      return typeof value === 'string' && /^\d+$/.test(value);
    case 'xids':
      return Array.isArray(value) && value.every((one) => isOf(one, 'xid'));
    case 'truth':
      return typeof value === 'boolean';
    case 'ballot': {
      const { round, replica } = (value ?? {}) as { readonly round?: unknown; readonly replica?: unknown };
      return isOf(round, 'number') && isOf(replica, 'replica');
    }
    default:
      return field.some((word) => word === value);
  }
}

/** Of each run the name that its replica has from its first consensus event on. */
function namesOfRuns(events: readonly TraceEvent[]): ReadonlyMap<string, TraceEvent> {
  const names = new Map<string, TraceEvent>();
  for (const event of events) {
    const first = names.get(event.run);
    const isEarlier = first === undefined || event.seq < first.seq;
    if (event.layer === 'consensus' && isEarlier) names.set(event.run, event);
  }
  return names;
}

/** A run is of one replica: of one life from where its log begins, and of the same machine before. */
function misnamed(
  { replica, run, seq, name }: ApplyEvent & TraceEvent,
  names: ReadonlyMap<string, TraceEvent>,
): string | null {
  const named = names.get(run);
  if (named === undefined) return null;
  const isHis = seq > named.seq ? replica === named.replica : replicaOf(replica) === replicaOf(named.replica);
  return isHis ? null : `${name} is told by ${replica} in a run of ${named.replica}`;
}
