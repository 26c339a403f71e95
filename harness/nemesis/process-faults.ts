/** Faults of processes: killed, frozen, all at once. */
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { childrenOf, isAlive, isStopped, signalAll } from './processes.ts';
import {
  claimStop,
  faultIfPossible,
  replicaNow,
  replicasNow,
  Skipped,
  untilTrue,
  type Begun,
  type Scene,
} from './scene.ts';
import type { PlannedFault } from './schedule.ts';

const goneMsMax = 1500;

export async function kill(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id } = await claimStop(scene, planned);
  const replica = id as ReplicaId;
  await scene.cluster.fault({ action: 'crash', replica });
  return {
    what: `kill -9 of ${id}`,
    tookEffect: (await replicaNow(scene, id)).process === 'stopped',
    end: () => scene.cluster.fault({ action: 'restart', replica }),
  };
}

export async function killPostgres(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id, status } = await claimStop(scene, planned, (_, { postgres }) => postgres.pid !== null);
  await scene.cluster.fault({ action: 'killPostgres', replica: id as ReplicaId });
  return {
    what: `kill -9 of the PostgreSQL of ${id} (process ${status.postgres.pid})`,
    // Its parent may not have taken note of its end yet.
    tookEffect: await untilTrue(goneMsMax, () => Promise.resolve(!isAlive(status.postgres.pid!))),
    // The replica starts it again by itself.
    end: () => Promise.resolve(),
  };
}

/** A replica and its PostgreSQL at once, as when one machine is lost. */
export async function killMachine(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id, status } = await claimStop(scene, planned);
  const replica = id as ReplicaId;
  const crashed = scene.cluster.fault({ action: 'crash', replica });
  if (status.postgres.pid !== null) signalAll([status.postgres.pid], 'SIGKILL');
  await crashed;
  return {
    what: `kill -9 of ${id} and its PostgreSQL at once`,
    tookEffect: (await replicaNow(scene, id)).process === 'stopped',
    end: () => scene.cluster.fault({ action: 'restart', replica }),
  };
}

/** Everything at once, as when the power goes: replicas and their PostgreSQL. */
export async function powerCut(scene: Scene, { number }: PlannedFault): Promise<Begun> {
  const struck = (await replicasNow(scene)).filter(
    ({ id, process }) => !scene.claims.has(id) && process !== 'stopped',
  );
  if (struck.length < 2) throw new Skipped('other faults have most of the replicas');
  for (const { id } of struck) scene.claims.set(id, number);
  await Promise.all(
    struck.map(async ({ id }) => {
      await scene.cluster.fault({ action: 'crash', replica: id });
      await faultIfPossible(scene, { action: 'killPostgres', replica: id });
    }),
  );
  const after = await replicasNow(scene);
  return {
    what: `kill -9 of ${struck.map(({ id }) => id).join(', ')} and their PostgreSQL at once`,
    tookEffect: struck.every(({ id }) => after.find((each) => each.id === id)?.process === 'stopped'),
    end: async () => {
      await Promise.all(struck.map(({ id }) => scene.cluster.fault({ action: 'restart', replica: id })));
    },
  };
}

export async function pause(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id } = await claimStop(scene, planned);
  const replica = id as ReplicaId;
  await scene.cluster.fault({ action: 'pause', replica });
  return {
    what: `SIGSTOP of ${id}`,
    tookEffect: (await replicaNow(scene, id)).process === 'paused',
    end: () => scene.cluster.fault({ action: 'resume', replica }),
  };
}

/** The postmaster with all of its processes. */
export async function pausePostgres(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id, status } = await claimStop(scene, planned, (_, { postgres }) => postgres.pid !== null);
  const postmaster = status.postgres.pid!;
  const pids = [postmaster, ...(await childrenOf(postmaster))];
  signalAll(pids, 'SIGSTOP');
  return {
    what: `SIGSTOP of the PostgreSQL of ${id} (${pids.length} processes)`,
    tookEffect: await isStopped(postmaster),
    end: () => {
      signalAll(pids, 'SIGCONT');
      return Promise.resolve();
    },
  };
}
