/** The tables of a workload, in a system that holds its own. */
import { untilSettled } from './arrival.ts';
import { loadSysbench } from './loads/sysbench-load.ts';
import { loadWarehouses, type TableFile } from './loads/tpcc-load.ts';
import { loadAccounts, tidy, type LoadRun } from './loads/workloads.ts';
import { isYcsb, loadYcsb } from './loads/ycsb.ts';
import type { System } from './systems/system.ts';

export interface Preparation {
  readonly load: LoadRun;
  /** False: pgbench's tables are there, and only put in order. */
  readonly isFresh: boolean;
  readonly signal: AbortSignal;
}

/** `warehouses`: for TPC-C, what `writeWarehouses` has written. */
export async function prepare(
  system: System,
  { load: { workload, scale }, isFresh, signal }: Preparation,
  warehouses: readonly TableFile[],
): Promise<void> {
  const { name } = workload;
  if (name === 'tpcc') await loadWarehouses(system, warehouses, signal);
  else if (name === 'sysbench') await loadSysbench(system, scale, signal);
  else if (isYcsb(name)) await loadYcsb(system, scale);
  else if (isFresh) await loadAccounts(system, scale, signal);
  else await tidy(system, name);
  await untilSettled(system, signal);
}
