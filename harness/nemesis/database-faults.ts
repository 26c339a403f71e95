/**
 * Faults of a replica's PostgreSQL while its Node lives: its main process alone stands still, one of its processes dies, commits are ended while they wait, a standby that hardly moves, copies that are cut off.
 *
 * Responsible for: striking and undoing. What is struck is asked for over PostgreSQL's own socket, as an operator could: no client of Barista has these rights, but for ending waits of its own sessions.
 */
import pg from 'pg';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { betweenSides } from './link-table.ts';
import { breakLinks } from './network-faults.ts';
import { childrenOf, isAlive, isStopped, signalAll } from './processes.ts';
import {
  claimStop,
  claimTarget,
  freshStatus,
  replicaNow,
  Skipped,
  sleep,
  untilTrue,
  type Begun,
  type Scene,
} from './scene.ts';
import type { PlannedFault } from './schedule.ts';

const goneMsMax = 3000;
const copyMsMax = 15_000;
const breaksMax = 2;
/** Of each second, how long a slow standby may run. */
const movingMs = 80;
const stillMs = 920;

const isUp = (_: string, { postgres }: ReplicaStatus): boolean => postgres.pid !== null && postgres.up;

/** The main process alone: its children go on, and nobody gets a new session. */
export async function pausePostmaster(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id, status } = await claimStop(scene, planned, isUp);
  const pid = status.postgres.pid!;
  signalAll([pid], 'SIGSTOP');
  return {
    what: `SIGSTOP of the main process of the PostgreSQL of ${id}`,
    tookEffect: await isStopped(pid),
    end: () => {
      signalAll([pid], 'SIGCONT');
      return Promise.resolve();
    },
  };
}

/** One of PostgreSQL's processes dies, as of a lack of memory: all of PostgreSQL must begin anew. */
export async function killBackend(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id, status } = await claimStop(scene, planned, isUp);
  const children = await childrenOf(status.postgres.pid!);
  const victim = children[Math.floor(((planned.choice * 64) % 1) * children.length)];
  if (victim === undefined) throw new Skipped('PostgreSQL has no process but the main one');
  signalAll([victim], 'SIGKILL');
  return {
    what: `kill -9 of process ${victim}, one of ${children.length} of the PostgreSQL of ${id}`,
    tookEffect: await untilTrue(goneMsMax, () => Promise.resolve(!isAlive(victim))),
    // The replica starts its PostgreSQL again by itself.
    end: () => Promise.resolve(),
  };
}

/** A standby that is fed as ever, and stands still most of the time. */
export async function slowStandby(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id, status } = await claimStop(
    scene,
    planned,
    (name, each) => isUp(name, each) && each.wal?.role === 'standby',
  );
  const postmaster = status.postgres.pid!;
  const over = new AbortController();
  const pids = async (): Promise<readonly number[]> => [postmaster, ...(await childrenOf(postmaster))];
  async function hold(): Promise<void> {
    while (!over.signal.aborted) {
      signalAll(await pids(), 'SIGSTOP');
      await sleep(stillMs);
      signalAll(await pids(), 'SIGCONT');
      await sleep(movingMs);
    }
  }
  const held = hold();
  return {
    what: `the standby of ${id} runs for ${movingMs} ms of each second`,
    tookEffect: await untilTrue(goneMsMax, () => isStopped(postmaster)),
    end: async () => {
      over.abort();
      await held;
    },
  };
}

/**
 * A leader that is cut off keeps commits waiting; their waits are ended by cancelling or by terminating the sessions. PostgreSQL shows what they did from then on, though nobody has chosen it: nobody may be told.
 */
export async function endWaits(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id, status } = await claimTarget(
    scene,
    planned,
    (name, each) => isUp(name, each) && each.role === 'leader' && each.state === 'serving',
  );
  const { socketDir: host, port } = status.postgres;
  const client = new pg.Client({ host, port, user: 'postgres', database: 'postgres' });
  client.on('error', () => {});
  await client.connect().catch((error: unknown) => {
    throw new Skipped(`no session to end others with: ${String(error)}`);
  });
  const others = scene.ids.filter((each) => each !== id);
  const cut = await breakLinks(scene, planned, `${id} cut off`, betweenSides([id], others));
  const how = (planned.choice * 32) % 1 < 0.5 ? 'cancel' : 'terminate';
  let ended = 0;
  const over = new AbortController();
  async function endAll(): Promise<void> {
    while (!over.signal.aborted) {
      const found = await client.query<{ ended: number }>(endWaitsSql(how)).catch(() => null);
      if (found === null) return;
      ended += found.rows[0]?.ended ?? 0;
      await sleep(20);
    }
  }
  const ending = endAll();
  return {
    what: `${id} cut off, and commits that wait there are ended (pg_${how}_backend)`,
    tookEffect: await untilTrue(goneMsMax, () => Promise.resolve(ended > 0)),
    end: async () => {
      over.abort();
      await ending;
      await client.end().catch(() => {});
      await cut.end();
    },
  };
}

function endWaitsSql(how: 'cancel' | 'terminate'): string {
  return `SELECT count(pg_${how}_backend(pid))::int AS ended FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename <> 'postgres'`;
}

/** A leader is lost with its PostgreSQL, and again as often as it is being made equal to another replica's. */
export async function breakCopy(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id, status } = await claimStop(scene, planned);
  const replica = id as ReplicaId;
  const lose = async ({ postgres }: ReplicaStatus): Promise<void> => {
    const crashed = scene.cluster.fault({ action: 'crash', replica });
    if (postgres.pid !== null) signalAll([postgres.pid], 'SIGKILL');
    await crashed;
  };
  const restart = (): Promise<void> => scene.cluster.fault({ action: 'restart', replica });
  await lose(status);
  // Long enough for the others to go another way.
  await sleep(planned.durationMs);
  let breaks = 0;
  for (; breaks < breaksMax; breaks++) {
    await restart();
    const copying = await copyingNow(scene, id);
    if (copying === null) break;
    await lose(copying);
  }
  const isRunning = breaks < breaksMax;
  return {
    what: `kill -9 of ${id} and its PostgreSQL, and ${breaks} times again while it received a copy`,
    tookEffect: breaks > 0,
    end: () => (isRunning ? Promise.resolve() : restart()),
  };
}

/** As soon as bytes have come; null: it needs no copy. */
async function copyingNow(scene: Scene, id: string): Promise<ReplicaStatus | null> {
  let copying: ReplicaStatus | null = null;
  await untilTrue(copyMsMax, async () => {
    const status = freshStatus(await replicaNow(scene, id));
    if (status === null) return false;
    if (status.recovery?.phase === 'copying' && status.recovery.bytes > 0) copying = status;
    return copying !== null || (status.state === 'serving' && status.recovery === null);
  });
  return copying;
}
