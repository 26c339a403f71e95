/**
 * A replica's metrics for Prometheus, read off its status and its measures when asked for, and its latency histograms.
 *
 * Responsible for: names, help texts, buckets; what is read off the measures is in measures-metrics.ts. Invariants: reading metrics changes nothing, and is of one look at the replica; recording a latency never throws.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Measures, noGatewayMeasures, noPeerTraffic, noReplicaMeasures } from '../../api/measures.ts';
import type {
  CertificateStatus,
  RecoveryProgress,
  ReplicaCondition,
  ReplicaStatus,
} from '../../api/status.ts';
import type { Role } from '../../multipaxos/types/names.ts';
import { bucketsMs, type LatencyBuckets } from './latency-buckets.ts';
import { type BuildLabels, registerMeasures } from './measures-metrics.ts';

/** What is measured while it happens, in milliseconds. */
export interface LatencyObserver {
  /** A range of the leader's WAL: from being proposed to being chosen. */
  agreement(ms: number): void;
  /** A group of records of the log; null: it could not be written. */
  logWrite(write: LogWrite | null): void;
}

/** `ms`: from handing it over to its being durable. `bytes`: of the entries in it. */
export interface LogWrite {
  readonly ms: number;
  readonly records: number;
  readonly bytes: number;
}

export interface Metrics {
  /** The main thread stood still for so long. */
  readonly stoodStill: (standstill: { readonly ms: number }) => void;
  readonly latencies: LatencyObserver;
  buckets(): Promise<LatencyBuckets>;
  /** The text that Prometheus reads. */
  text(): Promise<string>;
  readonly contentType: string;
}

const roles: readonly Role[] = ['follower', 'candidate', 'leader'];
const conditions: readonly ReplicaCondition[] = [
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
];
const recoveryPhases: readonly RecoveryProgress['phase'][] = ['joining', 'copying', 'starting', 'catchingUp'];

const isVoter = ({ role }: ReplicaStatus['membership']['members'][number]): boolean => role === 'voter';

type Reading = (status: ReplicaStatus) => number;
const gauges: readonly (readonly [name: string, help: string, read: Reading])[] = [
  ['barista_ballot_round', 'Round of the ballot that the replica is in', (s) => s.ballot.round],
  ['barista_commit_point', 'Every slot at or below is chosen', (s) => s.commitPoint],
  ['barista_application_pointer', 'Every slot at or below is in PostgreSQL', (s) => s.applicationPointer],
  [
    'barista_durable_application_pointer',
    'Every slot at or below survives a crash of PostgreSQL',
    (s) => s.durableApplicationPointer,
  ],
  ['barista_last_slot', 'Highest slot in the log', (s) => s.lastSlot],
  ['barista_log_bytes', 'Bytes of the log on disk', (s) => s.log.bytes],
  ['barista_log_segments', 'Segment files of the log', (s) => s.log.segments],
  ['barista_log_purged_slot', 'Slots at or below have been purged from the log', (s) => s.log.purgedTo],
  ['barista_clients', 'SQL clients connected to this replica', (s) => s.clients],
  [
    'barista_peers_connected',
    'Peers that this replica is connected to',
    (s) => s.peers.filter((p) => p.connected).length,
  ],
  ['barista_incarnation', 'Lives of the log of this replica; 0 until it is let in', (s) => s.incarnation],
  [
    'barista_members_version',
    'Changes of the members that the replica knows of',
    (s) => s.membership.version,
  ],
  ['barista_voters', 'Members that count for majorities', (s) => s.membership.members.filter(isVoter).length],
  [
    'barista_recovery_bytes',
    "Bytes of a database that were compared with a peer's",
    (s) => s.recovery?.bytes ?? 0,
  ],
  [
    'barista_recovery_bytes_expected',
    'Bytes that the copy has, about; 0: not known, or none under way',
    (s) => s.recovery?.bytesTotal ?? 0,
  ],
  [
    'barista_recovery_ratio',
    'How much of the phase that the recovery is in is done, 0 to 1',
    (s) => (s.recovery?.percent ?? 0) / 100,
  ],
  ['barista_recovery_attempts', 'Copies begun in this recovery', (s) => s.recovery?.attempts ?? 0],
  ['barista_unchosen_bytes', 'WAL of this leader that is not chosen yet', (s) => s.wal?.unchosenBytes ?? 0],
  ['barista_archive_bytes', 'Bytes of archived WAL', (s) => s.archive?.bytes ?? 0],
  [
    'barista_archive_behind_bytes',
    'Chosen WAL that is not in the archive of this replica yet; 0: nothing is archived',
    archiveBehind,
  ],
  [
    'barista_recovery_seconds',
    'For how long it has been recovering',
    (s) => (s.recovery?.sinceMs ?? 0) / 1000,
  ],
  [
    'barista_backup_age_seconds',
    'Since the newest backup of the schedule was begun; +Inf: there is none; NaN: there is no schedule',
    ({ backup }) =>
      backup === null ? Number.NaN : backup.ageMs === null ? Number.POSITIVE_INFINITY : backup.ageMs / 1000,
  ],
  ['barista_backups_kept', 'Good backups in the directory of the schedule', (s) => s.backup?.kept ?? 0],
  [
    'barista_backup_failed',
    '1 if the last attempt of this replica to make a backup failed',
    (s) => (s.backup?.problem == null ? 0 : 1),
  ],
  [
    'barista_restore_test_failed',
    '1 if the newest restore test of a backup failed',
    (s) => (s.backup?.test?.ok === false ? 1 : 0),
  ],
  [
    'barista_archive_failed',
    '1 if chosen WAL is to be archived, and is not',
    (s) => (s.archive?.problem == null ? 0 : 1),
  ],
  [
    'barista_locks_held',
    'Entries of the shared lock table of PostgreSQL that are taken',
    (s) => s.held?.locks.held ?? 0,
  ],
  ['barista_locks_max', 'Entries that the shared lock table has room for', (s) => s.held?.locks.max ?? 0],
  ['barista_prepared_transactions', 'Transactions that are prepared', (s) => s.held?.prepared.count ?? 0],
  [
    'barista_prepared_transactions_max',
    'Transactions that can be prepared (max_prepared_transactions)',
    (s) => s.held?.prepared.max ?? 0,
  ],
  [
    'barista_prepared_oldest_seconds',
    'Age of the oldest prepared transaction; 0: there is none',
    (s) => (s.held?.prepared.oldest?.ageMs ?? 0) / 1000,
  ],
  ['barista_postgres_up', '1 if the PostgreSQL of this replica answers', (s) => (s.postgres.up ? 1 : 0)],
];
/** Kept by the replica itself, so they are copied as they stand. */
const totals: typeof gauges = [
  [
    'barista_transactions_total',
    'Transactions committed here after agreement',
    (s) => s.counters.transactions,
  ],
  ['barista_reads_total', 'Transactions that changed nothing', (s) => s.counters.reads],
  ['barista_applied_entries_total', 'Entries applied from the log', (s) => s.counters.appliedEntries],
  [
    'barista_read_indexes_total',
    'Read indexes asked of leaders, each for all reads at this standby that waited then',
    (s) => s.counters.readIndexes,
  ],
  [
    'barista_shown_questions_total',
    'Questions to leaders whether their PostgreSQL shows what linearizable reads at this standby have found, each for all that waited then',
    (s) => s.counters.shownQuestions,
  ],
  [
    'barista_reads_refused_total',
    'Reads at this standby that were refused because it was not current in time, or the leader did not show in time what they had found',
    (s) => s.counters.readsRefused,
  ],
  [
    'barista_prepared_rolled_back_total',
    'Prepared transactions that this replica has rolled back for their age',
    (s) => s.counters.preparedRolledBack ?? 0,
  ],
  ['barista_archive_gaps_total', 'Times that WAL was missing in the archive', (s) => s.archive?.gaps ?? 0],
  ['barista_dropped_events_total', 'Events that a listener did not get', (s) => s.counters.droppedEvents],
];

/** Of the library's metrics of the event loop, those that need a timer of their own: each of its wake-ups is one of the process, also when nobody uses the cluster, and told is what the timer adds to the delay. */
const lagByTimer = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];
const hourMs = 3_600_000;
/** Gauges of the library's that are named like counters. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

export interface MetricsOptions {
  /** Default: nothing is measured. */
  readonly measures?: () => Measures;
  /** Default: it is not known. */
  readonly build?: Omit<BuildLabels, 'postgres'>;
}

const unmeasured: Measures = {
  replica: noReplicaMeasures,
  gateway: noGatewayMeasures,
  thrift: null,
  peers: noPeerTraffic,
};
const unknownBuild = { version: 'unknown', commit: 'unknown', node: process.versions.node };

export function createMetrics(look: () => ReplicaStatus, options: MetricsOptions = {}): Metrics {
  const { measures = () => unmeasured, build = unknownBuild } = options;
  /** Null: nobody is asking just now. */
  let seen: { readonly status: ReplicaStatus; readonly measures: Measures } | null = null;
  const now = (): NonNullable<typeof seen> => seen ?? { status: look(), measures: measures() };
  const status = (): ReplicaStatus => now().status;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: hourMs });
  for (const which of lagByTimer) registry.removeSingleMetric(`nodejs_eventloop_lag_${which}_seconds`);
  for (const name of misnamed) registry.removeSingleMetric(name);
  registerStatus(registry, status);
  registerMeasures(registry, () => {
    const { status, measures } = now();
    return { measures, build: { ...build, postgres: status.postgres.version ?? 'unknown' } };
  });
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, buckets: bucketsMs.map((ms) => ms / 1000), registers: [registry] });
  const agreements = histogram(
    'barista_agreement_seconds',
    "Time from proposing a range of the leader's WAL to its being chosen",
  );

  const logWrites = histogram(
    'barista_log_write_seconds',
    'Time from handing a group of records to the log to its being durable',
  );
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [registry] });
  const logRecords = counter(
    'barista_log_written_records_total',
    'Records of the log that were made durable',
  );
  const logBytes = counter(
    'barista_log_written_bytes_total',
    'Bytes of entries that were made durable in the log',
  );
  const logFailures = counter(
    'barista_log_write_failures_total',
    'Groups of records that could not be written',
  );

  const standstills = counter(
    'barista_standstills_total',
    'Times that the main thread stood still for a second or longer',
  );
  const standstillSeconds = counter(
    'barista_standstill_seconds_total',
    'Time that the main thread stood still, of those',
  );

  return {
    stoodStill({ ms }) {
      standstills.inc();
      standstillSeconds.inc(ms / 1000);
    },
    latencies: {
      agreement: (ms) => agreements.observe(Math.max(0, ms) / 1000),
      logWrite: (write) => {
        if (write === null) {
          logFailures.inc();
          return;
        }
        logWrites.observe(Math.max(0, write.ms) / 1000);
        logRecords.inc(write.records);
        logBytes.inc(write.bytes);
      },
    },
    async buckets() {
      const upToMs = [...bucketsMs, null];
      return { upToMs, agreements: await cumulative(agreements) };
    },
    async text() {
      seen = now();
      // Whatever is read off the replica is read within the call.
      const text = registry.metrics();
      seen = null;
      return text;
    },
    contentType: registry.contentType,
  };
}

/** Across a fork positions go on from where it was, so that their difference is what is missing. */
function archiveBehind({ wal, archive }: ReplicaStatus): number {
  if (wal === null || archive === null || archive.end === null) return 0;
  return Math.max(0, lsnOf(wal.chosen) - lsnOf(archive.end));
}

/** As PostgreSQL writes it. */
function lsnOf(text: string): number {
  const [high = '', low = ''] = text.split('/');
  return Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16);
}

async function cumulative(histogram: Histogram): Promise<number[]> {
  const { values } = await histogram.get();
  const counts = values.filter((value) => value.metricName?.endsWith('_bucket')).map((value) => value.value);
  return counts.length > 0 ? counts : Array.from({ length: bucketsMs.length + 1 }, () => 0);
}

function registerStatus(registry: Registry, status: () => ReplicaStatus): void {
  const register = (metric: Gauge | Counter): void => registry.registerMetric(metric);
  for (const [name, help, read] of gauges) {
    const collect = function (this: Gauge): void {
      this.set(read(status()));
    };
    register(new Gauge({ name, help, registers: [], collect }));
  }
  for (const [name, help, read] of totals) {
    const collect = function (this: Counter): void {
      this.reset();
      this.inc(read(status()));
    };
    register(new Counter({ name, help, registers: [], collect }));
  }
  const oneOf = (
    name: string,
    help: string,
    label: string,
    values: readonly string[],
    now: () => string,
  ): void => {
    const collect = function (this: Gauge): void {
      const current = now();
      for (const value of values) this.set({ [label]: value }, value === current ? 1 : 0);
    };
    register(new Gauge({ name, help, labelNames: [label], registers: [], collect }));
  };
  oneOf('barista_role', '1 for the role that the replica has', 'role', roles, () => status().role);
  oneOf(
    'barista_recovery_phase',
    '1 for the phase that a recovery is in; all 0 if there is none',
    'phase',
    recoveryPhases,
    () => status().recovery?.phase ?? '',
  );
  registerCertificates(register, status);
  oneOf('barista_state', '1 for the state that the replica is in', 'state', conditions, () => status().state);
}

function registerCertificates(register: (metric: Gauge) => void, status: () => ReplicaStatus): void {
  const ofEach = (name: string, help: string, read: (one: CertificateStatus) => number): void => {
    const collect = function (this: Gauge): void {
      this.reset();
      for (const one of status().certificates) this.set({ certificate: one.name }, read(one));
    };
    register(new Gauge({ name, help, labelNames: ['certificate'], registers: [], collect }));
  };
  ofEach(
    'barista_certificate_expires_seconds',
    'When the certificate that is in force expires, in seconds since 1970',
    ({ expiresAt }) => Date.parse(expiresAt) / 1000,
  );
  ofEach('barista_certificate_problem', '1 if newer files cannot be used', ({ problem }) =>
    problem === null ? 0 : 1,
  );
}
