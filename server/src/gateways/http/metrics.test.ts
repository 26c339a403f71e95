import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { noGatewayMeasures, noPeerTraffic, noReplicaMeasures, type Measures } from '../../api/measures.ts';
import type { ReplicaStatus } from '../../api/status.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { type Family, readExposition, type Sample } from './testing/exposition.ts';
import { type FakeReplica, fakeReplica } from './testing/fake-replica.ts';

const build = { version: '1.2.3', commit: 'c0ffee', node: '22.0.0' };
function metricsOf(replica: FakeReplica, measures: () => Measures = () => replica.measures()): Metrics {
  return createMetrics(() => replica.status(), { measures, build });
}
async function familiesOf(metrics: Metrics): Promise<readonly Family[]> {
  return readExposition(await metrics.text());
}
async function samplesOf(metrics: Metrics, name: string): Promise<readonly Sample[]> {
  return (await familiesOf(metrics)).find((family) => family.name === name)?.samples ?? [];
}
async function valueOf(metrics: Metrics, name: string, labels: Record<string, string> = {}) {
  const samples = await samplesOf(metrics, name);
  return samples.find((sample) =>
    Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value;
}

it('of the event loop only what needs no timer is told', async () => {
  const replica = fakeReplica('r1');
  const text = await createMetrics(() => replica.status()).text();
  const told = [...text.matchAll(/^(nodejs_eventloop_lag_\w+) /gm)].map(([, name]) => name);
  expect(told).toEqual(['nodejs_eventloop_lag_seconds']);
});

it('the age of the newest backup is nothing without a schedule, and without end if there is none', async () => {
  const replica = fakeReplica('r1');
  const metrics = createMetrics(() => replica.status());
  const told = async (name: string): Promise<number> => {
    const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(await metrics.text())?.[1] ?? '';
    return value === '+Inf'
      ? Number.POSITIVE_INFINITY
      : Number(value.toUpperCase() === 'NAN' ? Number.NaN : value);
  };
  expect(await told('barista_backup_age_seconds')).toBeNaN();
  const backup = {
    directory: '/b',
    kept: 0,
    newest: null,
    ageMs: null,
    dueAt: '2026-05-04T10:30:00.000Z',
    running: null,
    problem: null,
    test: null,
  };
  replica.change({ backup });
  expect(await told('barista_backup_age_seconds')).toBe(Number.POSITIVE_INFINITY);
  expect(await told('barista_backup_failed')).toBe(0);
  const test = { name: 'a', ok: false, at: '2026-05-04T10:30:00.000Z', message: 'damaged' };
  replica.change({ backup: { ...backup, kept: 2, ageMs: 90_000, problem: 'no space', test } });
  expect(await told('barista_backup_age_seconds')).toBe(90);
  expect(await told('barista_backups_kept')).toBe(2);
  expect(await told('barista_backup_failed')).toBe(1);
  expect(await told('barista_restore_test_failed')).toBe(1);
  expect(await told('barista_archive_failed')).toBe(0);
});

describe('names', () => {
  const units = ['seconds', 'bytes', 'ratio', 'info', 'slots', 'segments'];
  const abbreviated = /_(ms|milliseconds|us|microseconds|minutes|hours|days|percent|kb|kib|mb|mib|s|b)(_|$)/;
  const typed = /_(gauge|counter|histogram|summary|metric)(_|$)/;

  it("are Prometheus' own: HELP and TYPE for each, counters and only they end in _total, base units, no types", async () => {
    const wrong = (await familiesOf(metricsOf(fakeReplica('r1')))).filter(({ name, help, type }) => {
      const isCounter = type === 'counter';
      return (
        !/^[a-z][a-z0-9_]*[a-z0-9]$/.test(name) ||
        help.length < 4 ||
        !['counter', 'gauge', 'histogram'].includes(type) ||
        isCounter !== name.endsWith('_total') ||
        /_(count|sum|bucket)$/.test(name) ||
        abbreviated.test(name) ||
        typed.test(name)
      );
    });
    expect(wrong.map(({ name, type }) => `${name} ${type}`)).toEqual([]);
  });

  it('of histograms end in their unit', async () => {
    const histograms = (await familiesOf(metricsOf(fakeReplica('r1')))).filter(
      ({ type }) => type === 'histogram',
    );
    const without = histograms.filter(({ name }) => !units.some((unit) => name.endsWith(`_${unit}`)));
    expect(without).toEqual([]);
    expect(histograms.map(({ name }) => name)).toContain('barista_log_write_seconds');
  });

  it('are those of docs/operations.md, all of them and no others', async () => {
    const exposed = (await familiesOf(metricsOf(fakeReplica('r1')))).map(({ name }) => name);
    const own = exposed.filter((name) => name.startsWith('barista_'));
    const text = readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8');
    const rows = text
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .join('\n');
    const told = new Set([...rows.matchAll(/`(barista_[a-z0-9_]+)(?:\{[^`]*\})?`/g)].map(([, name]) => name));
    expect(own.filter((name) => !told.has(name))).toEqual([]);
    expect([...told].filter((name) => name !== undefined && !own.includes(name))).toEqual([]);
    for (const prefix of ['process_', 'nodejs_'])
      expect(exposed.some((name) => name.startsWith(prefix))).toBe(true);
    expect(exposed.filter((name) => !/^(barista|process|nodejs)_/.test(name))).toEqual([]);
  });

  it('stay few: no label has a value for each client, transaction or slot', async () => {
    const families = await familiesOf(metricsOf(fakeReplica('r1')));
    const labels = new Set(
      families
        .filter(({ name }) => name.startsWith('barista_'))
        .flatMap(({ samples }) => samples.flatMap((sample) => Object.keys(sample.labels))),
    );
    const bounded = [
      'build',
      'certificate',
      'commit',
      'kind',
      'le',
      'member',
      'method',
      'node',
      'outcome',
      'phase',
    ];
    const allowed = new Set([...bounded, 'postgres', 'reason', 'role', 'sqlstate', 'state', 'version']);
    expect([...labels].filter((label) => !allowed.has(label))).toEqual([]);
  });
});

describe('what is told', () => {
  it('is of one look at the replica', async () => {
    const replica = fakeReplica('r1');
    let looks = 0;
    const look = (): ReplicaStatus => {
      looks += 1;
      return replica.status();
    };
    await createMetrics(look, { measures: () => replica.measures(), build }).text();
    expect(looks).toBe(1);
  });

  it('is whole in every state: joining, recovering, without a database, with a damaged log', async () => {
    const replica = fakeReplica('r1');
    const nothing: Measures = {
      replica: noReplicaMeasures,
      gateway: noGatewayMeasures,
      thrift: null,
      peers: noPeerTraffic,
    };
    const expected = (await familiesOf(metricsOf(replica))).map(({ name }) => name);
    const wal = null;
    const postgres = { pid: null, socketDir: '', port: 0, up: false, version: null };
    const recovery: ReplicaStatus['recovery'] = {
      phase: 'copying',
      cause: 'databaseLost',
      source: null,
      bytes: 10,
      bytesTotal: null,
      percent: 37.5,
      attempts: 2,
      lastFailure: null,
      sinceMs: 1500,
    };
    for (const part of [
      { state: 'joining', wal, postgres, leader: null, role: 'follower', peers: [] },
      { state: 'restoring', wal, postgres, recovery },
      { state: 'databaseDown', postgres, message: 'it is "gone"\nfor good' },
      { state: 'logCorrupt', wal, postgres, recovery: null },
    ] as const) {
      replica.change(part);
      const families = await familiesOf(metricsOf(replica, () => nothing));
      expect(families.map(({ name }) => name)).toEqual(expected);
      const told = families.flatMap(({ samples }) => samples);
      const odd = told.filter(
        ({ name, value }) => !Number.isFinite(value) && name !== 'barista_backup_age_seconds',
      );
      expect(odd).toEqual([]);
    }
  });

  it('is how far a recovery is, as a ratio', async () => {
    const replica = fakeReplica('r1');
    const metrics = metricsOf(replica);
    expect(await valueOf(metrics, 'barista_recovery_ratio')).toBe(0);
    const recovery = {
      phase: 'copying',
      cause: 'new',
      source: null,
      bytes: 1,
      bytesTotal: 4,
      percent: 25,
    } as const;
    replica.change({ recovery: { ...recovery, attempts: 1, lastFailure: null, sinceMs: 0 } });
    expect(await valueOf(metrics, 'barista_recovery_ratio')).toBe(0.25);
  });

  it('is how far each member is, as long as it is one, and nothing where nothing is known', async () => {
    const replica = fakeReplica('r1');
    let measures = replica.measures();
    const metrics = metricsOf(replica, () => measures);
    expect(await valueOf(metrics, 'barista_peer_behind_bytes', { member: 'r2' })).toBe(4096);
    expect(await valueOf(metrics, 'barista_peer_behind_slots', { member: 'r3' })).toBeUndefined();
    expect(await valueOf(metrics, 'barista_peer_silent_seconds', { member: 'r3' })).toBe(90);
    measures = { ...measures, replica: { ...measures.replica, peers: [] } };
    expect(await samplesOf(metrics, 'barista_peer_silent_seconds')).toEqual([]);
  });

  it('is what was built, and what it runs on, once', async () => {
    const replica = fakeReplica('r1');
    const metrics = metricsOf(replica);
    const labels = { ...build, postgres: '18.4' };
    expect(await samplesOf(metrics, 'barista_build_info')).toEqual([
      { name: 'barista_build_info', labels, value: 1 },
    ]);
    replica.change({ postgres: { ...replica.status().postgres, version: null } });
    expect(await samplesOf(metrics, 'barista_build_info')).toMatchObject([
      { labels: { postgres: 'unknown' } },
    ]);
  });

  it('is told whole whatever characters labels have', async () => {
    const replica = fakeReplica('r1');
    const version = '18.4 ("of\\somebody")\n# TYPE x counter\nx 1';
    replica.change({ postgres: { ...replica.status().postgres, version } });
    const measures = replica.measures();
    const member = 'r"2\n{}\\' as ReplicaId;
    const peers = measures.replica.peers.map((peer) => ({ ...peer, member }));
    const metrics = metricsOf(replica, () => ({
      ...measures,
      replica: { ...measures.replica, peers: peers.slice(1) },
    }));
    expect(await samplesOf(metrics, 'barista_build_info')).toMatchObject([{ labels: { postgres: version } }]);
    expect(await valueOf(metrics, 'barista_peer_silent_seconds', { member })).toBe(90);
  });

  it('is what the log has written: times of groups that are durable, records, bytes, and failures apart', async () => {
    const metrics = metricsOf(fakeReplica('r1'));
    metrics.latencies.logWrite({ ms: 3, records: 2, bytes: 100 });
    metrics.latencies.logWrite({ ms: 5, records: 1, bytes: 0 });
    metrics.latencies.logWrite(null);
    const text = await metrics.text();
    for (const line of [
      'barista_log_write_seconds_count 2',
      'barista_log_write_seconds_bucket{le="0.004"} 1',
      'barista_log_written_records_total 3',
      'barista_log_written_bytes_total 100',
      'barista_log_write_failures_total 1',
    ])
      expect(text).toContain(`${line}\n`);
  });

  it('is how far the archive is, across the first four gigabytes, too', async () => {
    const replica = fakeReplica('r1');
    const metrics = metricsOf(replica);
    expect(await valueOf(metrics, 'barista_archive_behind_bytes')).toBe(0);
    const wal = { ...replica.status().wal!, chosen: '1/10' };
    replica.change({ wal, archive: { timeline: 2, end: '0/FFFFFFF0', bytes: 5, gaps: 1, problem: null } });
    expect(await valueOf(metrics, 'barista_archive_behind_bytes')).toBe(32);
    expect(await valueOf(metrics, 'barista_archive_gaps_total')).toBe(1);
  });

  it('is 08007 as a count of its own, among the sessions that were ended', async () => {
    const metrics = metricsOf(fakeReplica('r1'));
    expect(await valueOf(metrics, 'barista_outcomes_unknown_total')).toBe(1);
    expect(await valueOf(metrics, 'barista_sessions_ended_total', { sqlstate: '57P01' })).toBe(3);
    expect(await valueOf(metrics, 'barista_logins_refused_total', { sqlstate: '28P01' })).toBe(4);
  });
});
