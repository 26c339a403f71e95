/**
 * What is run, by pgbench or by terminals of TPC-C, and how a database is put in order before it. Simple protocol, `-n`: the order is the benchmark's own, the same for every system.
 *
 * Before each workload the tables are loaded anew. Pages that were written since the last checkpoint are not logged whole again when they change, so the rounds
 * that follow are alike, and a slow system does not pay for more whole pages per transaction than a fast one. A quick comparison loads once: it is over before
 * a checkpoint is due.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { querySql, type SqlTarget } from '../sql.ts';
import { pgbench, readConnectingMs, readPgbench, type PgbenchFigures } from './client-tools.ts';
import type { System } from './system.ts';
import { runTpcc } from './tpcc-load.ts';

export type WorkloadName = 'update' | 'tpcb' | 'tpcc' | 'select';

export interface Workload {
  readonly name: WorkloadName;
  readonly clients: number;
  readonly label: string;
}

export const workloadLabels: Readonly<Record<WorkloadName, string>> = {
  update: 'UPDATE by key',
  tpcb: 'TPC-B',
  tpcc: 'TPC-C',
  select: 'SELECT by key',
};

export function workload(name: WorkloadName, clients: number): Workload {
  return { name, clients, label: `${workloadLabels[name]}, ${clients} client${clients === 1 ? '' : 's'}` };
}

export const quickWorkloads: readonly Workload[] = [
  workload('update', 1),
  workload('update', 16),
  workload('update', 64),
  workload('tpcb', 16),
  workload('select', 16),
];

export const fullWorkloads: readonly Workload[] = [
  workload('update', 1),
  workload('update', 16),
  workload('update', 64),
  workload('tpcb', 1),
  workload('tpcb', 16),
  workload('tpcc', 16),
  workload('select', 16),
];

const updateScript = `\\set aid random(1, 100000 * :scale)
\\set delta random(-5000, 5000)
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
`;

/** Writes the script that pgbench has no word for. */
export async function writeUpdateScript(root: string): Promise<string> {
  const file = join(root, 'update-by-key.sql');
  await writeFile(file, updateScript);
  return file;
}

/** pgbench's tables: 100,000 accounts for each unit of scale; primary keys; vacuumed. */
export async function load(system: System, scale: number, signal: AbortSignal): Promise<void> {
  await pgbench(await system.client(), ['--initialize', '--quiet', `--scale=${scale}`], signal);
}

export interface LoadRun {
  readonly workload: Workload;
  readonly scale: number;
  readonly seconds: number;
  readonly updateScript: string;
}

export interface LoadFigures extends PgbenchFigures {
  /** What connecting its clients took, which is part of the run's time and of no figure. */
  readonly connectingMs: number;
}

/** @throws Error if a transaction failed, or none was done; the signal's reason */
export async function runLoad(target: SqlTarget, load: LoadRun, signal: AbortSignal): Promise<LoadFigures> {
  const { workload: what, seconds } = load;
  if (what.name === 'tpcc') return runTpcc(target, { clients: what.clients, seconds }, signal);
  const output = await pgbench(target, pgbenchArgs(load), signal);
  return { ...readPgbench(output), connectingMs: readConnectingMs(output) };
}

/** pgbench's arguments but for the server's address. */
export function pgbenchArgs({ workload, scale, seconds, updateScript: file }: LoadRun): readonly string[] {
  const script: Readonly<Record<Exclude<WorkloadName, 'tpcc'>, string>> = {
    update: `--file=${file}`,
    tpcb: '--builtin=tpcb-like',
    select: '--builtin=select-only',
  };
  if (workload.name === 'tpcc') throw new Error('pgbench runs no TPC-C');
  return [
    script[workload.name],
    '--no-vacuum',
    '--protocol=simple',
    `--scale=${scale}`,
    `--client=${workload.clients}`,
    `--jobs=${Math.min(workload.clients, 2)}`,
    `--time=${seconds}`,
  ];
}

/** Instead of a load. */
export async function tidy(system: System, name: WorkloadName): Promise<void> {
  const client = await system.client();
  if (name === 'tpcb') await querySql(client, 'TRUNCATE pgbench_history');
  // What reads meet: hint bits and dead rows of the workloads before are not theirs to clear away.
  if (name === 'select') await querySql(client, 'VACUUM pgbench_accounts');
}

/** On standbys it is a restart point. */
export async function checkpoint(system: System): Promise<void> {
  for (const database of await system.databases()) await querySql(database, 'CHECKPOINT');
}
