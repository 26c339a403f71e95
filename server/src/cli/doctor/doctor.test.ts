/** What the doctor says of facts that are right but for one, and what it finds out on machines where nothing works. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HeldResources, BackupReport, ReplicaStatus } from '../../api/status.ts';
import { parseReplicaConfig, type ReplicaConfig } from '../../config/replica-config.ts';
import { fakeReplica } from '../../gateways/http/testing/fake-replica.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { collectFacts } from './collect-facts.ts';
import { doctorLines, runDoctor } from './doctor-command.ts';
import { examine, verdictOf } from './examine.ts';
import type { DoctorFacts, Finding, PlaceFacts } from './facts.ts';

const GIB = 1024 ** 3;
const hourMs = 3_600_000;
const [r1, r2, r3] = ['r1', 'r2', 'r3'] as [ReplicaId, ReplicaId, ReplicaId];

const document = {
  group: 'main',
  id: 'r1',
  dataDir: '/var/lib/barista/r1',
  peers: [r1, r2, r3].map((id) => ({ id, host: id, port: 7532, pgwire: { host: id, port: 7432 } })),
  peerListen: { host: '10.0.0.1', port: 7532 },
  clusterSecret: 'a secret of the cluster',
  pgwire: { host: '10.0.0.1', port: 7432 },
  http: { port: 8081 },
  backup: { directory: '/backup/main', testEveryMinutes: 10_080 },
  archive: { directory: '/backup/wal' },
};
const configOf = (changes: object = {}): ReplicaConfig =>
  parseReplicaConfig({ ...document, ...changes }, '/');

const place = (path: string, changes: Partial<PlaceFacts> = {}): PlaceFacts => ({
  path,
  exists: true,
  accessProblem: null,
  mode: 0o700,
  freeBytes: 500 * GIB,
  totalBytes: 1000 * GIB,
  freeFiles: 1e9,
  device: path === document.dataDir || path === '/d' ? 1 : 2,
  isInMemory: false,
  ...changes,
});

const backupReport: BackupReport = {
  directory: '/backup/main',
  kept: 7,
  newest: { name: 'b', takenAt: '2026-05-04T10:30:00.000Z', bytes: GIB },
  ageMs: hourMs,
  dueAt: '2026-05-05T10:30:00.000Z',
  running: null,
  problem: null,
  test: { name: 'b', ok: true, at: '2026-05-04T10:30:00.000Z', message: 'fine' },
};

function statusWith(changes: Partial<ReplicaStatus> = {}): ReplicaStatus {
  const base = fakeReplica('r1').status();
  const address = { host: 'db', port: 7532, pgwire: { host: 'db', port: 7432 } };
  return {
    ...base,
    membership: {
      version: 3,
      members: [r1, r2, r3].map((replica) => ({ replica, incarnation: 1, role: 'voter', address })),
    },
    peers: [r2, r3].map((id) => ({ id, connected: true, version: 6 })),
    archive: { timeline: 1, end: '0/3000060', bytes: 1, gaps: 0, problem: null },
    backup: backupReport,
    ...changes,
  };
}

const nowMs = Date.UTC(2026, 4, 4, 11);
function factsWith(changes: Partial<DoctorFacts> = {}): DoctorFacts {
  return {
    nowMs,
    configFile: '/etc/r1.yaml',
    config: { ok: true, value: configOf() },
    secretModes: [{ path: '/etc/secret', mode: 0o600 }],
    isRoot: false,
    dataDir: place(document.dataDir),
    isPostgresMounted: false,
    archivePlace: place('/backup/wal'),
    backupPlace: place('/backup/main'),
    programs: { ok: true, value: { version: '18.4', majorVersion: 18 } },
    dataMajorVersion: 18,
    syncMs: { ok: true, value: [0.5, 0.6, 0.7, 2] },
    status: { ok: true, value: statusWith() },
    members: [r2, r3].map((id) => ({ id, peer: { ok: true, value: 0.4 }, pgwire: { ok: true, value: 0.4 } })),
    clockShiftMs: 0.3,
    isClockSynchronized: true,
    clockSource: 'tsc',
    openFilesMax: 65_536,
    archive: { ok: true, value: { cluster: 'c1', stretches: [{ from: 100, to: 900 }] } },
    backups: {
      ok: true,
      value: [
        { name: 'a', takenAtMs: nowMs - 25 * hourMs, end: 200, bytes: GIB },
        { name: 'b', takenAtMs: nowMs - hourMs, end: 700, bytes: GIB },
      ],
    },
    setAside: [],
    ...changes,
  };
}
const withConfig = (changes: object): DoctorFacts =>
  factsWith({ config: { ok: true, value: configOf(changes) } });
const withStatus = (changes: Partial<ReplicaStatus>): DoctorFacts =>
  factsWith({ status: { ok: true, value: statusWith(changes) } });
const told = (findings: readonly Finding[]): string[] =>
  findings.map(({ severity, what, todo }) => `${severity}: ${what} ${todo}`);
const unknown = { ok: false, reason: 'EIO: it hums' } as const;

const hoarder = { pid: 4711, locks: 800, role: 'app', database: 'shop', address: '10.0.0.9' };

const abandoned = {
  pid: 11,
  role: 'app',
  database: 'shop',
  address: '10.0.0.9',
  leftMs: 45_100,
  waitsFor: 'Lock: relation',
};
const fresh = { ...abandoned, pid: 13, leftMs: 900 };

function held(part: Partial<HeldResources>): HeldResources {
  return {
    locks: { held: 9, max: 1000, holders: [] },
    prepared: { count: 0, max: 20, oldest: null },
    ...part,
  };
}

describe('the doctor', () => {
  it('finds nothing where nothing is wrong', () => {
    expect(told(examine(factsWith()))).toEqual([]);
    expect(verdictOf([])).toBe(0);
    expect(doctorLines(factsWith(), [])).toEqual([
      'r1 of group main (/etc/r1.yaml)',
      '',
      'Nothing is wrong.',
    ]);
  });

  const cases: readonly [name: string, facts: DoctorFacts, ...findings: RegExp[]][] = [
    [
      'a configuration',
      factsWith({ config: { ok: false, reason: 'cannot read /x' } }),
      /^error: cannot read \/x/,
    ],
    [
      'places that nobody else reaches',
      withConfig({ peerListen: { port: 7532 }, pgwire: { port: 7499 } }),
      /^error: peerListen\.host is 127\.0\.0\.1/,
      /^error: pgwire\.host/,
      /^warning: pgwire\.port is 7499, and the others are told 7432/,
    ],
    ['faults', withConfig({ faults: true }), /^warning: "faults" is on/],
    [
      'a secret',
      factsWith({ secretModes: [{ path: '/s', mode: 0o644 }] }),
      /^warning: \/s holds the secret.*mode 644\).*chmod 600/,
    ],
    [
      'a group of two',
      withConfig({ peers: document.peers.slice(0, 2) }),
      /^notice: A group of one or two members/,
    ],
    ['root', factsWith({ isRoot: true }), /^notice: This runs as root/],
    [
      'a directory without access',
      factsWith({ dataDir: place('/d', { accessProblem: 'EACCES: permission denied' }) }),
      /^error: dataDir \(\/d\) cannot be used: EACCES/,
    ],
    [
      'a directory for all',
      factsWith({ backupPlace: place('/b', { mode: 0o777 }) }),
      /^warning: Others than its owner/,
    ],
    [
      'a disk of memory',
      factsWith({ dataDir: place('/d', { isInMemory: true }) }),
      /^error: dataDir \(\/d\) is in memory/,
    ],
    [
      'a full disk',
      factsWith({ archivePlace: place('/w', { freeBytes: GIB / 2 }) }),
      /^error: Only 512 MiB of 1000 GiB are free on the disk of archive\.directory/,
    ],
    [
      'a disk that gets full',
      factsWith({ archivePlace: place('/w', { freeBytes: 60 * GIB }) }),
      /^warning: Only 60 GiB/,
    ],
    [
      'less space than the bounds',
      factsWith({
        dataDir: place(document.dataDir, { freeBytes: 8 * GIB, totalBytes: 40 * GIB, device: 1 }),
      }),
      /^notice: 8\.0 GiB are free for dataDir.*up to 11 GiB/,
    ],
    ['inodes', factsWith({ dataDir: place('/d', { freeFiles: 3 }) }), /^error: .* room for 3 more files/],
    [
      'a mount point',
      factsWith({ isPostgresMounted: true }),
      /^error: A file system is mounted at .*\/postgres/,
    ],
    [
      'one disk for all',
      factsWith({ backupPlace: place('/b', { device: 1 }) }),
      /^warning: backup\.directory is on the same disk/,
    ],
    [
      'what was set aside',
      factsWith({ setAside: ['/d/postgres.lost-1'] }),
      /^notice: Databases that were set aside.*lost-1/,
    ],
    [
      'a slow disk',
      factsWith({ syncMs: { ok: true, value: [30, 31, 29] } }),
      /^warning: The disk of dataDir takes 30\.00 ms/,
    ],
    [
      'a disk that is too slow',
      factsWith({ syncMs: { ok: true, value: [300] } }),
      /^error: The disk of dataDir takes 300/,
    ],
    [
      'a disk that lies',
      factsWith({ syncMs: { ok: true, value: [0.001] } }),
      /^warning: .* sooner than a disk can/,
    ],
    [
      'a disk that cannot be written to',
      factsWith({ syncMs: unknown }),
      /^error: A file could not be written .* EIO/,
    ],
    [
      'a disk that was not measured',
      factsWith({ syncMs: { ok: false, reason: 'EACCES: permission denied' } }),
      /^notice: How fast .* EACCES/,
    ],
    ['no PostgreSQL', factsWith({ programs: unknown }), /^error: EIO/],
    [
      'another PostgreSQL',
      factsWith({ dataMajorVersion: 17 }),
      /^error: The database .* PostgreSQL 17, and the programs are 18\.4/,
    ],
    [
      'a newer PostgreSQL',
      factsWith({ programs: { ok: true, value: { version: '18.5', majorVersion: 18 } } }),
      /^notice: PostgreSQL 18\.4 runs, and 18\.5 is installed/,
    ],
    ['a clock that was set', factsWith({ clockShiftMs: -3000 }), /^warning: The clock .* by -3000 ms/],
    ['a clock that is not kept', factsWith({ isClockSynchronized: false }), /^warning: .* not kept by NTP/],
    [
      'a coarse clock',
      factsWith({ clockSource: 'refined-jiffies' }),
      /^warning: The kernel tells the time by refined-jiffies/,
    ],
    ['few files', factsWith({ openFilesMax: 256 }), /^warning: The replica can open 256 files, .* about 800/],
    [
      'no replica',
      factsWith({ status: unknown }),
      /^error: The replica does not answer: EIO.*\/etc\/r1\.yaml/,
    ],
    [
      'a replica that does not serve',
      withStatus({ state: 'databaseDown', message: 'no space.' }),
      /^error: r1 is databaseDown: no space\. docs/,
    ],
    [
      'a replica that says something',
      withStatus({ message: 'r3 is not believed' }),
      /^warning: r1 says: r3 is not believed/,
    ],
    [
      'a copy that fails',
      withStatus({
        recovery: {
          phase: 'copying',
          cause: 'databaseLost',
          source: null,
          bytes: 0,
          bytesTotal: null,
          percent: null,
          attempts: 3,
          lastFailure: { reason: 'the C library is 2.36 there and 2.31 here', source: r2, agoMs: 5 },
          sinceMs: 9,
        },
      }),
      /^warning: The last attempt .* from r2: the C library is 2\.36 there/,
    ],
    [
      'a member that is away',
      withStatus({
        peers: [
          { id: r2, connected: true, version: 6 },
          { id: r3, connected: false, version: null },
        ],
      }),
      /^warning: r1 is not connected to r3\. If one more voter fails/,
    ],
    [
      'no majority',
      withStatus({ peers: [r2, r3].map((id) => ({ id, connected: false, version: null })) }),
      /^error: r1 is not connected to r2 and r3: it reaches 1 of 3 voters, .* not a majority/,
    ],
    [
      'members that do not vote',
      withStatus({
        membership: {
          version: 1,
          members: statusWith().membership.members.map((member, index) =>
            index === 0 ? member : Object.assign({}, member, { role: 'learner', incarnation: index - 1 }),
          ),
        },
      }),
      /^warning: r2 never joined/,
      /^warning: r3 cannot vote yet/,
    ],
    [
      'a long log',
      withStatus({ log: { bytes: 0.8 * GIB, segments: 9, purgedTo: 0 as Slot } }),
      /^warning: The log has 819 MiB of bounds\.logBytesMax, 1\.0 GiB, for the sake of a member that is behind/,
    ],
    [
      'nearly all locks taken by a session',
      withStatus({ held: held({ locks: { held: 850, max: 1000, holders: [hoarder] } }) }),
      /^warning: Transactions hold 850 of 1000 locks; 800 of them belong to session 4711 \(role app, database shop, from 10\.0\.0\.9\)/,
    ],
    [
      'an old prepared transaction',
      withStatus({
        held: held({ prepared: { count: 1, max: 20, oldest: { gid: 'x', ageMs: 3_600_000, xids: 5 } } }),
      }),
      /^warning: 1 of 20 transactions that can be prepared are; the oldest, 'x', for /,
    ],
    [
      'processes that clients have left running',
      withStatus({
        left: { count: 4, longest: [abandoned, { ...abandoned, pid: 12, waitsFor: null }, fresh] },
      }),
      /^warning: PostgreSQL still executes requests of disconnected clients: 11 \(role app, database shop, from 10\.0\.0\.9\) for 45 s, waits for Lock: relation; 12 \(.*\) for 45 s, waits for nothing; and 2 more\..*"barista sessions end 11"/,
    ],
    [
      'many clients',
      withStatus({ clients: 149 }),
      /^warning: 149 clients are connected, and bounds\.clientsMax is 150/,
    ],
    [
      'WAL that is not chosen',
      withStatus({ wal: { ...statusWith().wal!, unchosenBytes: 5 * GIB } }),
      /^error: 5\.0 GiB of this leader's WAL/,
    ],
    ['a follower that lags', withStatus({ commitPoint: 5000 as Slot }), /^warning: .* is 4984 slots behind/],
    [
      'a link with a fault',
      withStatus({ faults: [{ from: r1, to: r2, cut: true, delayMs: 0, drop: 0, duplicate: 0 }] }),
      /^warning: Link faults are active: r1 to r2/,
    ],
    [
      'members that cannot be reached',
      factsWith({
        members: [
          { id: r2, peer: { ok: false, reason: 'r2:7532, ENOTFOUND' }, pgwire: unknown },
          { id: r3, peer: { ok: true, value: 140 }, pgwire: { ok: false, reason: 'r3:7432, ECONNREFUSED' } },
        ],
      }),
      /^warning: The port for peers of r2 .* ENOTFOUND/,
      /^warning: The port for SQL clients of r3 .* ECONNREFUSED/,
      /^notice: A connection to r3 took 140 ms/,
    ],
    [
      'neither backups nor an archive',
      factsWith({
        config: { ok: true, value: configOf({ backup: undefined, archive: undefined }) },
        backups: null,
        archive: null,
      }),
      /^notice: This replica makes no scheduled backups/,
      /^notice: This replica archives no WAL/,
    ],
    [
      'no tests',
      withConfig({ backup: { directory: '/backup/main' } }),
      /^notice: Backups are not tested on a schedule/,
    ],
    ['no backup', factsWith({ backups: { ok: true, value: [] } }), /^error: There is no backup\./],
    [
      'an old backup',
      factsWith({
        backups: { ok: true, value: [{ name: 'a', takenAtMs: nowMs - 100 * hourMs, end: 200, bytes: 1 }] },
      }),
      /^error: The newest backup is 4 days old, and one is to be made every 24 hours/,
    ],
    [
      'backups that nobody reads',
      factsWith({ backups: unknown }),
      /^error: The backups cannot be looked at: EIO/,
    ],
    [
      'an archive that nobody reads',
      factsWith({ archive: unknown }),
      /^warning: The archive of WAL cannot be looked at/,
    ],
    [
      'a backup that failed',
      withStatus({
        backup: { ...backupReport, problem: 'at ten: no space', test: { ...backupReport.test!, ok: false } },
        archive: { timeline: 1, end: null, bytes: 1, gaps: 2, problem: 'ENOSPC' },
      }),
      /^error: The last attempt to make a backup failed, at ten: no space\./,
      /^error: The restore test of b failed/,
      /^error: WAL is not archived now: ENOSPC/,
      /^warning: .*\(2 gaps\)/,
    ],
    [
      'an archive that begins too late',
      factsWith({ archive: { ok: true, value: { cluster: null, stretches: [{ from: 800, to: 900 }] } } }),
      /^error: The archive does not have the WAL that follows the newest backup, b, from 0\/2BC on/,
    ],
    [
      'a gap behind the newest backup',
      factsWith({
        archive: {
          ok: true,
          value: {
            cluster: null,
            stretches: [
              { from: 100, to: 750 },
              { from: 800, to: 900 },
            ],
          },
        },
      }),
      /^error: The archive has a gap at 0\/2EE/,
    ],
    [
      'an archive that reaches back to some',
      factsWith({ archive: { ok: true, value: { cluster: null, stretches: [{ from: 300, to: 900 }] } } }),
      /^notice: The archive begins behind 1 of 2 backups/,
    ],
    [
      'no space for the next backup',
      factsWith({ backupPlace: place('/b', { freeBytes: 1.1 * GIB, totalBytes: 10 * GIB }) }),
      /^error: The newest backup has 1\.0 GiB, and 1\.1 GiB are free/,
    ],
  ];

  it.each(cases.map(([name, facts, ...expected]) => ({ name, facts, expected })))(
    'tells of $name',
    ({ facts, expected }) => {
      const findings = told(examine(facts));
      const times = expected.map((each) => [
        each.source,
        findings.filter((finding) => each.test(finding)).length,
      ]);
      expect(times).toEqual(expected.map((each) => [each.source, 1]));
      expect(findings).toHaveLength(expected.length);
    },
  );

  it('puts the worst first, and says by its exit code how bad it is', () => {
    const findings = examine(factsWith({ isRoot: true, openFilesMax: 1, programs: unknown }));
    expect(findings.map(({ severity }) => severity)).toEqual(['error', 'warning', 'notice']);
    expect(verdictOf(findings)).toBe(2);
    expect(verdictOf(findings.slice(1))).toBe(1);
    expect(verdictOf(findings.slice(2))).toBe(0);
    const lines = doctorLines(factsWith(), findings);
    expect(lines.at(-1)).toBe('1 error, 1 warning, 1 notice.');
    expect(lines[2]).toBe('error     EIO: it hums');
  });

  it('takes no name of a client for advice of its own', () => {
    const forged = {
      severity: 'warning',
      what: 'role x\n          -> Run: evil',
      todo: 'End\x1b it',
    } as const;
    expect(doctorLines(factsWith(), [forged]).slice(2, 4)).toEqual([
      'warning   role x\\x0a          -> Run: evil',
      '          -> End\\x1b it',
    ]);
  });

  it('survives a status that lacks what it looks for', () => {
    const status = { state: 'serving', id: 'r1', membership: { members: [] } } as unknown as ReplicaStatus;
    const findings = examine(factsWith({ status: { ok: true, value: status } }));
    expect(findings.some(({ what }) => what.startsWith('The rule '))).toBe(true);
  });
});

describe('on a machine where little works', () => {
  let root = '';
  let server: Server;
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'barista-doctor-'));
    server = createServer((_request, response) => response.end('<html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    server.close();
    rmSync(root, { recursive: true });
  });

  const write = (name: string, text: string): string => {
    writeFileSync(join(root, name), text);
    return join(root, name);
  };
  async function doctor(file: string): Promise<{ code: number; text: string }> {
    const lines: string[] = [];
    const code = await runDoctor(file, false, (line) => lines.push(line), collectFacts);
    return { code, text: lines.join('\n') };
  }

  it.each([
    ['no configuration', () => join(root, 'nowhere.yaml'), /error +cannot read .*nowhere\.yaml/],
    ['a directory', () => root, /error +cannot read .*EISDIR/],
    ['no YAML', () => write('no.yaml', 'group: [main'), /error +.*is not valid YAML/],
    ['bytes', () => write('bytes.yaml', '\u0000\u0001\ufffe'), /error +.*is not valid/],
    [
      'a wrong key',
      () => write('wrong.yaml', 'group: main\ncolour: red'),
      /error +.*is not valid[^]*colour: is no key/,
    ],
  ])('and tells of it: %s', async (_name, file, expected) => {
    const { code, text } = await doctor(file());
    expect(text).toMatch(expected);
    expect(code).toBe(2);
  });

  const config = (changes: object): string =>
    write(
      'r1.yaml',
      JSON.stringify({
        ...document,
        dataDir: join(root, 'data'),
        peers: [
          { id: 'r1', host: '127.0.0.1', port: 1, pgwire: { host: '127.0.0.1', port: 1 } },
          { id: 'r2', host: '127.0.0.1', port: 1, pgwire: { host: 'no.such.host.invalid', port: 1 } },
        ],
        peerListen: { port: 1 },
        pgwire: { port: 1 },
        http: { port: 1 },
        postgres: { pgBin: join(root, 'no-programs') },
        archive: { directory: join(root, 'file', 'wal') },
        backup: { directory: join(root, 'file', 'backups') },
        ...changes,
      }),
    );

  it('with nothing there, each thing that is missing is told, and nothing is made', async () => {
    write('file', '');
    const { code, text } = await doctor(config({}));
    expect(code).toBe(2);
    for (const expected of [
      /The replica does not answer: nothing answers on 127\.0\.0\.1:1 \(ECONNREFUSED\)/,
      /no-programs\/postgres is missing/,
      /archive\.directory .* cannot be used/,
      /The backups cannot be looked at/,
      /The port for peers of r2 cannot be reached from here: 127\.0\.0\.1:1, ECONNREFUSED/,
    ])
      expect(text).toMatch(expected);
    expect(text).not.toMatch(/dataDir .* cannot be used/);
    const facts = await collectFacts(config({}));
    expect(facts.dataDir).toMatchObject({ exists: false, accessProblem: null });
  });

  it('with something else on its port, and files that nobody understands', async () => {
    const { port } = server.address() as AddressInfo;
    mkdirSync(join(root, 'wal'), { recursive: true });
    mkdirSync(join(root, 'backups'), { recursive: true });
    mkdirSync(join(root, 'data', 'postgres', 'data'), { recursive: true });
    mkdirSync(join(root, 'data', 'postgres.lost-1'));
    writeFileSync(join(root, 'wal', 'archive.json'), '{');
    writeFileSync(join(root, 'backups', 'x.barista'), 'no backup');
    writeFileSync(join(root, 'data', 'postgres', 'data', 'PG_VERSION'), 'eighteen');
    const file = config({
      http: { port },
      archive: { directory: join(root, 'wal') },
      backup: { directory: join(root, 'backups') },
    });
    chmodSync(file, 0o644);
    const { code, text } = await doctor(file);
    expect(code).toBe(2);
    for (const expected of [
      /is not a Barista replica \(HTTP 200\)/,
      /archive\.json cannot be understood/,
      /There is no backup\./,
      /r1\.yaml holds the secret of the cluster.*mode 644/,
      /Databases that were set aside .*postgres\.lost-1/,
    ])
      expect(text).toMatch(expected);
    const facts = await collectFacts(file);
    expect(facts.syncMs).toMatchObject({ ok: true });
    expect(facts.dataMajorVersion).toBeNull();
  });
});
