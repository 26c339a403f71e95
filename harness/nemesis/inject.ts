/** Which code carries out which fault. */
import { dropBallast, loadBallast } from './ballast.ts';
import { clockRate, wallClock } from './clock-faults.ts';
import { breakCopy, endWaits, killBackend, pausePostmaster, slowStandby } from './database-faults.ts';
import { flippedByte, fullDisk, tornTail, wipe } from './disk-faults.ts';
import { replaceMember } from './member-faults.ts';
import { duplicate, halves, isolate, lossy, oneWay, ring, slow } from './network-faults.ts';
import { kill, killMachine, killPostgres, pause, pausePostgres, powerCut } from './process-faults.ts';
import { slowDisk } from './slow-disk.ts';
import type { Begun, Scene } from './scene.ts';
import type { PlannedFault } from './schedule.ts';

/** @throws Skipped */
export function inject(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { pgwirePorts } = scene.cluster;
  switch (planned.kind) {
    case 'kill':
      return kill(scene, planned);
    case 'killPostgres':
      return killPostgres(scene, planned);
    case 'killMachine':
      return killMachine(scene, planned);
    case 'killBackend':
      return killBackend(scene, planned);
    case 'pausePostmaster':
      return pausePostmaster(scene, planned);
    case 'slowStandby':
      return slowStandby(scene, planned);
    case 'endWaits':
      return endWaits(scene, planned);
    case 'breakCopy':
      return breakCopy(scene, planned);
    case 'powerCut':
      return powerCut(scene, planned);
    case 'pause':
      return pause(scene, planned);
    case 'pausePostgres':
      return pausePostgres(scene, planned);
    case 'isolate':
      return isolate(scene, planned);
    case 'oneWay':
      return oneWay(scene, planned);
    case 'halves':
      return halves(scene, planned);
    case 'ring':
      return ring(scene, planned);
    case 'slow':
      return slow(scene, planned);
    case 'lossy':
      return lossy(scene, planned);
    case 'duplicate':
      return duplicate(scene, planned);
    case 'clockRate':
      return clockRate(scene, planned);
    case 'wallClock':
      return wallClock(scene, planned);
    case 'slowDisk':
      return slowDisk(scene, planned);
    case 'fullDisk':
      return withoutBallast(
        pgwirePorts,
        fullDisk(scene, planned, (isEnough) => loadBallast(pgwirePorts, isEnough)),
      );
    case 'tornTail':
      return tornTail(scene, planned);
    case 'flippedByte':
      return flippedByte(scene, planned);
    case 'wipeLog':
      return wipe(scene, planned, 'log');
    case 'wipeDatabase':
      return wipe(scene, planned, 'database');
    case 'wipeBoth':
      return wipe(scene, planned, 'both');
    case 'replace':
      return replaceMember(scene, planned);
    default:
      return planned.kind satisfies never;
  }
}

async function withoutBallast(ports: readonly number[], begun: Promise<Begun>): Promise<Begun> {
  const fault = await begun;
  return {
    ...fault,
    end: async () => {
      await fault.end();
      await dropBallast(ports);
    },
  };
}
