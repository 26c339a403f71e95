/**
 * Copies of a database between real replicas that are held to a bound: how long they take, what is told of them, and what becomes of them when
 * either end is killed midway.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RecoveryProgress, ReplicaStatus } from '../../server/src/api/status.ts';
import type { DirectoryState } from '../../server/src/ports/database-directory.ts';
import { comparableDump } from '../checkers/database-compare.ts';
import { isWhole } from '../cluster/local-cluster.ts';
import { psql, psqlSocket } from '../cluster/pg-tools.ts';
import { startLedger, verdict, type Ledger } from '../workload/ledger.ts';
import { ServedGroup } from '../cluster/served-group.ts';

const BYTES_PER_SECOND_MAX = 8_000_000;
/** What a source may send before its bound holds it back: a moment's worth, and a chunk. */
const SLACK_MS = 150;
const HEAL_MS = 120_000;
const LOOK_MS = 50;
const DRINKS_SQL = 'SELECT count(*), sum(hashtext(name)) FROM drinks';

let group: ServedGroup;
let ledger: Ledger | null = null;
let drinks = '';

/** What a replica said, and between which moments; null: nothing. */
interface Look {
  readonly askedMs: number;
  readonly status: ReplicaStatus | null;
  readonly answeredMs: number;
  /** Asked for after the status, and answered before the next is asked for. */
  readonly metrics: string;
}
type Copying = Look & { readonly status: ReplicaStatus & { readonly recovery: RecoveryProgress } };

beforeAll(async () => {
  const snapshot = { bytesPerSecondMax: BYTES_PER_SECOND_MAX };
  const settings = { snapshot, bounds: { clientsMax: 20 }, verify: { everyMinutes: 0 } };
  group = await ServedGroup.found(settings, { tls: true });
  const port = group.pgwirePort(await group.leader());
  const rows = 'SELECT id, repeat(md5(id::text), 20) AS name FROM generate_series(1, 1000) id';
  await psql(port, `CREATE TABLE drinks AS ${rows}`);
  drinks = (await psql(port, DRINKS_SQL)).stdout;
});
afterAll(async () => {
  await ledger?.stop();
  await group?.stop();
});

/** Writes, at the leader first. */
async function startLoad(): Promise<Ledger> {
  await ledger?.stop();
  const leader = await group.leader();
  const others = group.ids.filter((id) => id !== leader);
  ledger = await startLedger(
    [leader, ...others].map((id) => group.pgwirePort(id)),
    1,
  );
  return ledger;
}

/** Looks at the replica until `isEnough`; returns all that was seen. */
async function watch(id: string, isEnough: (status: ReplicaStatus) => boolean): Promise<Look[]> {
  const looks: Look[] = [];
  for (const deadline = performance.now() + HEAL_MS; ; ) {
    const askedMs = performance.now();
    const status = await group.status(id);
    const answeredMs = performance.now();
    const metrics = (await (await group.ask(id, '/metrics'))?.text()) ?? '';
    looks.push({ askedMs, status, answeredMs, metrics });
    if (status !== null && isEnough(status)) return looks;
    if (answeredMs > deadline) throw new Error(`${id} did not get so far: ${JSON.stringify(status)}`);
    await sleep(LOOK_MS);
  }
}

/** Some source is asked, or sends already. */
const isCopying = (seen: Look): seen is Copying => seen.status?.recovery?.phase === 'copying';
const isMidway = ({ recovery }: ReplicaStatus): boolean =>
  recovery?.phase === 'copying' && recovery.percent !== null && recovery.percent >= 20;

const metricOf = ({ metrics }: Look, name: string): number =>
  Number(
    metrics
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1],
  );

/** Of all files below. */
async function bytesBelow(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Nobody gets anything of what a replica has received so far: clients are answered by the leader, and whoever wants a copy is turned away. */
async function expectNotServed(id: string): Promise<void> {
  const postgres = join(group.dataDir(id), 'postgres');
  const { role } = JSON.parse(await readFile(join(postgres, 'state.json'), 'utf8')) as DirectoryState;
  expect(role.kind).toBe('copying');
  await expect(stat(join(postgres, 'data', 'global', 'pg_control'))).rejects.toThrow('ENOENT');
  // At once: it goes on receiving.
  const [read, backup, ready] = await Promise.all([
    psql(group.pgwirePort(id), DRINKS_SQL),
    group.ask(id, '/api/backup'),
    group.ask(id, '/readyz'),
  ]);
  expect(read).toMatchObject({ code: 0, stdout: drinks });
  expect([backup?.status, ready?.status]).toEqual([503, 503]);
}

/** Of a replica that was seen until it was whole: what was on its way was not used, nor tried, before all of it was there. */
async function expectUnusedUntilWhole(id: string, looks: readonly Look[]): Promise<void> {
  const copying = looks.filter(isCopying);
  expect(copying.length).toBeGreaterThan(10);
  for (const { status } of copying)
    expect(status).toMatchObject({
      state: 'restoring',
      applicationPointer: 0,
      postgres: { up: false, pid: null },
    });
  const phases = looks.flatMap(({ status }) => status?.recovery?.phase ?? []);
  const entered = phases.filter((phase, at) => phase !== phases[at - 1]);
  expect(entered[0]).toBe('copying');
  expect(entered.slice(1)).not.toContain('copying');
  const below = await readdir(group.dataDir(id));
  expect(below).toContain('postgres');
  expect(below.filter((name) => name.startsWith('postgres.'))).toEqual([]);
}

/** All that run have the same, and every row that was acknowledged. Returns when each was. */
async function expectNothingLost(load: Ledger): Promise<readonly number[]> {
  const result = await load.stop();
  const statuses = await group.settled();
  const dumps = await Promise.all(statuses.map(({ postgres }) => comparableDump(postgres, 'barista')));
  expect(dumps.length).toBeGreaterThan(1);
  for (const dump of dumps) expect(dump).toEqual(dumps[0]);
  const { stdout } = await psqlSocket(statuses[0]!.postgres, 'SELECT id FROM ledger');
  expect(verdict(result, new Set(stdout.trim().split('\n').map(Number)))).toEqual([]);
  return result.acknowledgedAtMs;
}

/** However much had come at any moment, its source was allowed to have sent it by then. */
function expectHeldToBound(looks: readonly Look[]): void {
  const begin = looks.findIndex(isCopying);
  // Before the first look that shows it: as long as it can have been.
  const beganMs = looks[begin - 1]!.askedMs;
  const received = looks.slice(begin).map(({ status, answeredMs }) => {
    const bytes = status?.recovery?.bytesReceived ?? 0;
    const tookMs = answeredMs - beganMs;
    expect(tookMs + SLACK_MS).toBeGreaterThanOrEqual((bytes / BYTES_PER_SECOND_MAX) * 1000);
    return { bytes, tookMs };
  });
  const whole = received.reduce((most, each) => (each.bytes > most.bytes ? each : most));
  expect(whole.bytes).toBeGreaterThan(10_000_000);
  console.log(`${whole.bytes} bytes came in ${Math.round(whole.tookMs)} ms`);
}

/** Bytes and percent only grow, and the metrics agree. */
function expectProgressTold(looks: readonly Look[]): void {
  const sent = looks.filter(isCopying).filter(({ status }) => status.recovery.attempts === 1);
  expect(new Set(sent.map(({ status }) => status.recovery.percent)).size).toBeGreaterThan(10);
  for (const [at, now] of sent.slice(0, -1).entries()) {
    const next = sent[at + 1]!.status.recovery;
    const { bytes, percent } = now.status.recovery;
    expect(next.bytes).toBeGreaterThanOrEqual(bytes);
    expect(next.percent ?? 0).toBeGreaterThanOrEqual(percent ?? 0);
    expect(now.metrics).toMatch(/^barista_recovery_phase\{.*copying.*\} 1$/m);
    expect(metricOf(now, 'barista_recovery_bytes')).toBeGreaterThanOrEqual(bytes);
    expect(metricOf(now, 'barista_recovery_bytes')).toBeLessThanOrEqual(next.bytes);
    expect(metricOf(now, 'barista_recovery_ratio')).toBeGreaterThanOrEqual((percent ?? 0) / 100);
    expect(metricOf(now, 'barista_recovery_ratio')).toBeLessThanOrEqual((next.percent ?? 0) / 100);
  }
  expect(metricOf(sent.at(-1)!, 'barista_recovery_bytes_expected')).toBeGreaterThan(20_000_000);
  expect(looks.at(-1)!.metrics).toMatch(/^barista_recovery_phase\{.*copying.*\} 0$/m);
}

it('a doctor tells a replica that serves from one that does not', async () => {
  const own = async (): Promise<string[]> => {
    const { output } = await group.barista('r1', ['doctor', '--json']);
    const { findings } = JSON.parse(output) as { findings: { severity: string; what: string }[] };
    return findings.filter(({ severity }) => severity === 'error').map(({ what }) => what);
  };
  // What it says of disks is for this machine.
  const silent: unknown = expect.stringMatching(/^The replica does not answer: .*ECONNREFUSED/);
  expect(await own()).not.toContainEqual(silent);
  await group.interrupt('r1');
  expect(await own()).toContainEqual(silent);
  group.start('r1');
  await group.settled();
});

describe('a copy that is held to a bound', () => {
  it('begins afresh from another replica when its source is killed, while writes go on', async () => {
    const leader = await group.leader();
    const [victim, source] = group.ids.filter((id) => id !== leader) as [string, string];
    const load = await startLoad();
    await group.kill(victim);
    await group.wipe(victim, 'postgres');
    group.start(victim);
    const before = await watch(victim, isMidway);
    await expectNotServed(victim);
    await group.kill(source);
    const killedAtMs = performance.now();
    const after = await watch(victim, isWhole);
    await expectUnusedUntilWhole(victim, [...before, ...after]);
    const attempts = [...before, ...after]
      .filter(isCopying)
      .filter(({ status }) => status.recovery.source !== null)
      .map(({ status: { recovery } }) => `${recovery.attempts} from ${recovery.source}`);
    expect([...new Set(attempts)]).toEqual([`1 from ${source}`, `2 from ${leader}`]);
    const first = after.filter(isCopying).find(({ status }) => status.recovery.attempts === 2);
    const last = before.findLast(isCopying);
    expect(first!.status.recovery.bytes).toBeLessThan(last!.status.recovery.bytes);
    // Two of three were left, and one of the two had no database.
    const acknowledgedAtMs = await expectNothingLost(load);
    const healedAtMs = after.at(-1)!.askedMs;
    expect(acknowledgedAtMs.some((atMs) => atMs > killedAtMs && atMs < healedAtMs)).toBe(true);
  });

  it('takes as long as the bound says, and tells how far it is, also where one was cut off by the death of its receiver', async () => {
    const victim = group.ids.find((id) => !group.isRunning(id))!;
    const load = await startLoad();
    await group.wipe(victim);
    group.start(victim);
    const cutOff = await watch(victim, isMidway);
    await expectNotServed(victim);
    await group.kill(victim);
    const { recovery } = cutOff.findLast(isCopying)!.status;
    // What was told to have come is there, and the next attempt goes on with it.
    const kept = await bytesBelow(join(group.dataDir(victim), 'postgres', 'data'));
    expect(kept).toBeGreaterThan(0.7 * (recovery.bytesReceived ?? 0));

    group.start(victim);
    const looks = await watch(victim, isWhole);
    await expectUnusedUntilWhole(victim, looks);
    expectHeldToBound(looks);
    expectProgressTold(looks);
    await expectNothingLost(load);
  });
});
