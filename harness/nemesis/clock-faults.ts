/**
 * Faults of clocks, as far as a process can be given another one (clock-shim.mjs).
 *
 * Monotonic clocks run at rates that differ by less than `clockDriftMax` (0.05), which is what leases are stated to bear; wall clocks are off by up to a day.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { claimTarget, untilTrue, type Begun, type Scene } from './scene.ts';
import type { PlannedFault } from './schedule.ts';

const rateMax = 1.045;
/** Of a run whose leases are judged by what was recorded: there the machine's clock, at which the others run, is taken for the middle of slow and fast ones (IsTrue of TraceLease.tla). */
const tracedRateMax = 1.025;
const wallMsMax = 24 * 3600 * 1000;

/** What a cluster must be started with for these faults. */
export function clockEnvironment(): Readonly<Record<string, string>> {
  const shim = pathToFileURL(new URL('clock-shim.mjs', import.meta.url).pathname).href;
  return { NODE_OPTIONS: [process.env.NODE_OPTIONS ?? '', `--import=${shim}`].join(' ').trim() };
}

export async function clockRate(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id } = await claimTarget(scene, planned);
  const rate = drawnRate(planned.choice, scene.isTraced);
  return set(scene, id, `monotonic clock of ${id} at ${rate.toFixed(3)} of its pace`, { rate });
}

/** `choice`: from 0 to 1. */
export function drawnRate(choice: number, isTraced: boolean): number {
  return 1 + choice * ((isTraced ? tracedRateMax : rateMax) - 1);
}

export async function wallClock(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { id } = await claimTarget(scene, planned);
  const wallMs = Math.round((planned.choice - 0.5) * 2 * wallMsMax);
  return set(scene, id, `wall clock of ${id} off by ${Math.round(wallMs / 1000)} s`, { wallMs });
}

async function set(
  scene: Scene,
  id: string,
  what: string,
  change: Partial<{ rate: number; wallMs: number }>,
): Promise<Begun> {
  const tookEffect = await writeClock(scene, id, change);
  return {
    what,
    tookEffect,
    end: async () => {
      await writeClock(scene, id, { rate: 1, wallMs: 0 });
    },
  };
}

/** True once the replica has taken it over. */
export async function writeClock(
  scene: Scene,
  id: string,
  change: Partial<{ rate: number; wallMs: number }>,
): Promise<boolean> {
  const clock = { rate: 1, wallMs: 0, ...scene.clocks.get(id), ...change };
  scene.clocks.set(id, clock);
  const text = JSON.stringify(clock);
  const base = join(scene.cluster.dataDir, id);
  await writeFile(`${base}.clock`, text);
  return untilTrue(1500, async () => (await readFile(`${base}.seen`, 'utf8').catch(() => '')) === text);
}
