/**
 * A replica's metrics for Prometheus, read off its status when asked for, and its latency histograms.
 *
 * Responsible for: names, help texts, buckets. Invariant: reading metrics changes nothing; recording a latency never throws.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { RecoveryProgress, ReplicaCondition, ReplicaStatus } from '../../api/status.ts';
import type { Role } from '../../multipaxos/types/names.ts';

/** What is measured while it happens, in milliseconds. */
export interface LatencyObserver {
  /** A range of the leader's WAL: from being proposed to being chosen. */
  agreement(ms: number): void;
}

/** Numbers of observations at or below each bound, in milliseconds; the last bound is Infinity (null in JSON). */
export interface LatencyBuckets {
  readonly upToMs: readonly (number | null)[];
  readonly agreements: readonly number[];
}

export interface Metrics {
  readonly latencies: LatencyObserver;
  buckets(): Promise<LatencyBuckets>;
  /** The text that Prometheus reads. */
  text(): Promise<string>;
  readonly contentType: string;
}

const bucketsMs = [
  0.1, 0.15, 0.25, 0.4, 0.6, 1, 1.5, 2.5, 4, 6, 10, 15, 25, 40, 60, 100, 150, 250, 400, 600, 1000, 1500, 2500,
  4000, 6000, 10_000,
];
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
  ['barista_recovery_percent', 'Of the phase that the recovery is in', (s) => s.recovery?.percent ?? 0],
  ['barista_recovery_attempts', 'Copies begun in this recovery', (s) => s.recovery?.attempts ?? 0],
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
  ['barista_dropped_events_total', 'Events that a listener did not get', (s) => s.counters.droppedEvents],
];

/** Of the library's metrics of the event loop, those that need a timer of their own: each of its wake-ups is one of the process, also when nobody uses the cluster, and told is what the timer adds to the delay. */
const lagByTimer = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];
const hourMs = 3_600_000;

export function createMetrics(status: () => ReplicaStatus): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: hourMs });
  for (const which of lagByTimer) registry.removeSingleMetric(`nodejs_eventloop_lag_${which}_seconds`);
  registerStatus(registry, status);
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, buckets: bucketsMs.map((ms) => ms / 1000), registers: [registry] });
  const agreements = histogram(
    'barista_agreement_seconds',
    "Time from proposing a range of the leader's WAL to its being chosen",
  );

  return {
    latencies: {
      agreement: (ms) => agreements.observe(Math.max(0, ms) / 1000),
    },
    async buckets() {
      const upToMs = [...bucketsMs, null];
      return { upToMs, agreements: await cumulative(agreements) };
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
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
  oneOf('barista_state', '1 for the state that the replica is in', 'state', conditions, () => status().state);
}
