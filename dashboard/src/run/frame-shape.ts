/**
 * Whether a frame of a file has the shape that the page reads: a run of another version, or one that somebody has changed, is told where it differs.
 *
 * Responsible for: every field of statuses that is read, and what all events have. The compiler holds the shapes to the types in server/src/api. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { LoadStatus } from '../../../server/src/api/load.ts';
import type {
  ClusterReplica,
  ClusterStatus,
  LinkFault,
  MembershipStatus,
  PeerStatus,
  ReplicaStatus,
  WalStatus,
} from '../../../server/src/api/status.ts';
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';
import type { Frame, ReplicaRates } from '../model/frames.ts';

/** Null: it is so. Else where it is not, below the value: empty for itself, or `.members[0].replica`. */
type Check = (value: unknown) => string | null;

const isA =
  (type: 'number' | 'string' | 'boolean'): Check =>
  (value) =>
    typeof value === type ? null : '';
const number = isA('number');
const text = isA('string');
const flag = isA('boolean');
const anything: Check = () => null;

const orNull =
  (check: Check): Check =>
  (value) =>
    value === null ? null : check(value);

const listOf =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return '';
    for (const [index, one] of value.entries()) {
      const wrong = check(one);
      if (wrong !== null) return `[${index}]${wrong}`;
    }
    return null;
  };

/** Of each of these; others may be there. */
function having<T>(shape: { readonly [Key in RequiredOf<T>]: Check }): Check {
  const checks = Object.entries<Check>(shape);
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return '';
    for (const [key, check] of checks) {
      const wrong = check((value as Readonly<Record<string, unknown>>)[key]);
      if (wrong !== null) return `.${key}${wrong}`;
    }
    return null;
  };
}

type RequiredOf<T> = { [Key in keyof T]-?: undefined extends T[Key] ? never : Key }[keyof T] & string;

const place = having<ReplicaStatus['pgwire']>({ host: text, port: number });
const ballot = having<Ballot>({ round: number, replica: text });
const protocols: readonly string[] = [
  'multi-paxos',
  'paxos',
  'primary',
] satisfies readonly ReplicaStatus['protocol']['name'][];

const status = having<ReplicaStatus>({
  id: text,
  incarnation: number,
  membership: having<MembershipStatus>({
    version: number,
    members: listOf(
      having<MembershipStatus['members'][number]>({
        replica: text,
        incarnation: number,
        role: text,
        address: having<MembershipStatus['members'][number]['address']>({
          host: text,
          port: number,
          pgwire: place,
        }),
      }),
    ),
  }),
  recovery: orNull(
    having<NonNullable<ReplicaStatus['recovery']>>({
      phase: text,
      cause: text,
      source: orNull(text),
      bytes: number,
      bytesTotal: orNull(number),
      percent: orNull(number),
      attempts: number,
      lastFailure: orNull(
        having<NonNullable<NonNullable<ReplicaStatus['recovery']>['lastFailure']>>({
          reason: text,
          source: orNull(text),
          agoMs: number,
        }),
      ),
      sinceMs: number,
    }),
  ),
  group: text,
  protocol: (value) => {
    const wrong = having<{ name: string }>({ name: text })(value);
    return wrong ?? (protocols.includes((value as { readonly name: string }).name) ? null : '.name');
  },
  payload: text,
  role: text,
  ballot,
  leader: orNull(text),
  commitPoint: number,
  applicationPointer: number,
  durableApplicationPointer: number,
  lastSlot: number,
  state: text,
  message: orNull(text),
  pgwire: place,
  http: place,
  pid: number,
  postgres: having<ReplicaStatus['postgres']>({
    pid: orNull(number),
    socketDir: text,
    port: number,
    up: flag,
    version: orNull(text),
  }),
  wal: orNull(
    having<WalStatus>({
      role: text,
      timeline: number,
      chosen: text,
      flushed: text,
      replayed: text,
      unchosenBytes: number,
    }),
  ),
  archive: orNull(having<object>({})),
  backup: orNull(having<object>({})),
  clients: number,
  log: having<ReplicaStatus['log']>({ bytes: number, segments: number, purgedTo: number }),
  peers: listOf(having<PeerStatus>({ id: text, connected: flag, version: orNull(number) })),
  certificates: listOf(having<object>({})),
  faults: listOf(
    having<LinkFault>({
      from: text,
      to: text,
      cut: flag,
      delayMs: number,
      drop: number,
      duplicate: number,
    }),
  ),
  counters: having<ReplicaStatus['counters']>({
    transactions: number,
    reads: number,
    appliedEntries: number,
    droppedEvents: number,
    readIndexes: number,
    shownQuestions: number,
    readsRefused: number,
  }),
});

const cluster = having<ClusterStatus>({
  group: text,
  check: anything,
  replicas: listOf(
    having<ClusterReplica>({ id: text, process: text, status: orNull(status), ageMs: orNull(number) }),
  ),
});

const layers: Readonly<Record<TraceEvent['layer'], true>> = {
  consensus: true,
  apply: true,
  lease: true,
  protocol: true,
  operation: true,
};

/** What an event of its kind tells beyond that differs from kind to kind, and is not looked at. */
const event: Check = (value) => {
  const wrong = having<Pick<TraceEvent, 'seq' | 'run' | 'replica' | 'atUs' | 'layer' | 'name'>>({
    seq: number,
    run: text,
    replica: text,
    atUs: number,
    layer: text,
    name: text,
  })(value);
  if (wrong !== null) return wrong;
  return (value as { readonly layer: string }).layer in layers ? null : '.layer';
};

const load = having<LoadStatus>({
  settings: having<LoadStatus['settings']>({
    isRunning: flag,
    clients: number,
    perSecond: number,
    readShare: number,
  }),
  counts: having<LoadStatus['counts']>({
    acknowledged: number,
    refused: number,
    unknown: number,
    reads: number,
    readsRefused: number,
  }),
  lost: number,
  lostIds: listOf(number),
  risen: number,
  replicas: listOf(
    having<LoadStatus['replicas'][number]>({
      id: text,
      checkedAgoMs: orNull(number),
      missing: number,
      problem: orNull(text),
    }),
  ),
});

const rates = having<ReplicaRates>({
  transactionsPerSecond: number,
  readsPerSecond: number,
  appliedPerSecond: number,
  latencyMsP50: number,
  latencyMsP99: number,
});

/** Null: nothing is wrong with it. Else the path of the first field that is not there, or is of another kind: `cluster.replicas[0].status.membership`. */
export function frameFault(frame: Frame): string | null {
  const at = (name: string, wrong: string | null): string | null =>
    wrong === null ? null : `${name}${wrong}`;
  switch (frame.type) {
    case 'cluster':
      return at('cluster', cluster(frame.cluster));
    case 'events':
      return at('events', listOf(event)(frame.events));
    case 'load':
      return at('load', load(frame.load));
    case 'rates': {
      for (const [id, one] of Object.entries(frame.perReplica)) {
        const wrong = at(`perReplica.${id}`, rates(one));
        if (wrong !== null) return wrong;
      }
      return null;
    }
    default:
      return frame satisfies never;
  }
}
