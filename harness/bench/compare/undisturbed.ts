/**
 * Runs of which the rest of the machine took no part.
 *
 * Responsible for: measuring how busy others were during a run, and, for who has the patience, repeating a run that was disturbed. What is thrown away is said.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { coresOfOthers, lookAtProcesses } from './processes.ts';

/** The kernel's own threads take about half of this when everything is quiet. */
const disturbedCores = 0.2;
const attemptsMax = 8;
const lookMs = 2000;
const quietMsMax = 300_000;

export interface Watched {
  /** Cores that were busy with what is no part of this benchmark; the kernel's own threads count here. */
  readonly coresOfOthers: number;
}

export interface Patience {
  /** False: every run counts, whatever else goes on. */
  readonly repeats: boolean;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/** The first run that was not disturbed; after many attempts the one that was disturbed least. */
export async function undisturbed<T extends object>(
  { repeats, signal, progress }: Patience,
  what: string,
  run: () => Promise<T>,
): Promise<T & Watched> {
  let best: (T & Watched) | null = null;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    if (repeats) await untilQuiet(signal);
    const before = lookAtProcesses();
    const result = await run();
    const watched = { ...result, coresOfOthers: coresOfOthers(before, lookAtProcesses()) };
    if (best === null || watched.coresOfOthers < best.coresOfOthers) best = watched;
    if (!repeats || best.coresOfOthers <= disturbedCores || attempt === attemptsMax) return best;
    progress(
      `${what}: thrown away, for others kept ${watched.coresOfOthers.toFixed(2)} cores busy; again when it is quiet`,
    );
  }
}

/** Or until it is clear that it does not get quiet. */
async function untilQuiet(signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + quietMsMax;
  for (let before = lookAtProcesses(); performance.now() < deadline; ) {
    await sleep(lookMs, undefined, { signal });
    const after = lookAtProcesses();
    if (coresOfOthers(before, after) <= disturbedCores) return;
    before = after;
  }
}
