/**
 * Disks run full under load: that of a follower, that of the leader, those of all. Each replica has its data directory on a small file system of its own.
 *
 * Of one: the others go on. Of all: clients are told so, and nothing hangs. With room again, service goes on by itself, and nothing that was acknowledged is lost.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServedGroup } from '../cluster/served-group.ts';
import { ballastSetup, loadBallast } from '../nemesis/ballast.ts';
import { emptySmallDisk, smallDiskProblem, unmountAll } from '../nemesis/small-disk.ts';
import { psql } from '../cluster/pg-tools.ts';
import type { Ledger } from '../workload/ledger.ts';
import { CannotRun, type Drill, type DrillContext } from './drill.ts';
import {
  describeLedger,
  judgeLedger,
  judgeReplicas,
  secondsText,
  startGroupLedger,
  untilAcknowledged,
} from './group-ledger.ts';

const MIB = 1024 * 1024;
/** A new database, its WAL, a log, and some room for each. */
const diskBytes = 320 * MIB;
const serveMsMax = 120_000;
/** Of a group in which one disk is full: as long as a change of leaders may take. */
const silenceMsMax = 30_000;
const troubled: ReadonlySet<string> = new Set(['logFull', 'databaseDown', 'starting']);

type Disks = ReadonlyMap<string, Awaited<ReturnType<typeof emptySmallDisk>>>;

interface Scene {
  readonly group: ServedGroup;
  readonly disks: Disks;
  readonly ledger: Ledger;
  readonly say: DrillContext['say'];
}

export const fullDisk: Drill = async ({ seconds, keep, say }) => {
  const problem = await smallDiskProblem();
  if (problem !== null) throw new CannotRun(`${problem[0]!.toUpperCase()}${problem.slice(1)}.`);
  const disks = new Map<string, Awaited<ReturnType<typeof emptySmallDisk>>>();
  const group = await ServedGroup.create({
    settings: {
      verify: { everyMinutes: 0 },
      bounds: { clientsMax: 40, logBytesMax: 64 * MIB },
      postgres: { settings: { max_wal_size: '64MB', min_wal_size: '32MB', shared_buffers: '32MB' } },
    },
    prepare: async (made) => {
      for (const id of made.ids) disks.set(id, await emptySmallDisk(made.dataDir(id), diskBytes));
    },
  });
  say(`Three replicas serve, each with a disk of ${diskBytes / MIB} MiB, in ${group.root}.`);
  const faults: string[] = [];
  try {
    const ledger = await startGroupLedger(group);
    const created = await psql(group.pgwirePort(await group.leader()), `${ballastSetup};`);
    if (created.code !== 0) throw new Error(created.stderr);
    const scene: Scene = { group, disks, ledger, say };
    await sleep(seconds * 250);
    const leader = await group.leader();
    faults.push(...(await one(scene, group.ids.find((id) => id !== leader)!, 'a follower')));
    faults.push(...(await one(scene, await group.leader(), 'the leader')));
    faults.push(...(await all(scene)));
    await sleep(2000);
    const result = await ledger.stop();
    say(`${describeLedger(result)}.`);
    await group.settled();
    say('All replicas vote and have everything; they are compared.');
    faults.push(...(await judgeLedger(group, result)), ...(await judgeReplicas(group)));
  } catch (error) {
    faults.push((error as Error).message);
  } finally {
    await group.stop(true);
    if (!keep && faults.length === 0) {
      await unmountAll(group.root);
      await group.stop();
    }
  }
  return faults;
};

async function one(scene: Scene, id: string, who: string): Promise<string[]> {
  const { group, disks, ledger, say } = scene;
  await disks.get(id)!.fill();
  say(`The disk of ${id}, ${who}, is full.`);
  const fullMs = performance.now();
  const state = await untilTroubled(scene, id);
  say(
    state === null
      ? `${id} has not noticed within a minute.`
      : `${id} is ${state} after ${secondsText(performance.now() - fullMs)}.`,
  );
  const silentMs = await untilAcknowledged(ledger, silenceMsMax);
  if (silentMs === null)
    return [`With the disk of ${who} full nothing was acknowledged for ${silenceMsMax / 1000} s.`];
  say(`The others go on: a row is acknowledged ${secondsText(silentMs)} later.`);
  await disks.get(id)!.makeRoom();
  const backMs = await untilServing(group, [id]);
  if (backMs === null) return [`${id} does not serve ${serveMsMax / 1000} s after its disk has room again.`];
  say(`${id} serves ${secondsText(backMs)} after its disk has room again.`);
  return state === null ? [`${id} did not say that its disk is full.`] : [];
}

async function all({ group, disks, ledger, say }: Scene): Promise<string[]> {
  await Promise.all([...disks.values()].map((disk) => disk.fill()));
  say('The disks of all are full.');
  const fullMs = performance.now();
  let silentSinceMs = performance.now();
  let count = ledger.acknowledged();
  const isSilent = (): Promise<boolean> => {
    if (ledger.acknowledged() !== count) silentSinceMs = performance.now();
    count = ledger.acknowledged();
    return Promise.resolve(performance.now() - silentSinceMs > 5000);
  };
  while (!(await isSilent())) {
    if (performance.now() - fullMs > serveMsMax)
      return ['All disks are full, and writes are acknowledged all the same.'];
    await loadBallast(group.pgwirePorts, isSilent);
  }
  say(`Nothing is acknowledged any more, ${secondsText(silentSinceMs - fullMs)} later.`);
  const { stderr } = await psql(
    group.pgwirePorts[0]!,
    "SET statement_timeout = '15s'; INSERT INTO ballast VALUES ('one more');",
  );
  say(`A client is told: ${stderr.trim().split('\n')[0] ?? 'nothing'}`);
  for (const id of group.ids) {
    const status = await group.status(id);
    const why = status?.message == null ? '' : ` (${status.message.split('\n', 1)[0]!})`;
    say(`${id} is ${status?.state ?? 'silent'}${why}.`);
  }
  await Promise.all([...disks.values()].map((disk) => disk.makeRoom()));
  const tookMs = await untilAcknowledged(ledger, serveMsMax);
  if (tookMs === null)
    return [`Nothing is acknowledged ${serveMsMax / 1000} s after all disks have room again.`];
  say(
    `All disks have room again; the first row is acknowledged ${secondsText(tookMs)} later. Nobody did anything else.`,
  );
  const wholeMs = await untilServing(group, group.ids);
  return wholeMs === null ? [`Not all serve ${serveMsMax / 1000} s after all disks have room again.`] : [];
}

/** Its state when it says what is wrong; null: it does not within a minute. */
async function untilTroubled({ group }: Scene, id: string): Promise<string | null> {
  let state: string | null = null;
  const isTroubled = async (): Promise<boolean> => {
    const status = await group.status(id);
    if (status !== null && troubled.has(status.state)) state = status.state;
    return state !== null;
  };
  const untilMs = performance.now() + 60_000;
  while (!(await isTroubled()) && performance.now() < untilMs)
    await loadBallast(group.pgwirePorts, isTroubled);
  return state;
}

async function untilServing(group: ServedGroup, ids: readonly string[]): Promise<number | null> {
  const fromMs = performance.now();
  for (;;) {
    const statuses = await Promise.all(ids.map((id) => group.status(id)));
    if (statuses.every((status) => status?.state === 'serving')) return performance.now() - fromMs;
    if (performance.now() - fromMs > serveMsMax) return null;
    await sleep(100);
  }
}
