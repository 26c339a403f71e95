/**
 * What is run, by pgbench or by terminals of TPC-C, and how a database is put in order before it. Simple protocol, `-n`: the order is the benchmark's own, the same for every system.
 *
 * Before each workload the tables are loaded anew. Pages that were written since the last checkpoint are not logged whole again when they change, so the rounds
 * that follow are alike, and a slow system does not pay for more whole pages per transaction than a fast one. A quick comparison loads once: it is over before
 * a checkpoint is due.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { querySql, type SqlTarget } from '../../sql.ts';
import { pgbench, readConnectingMs, readPgbench, type PgbenchFigures } from './client-tools.ts';
import type { System } from '../systems/system.ts';
import { isYcsb, writeYcsbScripts, ycsbArgs, type YcsbName } from './ycsb.ts';
import { runTpcc } from './tpcc-load.ts';

export type WorkloadName = 'update' | 'tpcb' | 'tpcc' | 'select' | YcsbName;

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
  'ycsb-a': 'YCSB A',
  'ycsb-b': 'YCSB B',
  'ycsb-c': 'YCSB C',
  'ycsb-d': 'YCSB D',
  'ycsb-e': 'YCSB E',
  'ycsb-f': 'YCSB F',
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
  workload('ycsb-a', 16),
  workload('ycsb-b', 16),
  workload('select', 16),
];

/** What a full comparison has, and what is run only where it is asked for. */
export const allWorkloads: readonly Workload[] = [
  ...fullWorkloads,
  ...(['ycsb-c', 'ycsb-d', 'ycsb-e', 'ycsb-f'] as const).map((name) => workload(name, 16)),
];

const updateScript = `\\set aid random(1, 100000 * :scale)
\\set delta random(-5000, 5000)
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
`;

/** Of one UPDATE by key, in the directory of scripts. */
export function updateFile(scripts: string): string {
  return join(scripts, 'update-by-key.sql');
}

/** Writes what pgbench has no word for. Returns the directory. */
export async function writeScripts(root: string): Promise<string> {
  await writeFile(updateFile(root), updateScript);
  await writeYcsbScripts(root);
  return root;
}

/** pgbench's tables: 100,000 accounts for each unit of scale; primary keys; vacuumed. */
export async function loadAccounts(system: System, scale: number, signal: AbortSignal): Promise<void> {
  await pgbench(await system.client(), ['--initialize', '--quiet', `--scale=${scale}`], signal);
}

export interface LoadRun {
  readonly workload: Workload;
  readonly scale: number;
  readonly seconds: number;
  /** Where `writeScripts` has put them. */
  readonly scripts: string;
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
export function pgbenchArgs({ workload, scale, seconds, scripts }: LoadRun): readonly string[] {
  return [
    ...scriptArgs(workload.name, scripts, scale),
    '--no-vacuum',
    '--protocol=simple',
    `--client=${workload.clients}`,
    `--jobs=${Math.min(workload.clients, 2)}`,
    `--time=${seconds}`,
  ];
}

function scriptArgs(name: WorkloadName, scripts: string, scale: number): readonly string[] {
  if (isYcsb(name)) return ycsbArgs(name, scripts, scale);
  switch (name) {
    case 'update':
      return [`--file=${updateFile(scripts)}`, `--scale=${scale}`];
    case 'tpcb':
      return ['--builtin=tpcb-like', `--scale=${scale}`];
    case 'select':
      return ['--builtin=select-only', `--scale=${scale}`];
    case 'tpcc':
      throw new Error('pgbench runs no TPC-C');
    default:
      return name satisfies never;
  }
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
