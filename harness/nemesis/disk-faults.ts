/**
 * Faults of disks: full, damaged, lost.
 *
 * Lost or damaged disks keep the bound of safety.ts; the others take away nothing that was durable.
 */
import { join } from 'node:path';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { flipByte, tearTail } from './damage-log.ts';
import {
  type Begun,
  claimLoss,
  claimStop,
  forgetHealed,
  freshStatus,
  replicaNow,
  report,
  type Scene,
  Skipped,
  untilTrue,
} from './scene.ts';
import type { PlannedFault } from './schedule.ts';
import { type SmallDisk, moveToSmallDisk, smallDiskProblem } from './small-disk.ts';

const healMsMax = 120_000;
const noticeMsMax = 20_000;

function requireFiles({ logStore }: Scene): void {
  if (logStore !== 'segment') throw new Skipped(`the log is not in files of ours (${logStore})`);
}

export function logDirectory(scene: Scene, id: string): string {
  requireFiles(scene);
  return join(scene.cluster.dataDir, id, 'log');
}

/** A write that was under way when the replica died, as a disk may leave it: the replica must come back with all it had. */
export async function tornTail(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id } = await claimStop(scene, planned);
  const directory = logDirectory(scene, id);
  const replica = id as ReplicaId;
  await scene.cluster.fault({ action: 'crash', replica });
  const restart = (): Promise<void> => scene.cluster.fault({ action: 'restart', replica });
  try {
    const where = await tearTail(directory);
    return {
      what: `kill -9 of ${id}, and a torn write at the end of its log (${where})`,
      tookEffect: true,
      end: async () => {
        await restart();
        if (await untilTrue(noticeMsMax, async () => isUp(scene, id))) return;
        report(scene, 'torn-tail-refused', `${id} does not come back with a torn write behind its log`);
      },
    };
  } catch (error) {
    await restart();
    throw new Skipped(String(error));
  }
}

async function isUp(scene: Scene, id: string): Promise<boolean> {
  const status = freshStatus(await replicaNow(scene, id));
  return status !== null && status.state !== 'starting' && status.state !== 'logCorrupt';
}

/** A bit of what was durable is another one: the replica must refuse to vote. Then its disk is lost, and it comes back as another incarnation. */
export async function flippedByte(scene: Scene, planned: PlannedFault): Promise<Begun> {
  requireFiles(scene);
  const { id, status } = await claimLoss(scene, planned, true);
  const replica = id as ReplicaId;
  try {
    const directory = logDirectory(scene, id);
    await scene.cluster.fault({ action: 'crash', replica });
    const where = await flipByte(directory, planned.choice);
    await scene.cluster.fault({ action: 'restart', replica });
    const refused = await untilTrue(
      noticeMsMax,
      async () => freshStatus(await replicaNow(scene, id))?.state === 'logCorrupt',
    );
    if (!refused) report(scene, 'damage-unnoticed', `${id} goes on with a damaged log (${where})`);
    return {
      what: `a flipped bit in the log of ${id} (${where}); ${refused ? 'it refuses to vote' : 'it did not notice'}`,
      tookEffect: refused,
      end: async () => {
        await scene.cluster.fault({ action: 'wipe', replica, what: 'log' });
        await untilHealed(scene, id);
      },
    };
  } catch (error) {
    scene.losses.delete(status.id);
    await scene.cluster.fault({ action: 'restart', replica });
    throw error instanceof Skipped ? error : new Skipped(String(error));
  }
}

export async function wipe(
  scene: Scene,
  planned: PlannedFault,
  what: 'log' | 'database' | 'both',
): Promise<Begun> {
  const { id } = await claimLoss(scene, planned, what !== 'database');
  const replica = id as ReplicaId;
  await scene.cluster.fault({ action: 'wipe', replica, what });
  const shown = what === 'both' ? 'log and database' : what;
  return {
    what: `kill -9 of ${id}, and its ${shown} wiped`,
    tookEffect: await untilTrue(noticeMsMax, async () => {
      const now = freshStatus(await replicaNow(scene, id));
      return now !== null && (now.recovery !== null || !scene.losses.has(id));
    }),
    end: () => untilHealed(scene, id),
  };
}

export async function untilHealed(scene: Scene, id: string): Promise<void> {
  const healed = await untilTrue(healMsMax, async () => {
    await forgetHealed(scene);
    return !scene.losses.has(id);
  });
  if (!healed)
    report(scene, 'not-healed', `${id} has not come back within ${healMsMax / 1000} s of losing its disk`);
}

/** The disk of the log runs full while load goes on, until room is made. */
export async function fullDisk(
  scene: Scene,
  planned: PlannedFault,
  load: (until: () => Promise<boolean>) => Promise<void>,
): Promise<Begun> {
  const problem = await smallDiskProblem();
  if (problem !== null) throw new Skipped(problem);
  const { id } = await claimStop(scene, planned);
  const directory = logDirectory(scene, id);
  const replica = id as ReplicaId;
  const stopped = async (work: () => Promise<void>): Promise<void> => {
    await scene.cluster.fault({ action: 'crash', replica });
    await work();
    await scene.cluster.fault({ action: 'restart', replica });
  };
  let disk: SmallDisk | null = null;
  await stopped(async () => void (disk = await moveToSmallDisk(directory)));
  const mounted = disk as SmallDisk | null;
  if (mounted === null) throw new Skipped('the log could not be moved to a small disk');
  await untilTrue(noticeMsMax, () => isUp(scene, id));
  await mounted.fill();
  const isFull = async (): Promise<boolean> => freshStatus(await replicaNow(scene, id))?.state === 'logFull';
  await load(isFull);
  return {
    what: `the disk with the log of ${id} has no room left`,
    tookEffect: await isFull(),
    end: async () => {
      await mounted.makeRoom();
      const resumed = await untilTrue(noticeMsMax, async () => !(await isFull()));
      if (!resumed) report(scene, 'still-full', `${id} does not go on although its disk has room again`);
      await stopped(() => mounted.moveBack());
    },
  };
}
