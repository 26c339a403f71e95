/**
 * The shapes of what the demo serves, checked as it runs: each is held to its type in server/src/api by the compiler, and to what is served by the contract of the API.
 *
 * Strict: a field that no type knows of is a mistake, too.
 */
import { z } from 'zod';
import type { LoadStatus } from '../../api/load.ts';
import type {
  ClusterStatus,
  LinkFault,
  RecoveryProgress,
  ReplicaStatus,
  VerifyResult,
} from '../../api/status.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { ReplicaRates } from '../rates.ts';
import type { SqlError, SqlResult, StatementResult } from '../../api/sql.ts';

const count = z.int().min(0);
const id = z.string().transform((text) => text as ReplicaId);
const slot = count.transform((number) => number as Slot);
const place = z.strictObject({ host: z.string(), port: count });
const lsn = z.string().regex(/^[0-9A-F]+\/[0-9A-F]+$/);

/** A field that may be missing is not asked for by the type of a shape: here each has to be there. */
function shapeOf<T>() {
  return <F extends Readonly<Record<keyof T, z.ZodType>>>(fields: F) => z.strictObject(fields);
}

const recovery: z.ZodType<RecoveryProgress> = shapeOf<RecoveryProgress>()({
  phase: z.enum(['joining', 'copying', 'starting', 'catchingUp']),
  cause: z.enum(['noLog', 'logLost', 'databaseLost', 'bothLost', 'logPurged', 'diverged', 'parted', 'new']),
  source: id.nullable(),
  bytes: count,
  bytesTotal: count.nullable(),
  bytesReceived: count.exactOptional(),
  percent: z.number().min(0).max(100).nullable(),
  attempts: count,
  lastFailure: z.strictObject({ reason: z.string(), source: id.nullable(), agoMs: z.number() }).nullable(),
  sinceMs: z.number().min(0),
});

const linkFault: z.ZodType<LinkFault> = shapeOf<LinkFault>()({
  from: id,
  to: id,
  cut: z.boolean(),
  delayMs: z.number(),
  drop: z.number(),
  duplicate: z.number(),
});

const member = z.strictObject({
  replica: id,
  incarnation: count,
  role: z.enum(['voter', 'learner']),
  address: z.strictObject({ ...place.shape, pgwire: place }),
});

const status: z.ZodType<ReplicaStatus> = shapeOf<ReplicaStatus>()({
  id,
  incarnation: count,
  membership: z.strictObject({ version: count, members: z.array(member) }),
  recovery: recovery.nullable(),
  group: z.string(),
  payload: z.enum(['wal', 'statements']),
  protocol: z.discriminatedUnion('name', [
    z.strictObject({ name: z.literal('multi-paxos') }),
    z.strictObject({
      name: z.literal('paxos'),
      counts: z.strictObject({
        proposals: count,
        chosen: count,
        moved: count,
        rounds: count,
        duelled: count,
        messages: count,
        messagesPerAgreement: z.number(),
      }),
    }),
    z.strictObject({
      name: z.literal('primary'),
      role: z.enum(['recovering', 'standby', 'primary']),
      replication: z.enum(['none', 'async', 'majority', 'semi', 'sync']),
      needsCopy: z.boolean(),
      counts: z.strictObject({ acknowledged: count, unacknowledged: count }),
    }),
  ]),
  role: z.enum(['follower', 'candidate', 'leader']),
  ballot: z.strictObject({ round: count, replica: id }),
  leader: id.nullable(),
  commitPoint: slot,
  applicationPointer: slot,
  durableApplicationPointer: slot,
  lastSlot: slot,
  state: z.enum([
    'starting',
    'recovering',
    'serving',
    'noLeader',
    'databaseDown',
    'logFull',
    'logCorrupt',
    'diverged',
    'joining',
    'restoring',
    'removed',
    'down',
  ]),
  message: z.string().nullable(),
  pgwire: place,
  http: place,
  pid: count,
  postgres: z.strictObject({
    pid: count.nullable(),
    socketDir: z.string(),
    port: count,
    up: z.boolean(),
    version: z.string().nullable(),
  }),
  wal: z
    .strictObject({
      role: z.enum(['founder', 'standby', 'promoting', 'primary', 'copying']),
      timeline: count,
      chosen: lsn,
      flushed: lsn,
      replayed: lsn,
      unchosenBytes: count,
    })
    .nullable(),
  archive: z
    .strictObject({
      timeline: count.nullable(),
      end: lsn.nullable(),
      bytes: count,
      gaps: count,
      problem: z.string().nullable(),
    })
    .nullable(),
  backup: z
    .strictObject({
      directory: z.string(),
      kept: count,
      newest: z.strictObject({ name: z.string(), takenAt: z.iso.datetime(), bytes: count }).nullable(),
      ageMs: z.number().nullable(),
      dueAt: z.iso.datetime(),
      running: z.enum(['backup', 'restoreTest']).nullable(),
      problem: z.string().nullable(),
      test: z
        .strictObject({ name: z.string(), ok: z.boolean(), at: z.iso.datetime(), message: z.string() })
        .nullable(),
    })
    .nullable(),
  clients: count,
  pace: z
    .strictObject({
      logMs: z.number().nullable(),
      databaseMs: z.number().nullable(),
      quorumMs: z.number().nullable(),
      slow: z.boolean(),
    })
    .nullable()
    .exactOptional(),
  held: z
    .strictObject({
      locks: z.strictObject({
        held: count,
        max: count,
        holders: z.array(
          z.strictObject({
            pid: count.nullable(),
            locks: count,
            role: z.string().exactOptional(),
            database: z.string().exactOptional(),
            address: z.string().exactOptional(),
          }),
        ),
      }),
      prepared: z.strictObject({
        count,
        max: count,
        oldest: z.strictObject({ gid: z.string(), ageMs: count, xids: count }).nullable(),
        limit: z.strictObject({ minutes: count, problem: z.string().nullable() }).exactOptional(),
      }),
    })
    .nullable()
    .exactOptional(),
  left: z
    .strictObject({
      count,
      longest: z.array(
        z.strictObject({
          pid: count,
          role: z.string(),
          database: z.string(),
          address: z.string(),
          leftMs: count,
          waitsFor: z.string().nullable(),
        }),
      ),
    })
    .exactOptional(),
  log: z.strictObject({ bytes: count, segments: count, purgedTo: slot }),
  peers: z.array(z.strictObject({ id, connected: z.boolean(), version: count.nullable() })),
  faults: z.array(linkFault),
  certificates: z.array(
    z.strictObject({ name: z.string(), expiresAt: z.string(), problem: z.string().nullable() }),
  ),
  counters: z.strictObject({
    transactions: count,
    reads: count,
    appliedEntries: count,
    droppedEvents: count,
    readIndexes: count,
    shownQuestions: count,
    readsRefused: count,
    preparedRolledBack: count.exactOptional(),
  }),
});

export const clusterShape: z.ZodType<ClusterStatus> = shapeOf<ClusterStatus>()({
  group: z.string(),
  check: z.null(),
  replicas: z.array(
    z.strictObject({
      id,
      process: z.enum(['running', 'paused', 'stopped']),
      status: status.nullable(),
      ageMs: z.number().min(0).nullable(),
    }),
  ),
});

const rates: z.ZodType<ReplicaRates> = shapeOf<ReplicaRates>()({
  transactionsPerSecond: z.number().min(0),
  readsPerSecond: z.number().min(0),
  appliedPerSecond: z.number().min(0),
  latencyMsP50: z.number().min(0),
  latencyMsP99: z.number().min(0),
});

/** What every event has; what else it says is its name's. */
const event = z.looseObject({
  seq: z.int().min(1),
  run: z.string().min(1),
  replica: z.string().min(1),
  atUs: count,
  layer: z.enum(['consensus', 'apply', 'lease', 'operation']),
  name: z.string().min(1),
});

const writes = z.int().min(0);
const loadShape: z.ZodType<LoadStatus> = shapeOf<LoadStatus>()({
  settings: z.strictObject({
    isRunning: z.boolean(),
    clients: z.int(),
    perSecond: z.number(),
    readShare: z.number(),
  }),
  counts: z.strictObject({
    acknowledged: writes,
    refused: writes,
    unknown: writes,
    reads: writes,
    readsRefused: writes,
  }),
  lost: writes,
  lostIds: z.array(z.int()),
  risen: writes,
  stale: writes.exactOptional(),
  findings: z
    .array(
      z.strictObject({
        kind: z.enum(['lost', 'stale']),
        row: z.int(),
        replica: z.string(),
        acknowledgedAtMs: z.number().nullable(),
        foundAtMs: z.number(),
      }),
    )
    .exactOptional(),
  replicas: z.array(
    z.strictObject({
      id: z.string(),
      checkedAgoMs: z.number().nullable(),
      missing: writes,
      problem: z.string().nullable(),
    }),
  ),
});

export const frameShape = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('cluster'), cluster: clusterShape }),
  z.strictObject({ type: z.literal('events'), events: z.array(event), dropped: count }),
  z.strictObject({ type: z.literal('rates'), at: z.number(), perReplica: z.record(z.string(), rates) }),
  z.strictObject({ type: z.literal('load'), load: loadShape }),
]);

export const verifyShape: z.ZodType<VerifyResult> = shapeOf<VerifyResult>()({
  slot,
  replicas: z.array(
    z.strictObject({
      replica: id,
      outcome: z.enum(['equal', 'differs', 'noReport']),
      detail: z.array(z.string()),
    }),
  ),
  leftOut: z.int().min(0),
  advice: z.array(z.string()),
});

const statementResult = z.strictObject({
  columns: z.array(z.string()),
  rows: z.array(z.array(z.string().nullable())),
  command: z.string(),
  truncated: z.boolean(),
  binaryBytes: z.int().min(0).exactOptional(),
}) satisfies z.ZodType<StatementResult>;

export const sqlShape: z.ZodType<SqlResult> = statementResult.extend({
  durationMs: z.number().min(0),
  earlier: z.array(statementResult),
});

const sqlError: z.ZodType<SqlError> = shapeOf<SqlError>()({
  code: z.string().regex(/^[0-9A-Z]{5}$/),
  message: z.string().min(1),
  detail: z.string().exactOptional(),
  hint: z.string().exactOptional(),
  position: z.int().min(1).exactOptional(),
});
export const sqlErrorShape = z.strictObject({ error: sqlError });

export const refusalShape = z.strictObject({
  error: z.strictObject({ code: z.string().min(1), message: z.string().min(1) }),
});

/** `label` and `content` are for people: the page goes by the kind. */
export const slotShape = z.strictObject({
  slot,
  label: z.string(),
  content: z.looseObject({
    kind: z.enum(['range', 'leadership', 'verify', 'noop', 'leaderStart', 'members', 'unreadable']),
  }),
});
