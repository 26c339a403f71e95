/** What three replicas cost that nobody uses: CPU in percent of one core, of the replicas and of the demo's own process around them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BaristaSystems } from './systems/barista.ts';
import { lookAtProcesses, treeCpuMs, type ProcessTable } from './processes.ts';
import { checkpoint } from './loads/workloads.ts';

export interface IdleResult {
  readonly seconds: number;
  readonly replicasPercent: number;
  readonly supervisorPercent: number;
}

/** What came before has to end: checkpoints, autovacuum, the last messages. */
const restMs = 15_000;

export async function measureIdle(
  { barista, supervisorPid }: BaristaSystems,
  seconds: number,
  signal: AbortSignal,
): Promise<IdleResult> {
  await checkpoint(barista);
  const roots = (await barista.parts()).map(({ pid }) => pid);
  await sleep(restMs, undefined, { signal });
  const before = lookAtProcesses();
  await sleep(seconds * 1000, undefined, { signal });
  const after = lookAtProcesses();
  const percent = (cpuMs: number): number => (100 * cpuMs) / (after.atMs - before.atMs);
  return {
    seconds,
    replicasPercent: percent(treeCpuMs(after, roots) - treeCpuMs(before, roots)),
    supervisorPercent: percent(ownCpuMs(after, supervisorPid) - ownCpuMs(before, supervisorPid)),
  };
}

/** Without its children, which are the replicas. */
function ownCpuMs({ processes }: ProcessTable, pid: number): number {
  return processes.get(pid)?.cpuMs ?? 0;
}
