/** What a figure was measured on: without it a figure means nothing. */
import { cpus, loadavg, release, totalmem, type as systemType } from 'node:os';

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  /** One-minute load average before the first run: other work on the machine makes every figure worthless. */
  readonly loadBefore: number;
}

export function describeMachine(): Machine {
  const cores = cpus();
  return {
    cores: cores.length,
    cpu: cores[0]?.model.trim() ?? 'unknown',
    memoryGiB: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    kernel: `${systemType()} ${release()}`,
    node: process.versions.node,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}

export function machineLines({ cores, cpu, memoryGiB, kernel, node, loadBefore }: Machine): string {
  const busy = loadBefore > cores / 2 ? '   <- busy: do not trust what follows' : '';
  return [
    `machine     ${cores} cores (${cpu}), ${memoryGiB} GiB, ${kernel}`,
    `node        ${node}`,
    `load before ${loadBefore}${busy}`,
  ].join('\n');
}
