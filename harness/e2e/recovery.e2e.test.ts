/**
 * Nothing acknowledged is lost, whatever is wiped: disks of real replicas are removed under a bank's load, and replicas stay away for long. What a person would do is not done here:
 * every replica comes back by itself.
 *
 * BARISTA_LOAD_SECONDS sets how long disks are wiped, and how long the log runs away from a replica (default 8).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import { comparableDump, sequencePositions } from '../checkers/database-compare.ts';
import { healed, logMark, phasesSince, statusOf } from '../cluster/healing.ts';
import { startCluster, type LocalCluster } from '../cluster/local-cluster.ts';
import { psql } from '../cluster/pg-tools.ts';
import { longestSilence } from '../nemesis/silence.ts';
import { startBankLoad, type BankLoad, type BankResult } from '../workload/bank-load.ts';
import type { RunError } from '../workload/run-workload.ts';
import { SqlSession } from '../workload/sql-session.ts';

const LOAD_SECONDS = Number(process.env.BARISTA_LOAD_SECONDS ?? 8);
const TIMEOUT_MS = 240_000 + LOAD_SECONDS * 2000;
/** Seconds on a quiet machine. */
const HEAL_MS = 180_000;
/** What clients may be told while a leader is replaced, and how long that may take on a machine that is busy with other things. */
const FAILOVER_MS = 10_000;
const FAILOVER_ERRORS = /^(57P01|57P02|57P03|08007|08001|08006|40001|connectionLost|E[A-Z]+)$/;
/** What a client of a replica that is being wiped is told: its own connection breaks, and another is not to be had there yet. */
const OWN_REPLICA_ERRORS = /^(57P01|57P02|57P03|08001|connectionLost|E[A-Z]+)$/;
const LOG_BYTES_MAX = 4 * 1024 * 1024;

interface Wipe {
  readonly replica: string;
  readonly port: number;
  readonly wasLeader: boolean;
  readonly fromUs: number;
  readonly healedUs: number;
}

async function expectIdentical(cluster: LocalCluster): Promise<readonly ReplicaStatus[]> {
  const statuses = await cluster.settled();
  const dumps = await Promise.all(statuses.map(({ postgres }) => comparableDump(postgres, 'barista')));
  for (const dump of dumps.slice(1)) expect(dump).toEqual(dumps[0]);
  // A leader's sequences run ahead of what was agreed on.
  const followers = statuses.filter(({ role }) => role !== 'leader');
  const positions = await Promise.all(
    followers.map(({ postgres }) => sequencePositions(postgres, 'barista')),
  );
  for (const position of positions.slice(1)) expect(position).toEqual(positions[0]);
  return statuses;
}

/** Removes everything that the replica has, and waits until it votes again. */
async function wipe(cluster: LocalCluster, bank: BankLoad, victim: ReplicaStatus): Promise<Wipe> {
  const fromUs = bank.nowUs();
  const fromMs = Date.now();
  const mark = await logMark(cluster, victim.id);
  const wasLeader = (await statusOf(cluster, victim.id))?.role === 'leader';
  await cluster.fault({ action: 'wipe', replica: victim.id, what: 'both' });
  await healed(cluster, victim.id, victim.incarnation + 1, HEAL_MS);
  const healedUs = bank.nowUs();
  const phases = await phasesSince(cluster, victim.id, mark);
  const told = phases.map(({ phase, cause, atMs }) => `${phase} (${cause}) at ${atMs - fromMs}`).join(', ');
  const who = `${victim.id}${wasLeader ? ', the leader,' : ''}`;
  console.log(`${who} was wiped and voted again after ${Math.round((healedUs - fromUs) / 1000)} ms: ${told}`);
  return { replica: victim.id, port: victim.pgwire.port, wasLeader, fromUs, healedUs };
}

/** Errors that no wipe accounts for. */
function unexplained({ errors }: BankResult, wipes: readonly Wipe[]): readonly RunError[] {
  return errors.filter(({ timeUs, port, code }) => {
    if (code === 'notEnough') return false;
    const isFailover = wipes.some(
      ({ wasLeader, fromUs }) => wasLeader && timeUs >= fromUs && timeUs <= fromUs + FAILOVER_MS * 1000,
    );
    if (isFailover && FAILOVER_ERRORS.test(code)) return false;
    const isOwn = wipes.some(
      (each) => each.port === port && timeUs >= each.fromUs && timeUs <= each.healedUs,
    );
    return !(isOwn && OWN_REPLICA_ERRORS.test(code));
  });
}

/** How long nothing was acknowledged after each loss of a leader, and what clients were told. */
function tell({ okUs, errors, transfers, reads }: BankResult, wipes: readonly Wipe[]): void {
  for (const { replica, wasLeader, fromUs } of wipes) {
    if (!wasLeader) continue;
    const toUs = fromUs + FAILOVER_MS * 1000;
    const silenceMs = Math.round(longestSilence(okUs, fromUs, toUs).lengthUs / 1000);
    const last = errors.filter(
      ({ timeUs, code }) => timeUs >= fromUs && timeUs <= toUs && code !== 'notEnough',
    );
    const lastMs = Math.round(((last.at(-1)?.timeUs ?? fromUs) - fromUs) / 1000);
    console.log(`${replica}, the leader: no answer for ${silenceMs} ms, the last error after ${lastMs} ms`);
  }
  const counts = new Map<string, number>();
  for (const { during, code } of errors)
    counts.set(`${during} ${code}`, (counts.get(`${during} ${code}`) ?? 0) + 1);
  const told = [...counts].map(([code, count]) => `${code}: ${count}`).join(', ');
  console.log(`${transfers} transfers, ${reads} reads, all totals right; errors: ${told}`);
}

describe('five replicas under the load of a bank', () => {
  let cluster: LocalCluster;
  beforeAll(async () => {
    cluster = await startCluster({ replicas: 5 });
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  it(
    'heal by themselves when two lose their disks, in turn and then at once with the leader among them',
    async () => {
      const before = new Map((await cluster.settled()).map(({ id, incarnation }) => [id, incarnation]));
      const bank = await startBankLoad({ ports: cluster.pgwirePorts, seed: 1, pace: 2 });
      const wipes: Wipe[] = [];
      const untilUs = LOAD_SECONDS * 1e6;
      await sleep(1000);
      do {
        const others = await followers(cluster);
        for (const victim of others.slice(0, 2)) wipes.push(await wipe(cluster, bank, victim));
        const leader = await cluster.leader();
        const [follower] = await followers(cluster);
        wipes.push(...(await Promise.all([leader, follower!].map((victim) => wipe(cluster, bank, victim)))));
      } while (bank.nowUs() < untilUs);
      await sleep(1000);
      await bank.stop();

      const statuses = await expectIdentical(cluster);
      const result = await bank.finish();
      tell(result, wipes);
      expect(result.anomalies).toEqual([]);
      expect(unexplained(result, wipes)).toEqual([]);
      expect(result.transfers).toBeGreaterThan(50);
      expect(wipes.some(({ wasLeader }) => wasLeader)).toBe(true);
      for (const { id, incarnation, membership } of statuses) {
        const lost = wipes.filter(({ replica }) => replica === id).length;
        expect({ id, incarnation }).toEqual({ id, incarnation: before.get(id)! + lost });
        expect(membership.members.map(({ role }) => role)).toEqual(Array(5).fill('voter'));
      }
    },
    TIMEOUT_MS,
  );
});

async function followers(cluster: LocalCluster): Promise<ReplicaStatus[]> {
  const leader = await cluster.leader();
  const { replicas } = await cluster.status();
  return replicas.flatMap(({ status }) => (status === null || status.id === leader.id ? [] : [status]));
}

/** Load that makes logs grow by some hundred kilobytes a second; returns how to stop it. */
function fillLogs(port: number): () => Promise<void> {
  const enough = new AbortController();
  const fill = async (): Promise<void> => {
    const session = await SqlSession.open({ port, connectMs: 5000, statementMs: 20_000 });
    for (let row = 1; !enough.signal.aborted; row++) {
      await session.statement('INSERT INTO filler VALUES (repeat(md5(random()::text), 600))', [], 'writes');
      if (row % 500 === 0) await session.statement('TRUNCATE filler', [], 'writes');
      await sleep(50);
    }
    session.close();
  };
  const filled = fill();
  return async () => {
    enough.abort();
    await filled;
  };
}

describe('a replica that is away while the others go on, with short logs', () => {
  let cluster: LocalCluster;
  let away: ReplicaStatus;
  let bank: BankLoad;
  beforeAll(async () => {
    cluster = await startCluster({ args: [`--log-bytes-max=${LOG_BYTES_MAX}`] });
    away = (await followers(cluster))[0]!;
    await psql(cluster.pgwirePorts[0]!, 'CREATE TABLE filler (line text)');
    const ports = cluster.pgwirePorts.filter((port) => port !== away.pgwire.port);
    bank = await startBankLoad({ ports, seed: 2 });
  });
  afterAll(async () => {
    await bank?.stop();
    await cluster?.stop();
  });

  it(
    'returns by the log if it was away for a short while',
    async () => {
      await cluster.fault({ action: 'crash', replica: away.id });
      await sleep(3000);
      const mark = await logMark(cluster, away.id);
      const fromMs = performance.now();
      await cluster.fault({ action: 'restart', replica: away.id });
      await healed(cluster, away.id, away.incarnation, HEAL_MS);
      console.log(`${away.id} was back by the log after ${Math.round(performance.now() - fromMs)} ms`);
      const phases = await phasesSince(cluster, away.id, mark);
      expect(phases.filter(({ phase }) => phase === 'copying')).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'returns by a copy if it was away for too long, and meanwhile the logs of the others stay within their bound',
    async () => {
      const { lastSlot } = (await statusOf(cluster, away.id))!;
      await cluster.fault({ action: 'crash', replica: away.id });
      const others = (await cluster.status()).replicas.filter(({ id }) => id !== away.id);
      const stopFilling = fillLogs((await cluster.leader()).pgwire.port);
      const samples: number[] = [];
      const beganMs = performance.now();
      const isPast = async (): Promise<boolean> => {
        const statuses = await Promise.all(others.map(({ id }) => statusOf(cluster, id)));
        for (const status of statuses) if (status !== null) samples.push(status.log.bytes);
        const isLong = performance.now() - beganMs > LOAD_SECONDS * 1000;
        return isLong && statuses.every((status) => (status?.log.purgedTo ?? 0) > lastSlot + 100);
      };
      while (!(await isPast())) {
        if (performance.now() - beganMs > TIMEOUT_MS / 2)
          throw new Error(`never past the bound: ${samples.at(-1)}`);
        await sleep(200);
      }
      const mark = await logMark(cluster, away.id);
      const fromMs = performance.now();
      await cluster.fault({ action: 'restart', replica: away.id });
      await healed(cluster, away.id, away.incarnation, HEAL_MS);
      await stopFilling();
      const phases = await phasesSince(cluster, away.id, mark);
      console.log(
        `logs of the others: at most ${Math.max(...samples)} of ${LOG_BYTES_MAX} bytes in ${samples.length} looks; ` +
          `${away.id} was back after ${Math.round(performance.now() - fromMs)} ms: ${phases.map(({ phase }) => phase).join(', ')}`,
      );
      expect(Math.max(...samples)).toBeLessThanOrEqual(LOG_BYTES_MAX);
      expect(Math.max(...samples)).toBeGreaterThan(LOG_BYTES_MAX / 2);
      expect(phases).toContainEqual(expect.objectContaining({ phase: 'copying', cause: 'logPurged' }));

      await bank.stop();
      await expectIdentical(cluster);
      const result = await bank.finish();
      tell(result, []);
      expect(result.anomalies).toEqual([]);
      // Whoever is away is only a follower, and nobody is its client.
      expect(unexplained(result, [])).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
