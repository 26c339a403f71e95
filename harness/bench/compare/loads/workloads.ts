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
import { pgbench } from './client-tools.ts';
import type { System } from '../systems/system.ts';
import type { Percentiles } from './latencies.ts';
import { runPgbench } from './pgbench-load.ts';
import { runSysbench } from './sysbench-load.ts';
import { runTpcc } from './tpcc-load.ts';
import { isYcsb, writeYcsbScripts, ycsbArgs, type YcsbName } from './ycsb.ts';

export type WorkloadName =
  | 'update'
  | 'insert'
  | 'simple'
  | 'tpcb'
  | 'tpcc'
  | 'bulk'
  | 'select'
  | 'sysbench'
  | YcsbName;

/** Whoever runs it needs nothing but a snapshot. */
export function isReadOnly(name: WorkloadName): boolean {
  return name === 'select' || name === 'ycsb-c';
}

export interface Workload {
  readonly name: WorkloadName;
  readonly clients: number;
  readonly label: string;
}

export const workloadLabels: Readonly<Record<WorkloadName, string>> = {
  update: 'UPDATE by key',
  insert: 'INSERT',
  simple: 'simple-update',
  tpcb: 'TPC-B',
  tpcc: 'TPC-C',
  bulk: 'UPDATE of 10,000 rows',
  select: 'SELECT by key',
  sysbench: 'sysbench update_index',
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

const ycsbNames = ['ycsb-a', 'ycsb-b', 'ycsb-c', 'ycsb-d', 'ycsb-e', 'ycsb-f'] as const;

/** Each with its own numbers of clients. */
export const fullWorkloads: readonly Workload[] = [
  ...[1, 16, 64, 256].map((clients) => workload('update', clients)),
  workload('insert', 16),
  workload('simple', 16),
  workload('tpcb', 1),
  workload('tpcb', 16),
  workload('tpcc', 16),
  ...ycsbNames.map((name) => workload(name, 16)),
  workload('bulk', 1),
  workload('select', 1),
  workload('select', 16),
  workload('select', 64),
  workload('sysbench', 16),
];

const updateScript = `\\set aid random(1, 100000 * :scale)
\\set delta random(-5000, 5000)
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
`;

const insertScript = `\\set account random(1, 100000 * :scale)
INSERT INTO bench_rows (account, note) VALUES (:account, 'a row like any other');
`;
const bulkScript = `\\set first random(1, 100000 * :scale - 9999)
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid BETWEEN :first AND :first + 9999;
`;

/** Of one UPDATE by key, in the directory of scripts. */
export function updateFile(scripts: string): string {
  return join(scripts, 'update-by-key.sql');
}

function insertFile(scripts: string): string {
  return join(scripts, 'insert.sql');
}

function bulkFile(scripts: string): string {
  return join(scripts, 'bulk.sql');
}

/** Writes what pgbench has no word for. Returns the directory. */
export async function writeScripts(root: string): Promise<string> {
  await writeFile(updateFile(root), updateScript);
  await writeFile(insertFile(root), insertScript);
  await writeFile(bulkFile(root), bulkScript);
  await writeYcsbScripts(root);
  return root;
}

/** pgbench's tables: 100,000 accounts for each unit of scale; primary keys; vacuumed. */
export async function loadAccounts(system: System, scale: number, signal: AbortSignal): Promise<void> {
  const client = await system.client();
  await pgbench(client, ['--initialize', '--quiet', `--scale=${scale}`], signal);
  await querySql(
    client,
    'DROP TABLE IF EXISTS bench_rows',
    'CREATE TABLE bench_rows (id bigserial PRIMARY KEY, account int NOT NULL, at timestamptz NOT NULL DEFAULT now(), note text)',
  );
}

export interface LoadRun {
  readonly workload: Workload;
  readonly scale: number;
  readonly seconds: number;
  /** Where `writeScripts` has put them. */
  readonly scripts: string;
}

export interface LoadFigures {
  readonly tps: number;
  readonly transactions: number;
  /** The mean. */
  readonly latencyMs: number;
  readonly percentilesMs: Percentiles;
  /** What connecting its clients took, which is part of the run's time and of no figure. */
  readonly connectingMs: number;
}

/** Clients in equal parts at the doors. @throws Error if a transaction failed, or none was done; the signal's reason */
export function runLoad(
  doors: readonly SqlTarget[],
  load: LoadRun,
  signal: AbortSignal,
  engine: System['engine'] = 'postgres',
): Promise<LoadFigures> {
  const { workload: what, seconds } = load;
  const run = { clients: what.clients, seconds };
  if (what.name === 'tpcc') return runTpcc(doors, run, signal);
  if (what.name === 'sysbench') return runSysbench(doors, { ...run, engine, scale: load.scale }, signal);
  return runPgbench(doors, load, signal);
}

/** pgbench's arguments but for the server's address. `threads`: of pgbench, at most. */
export function pgbenchArgs({ workload, scale, seconds, scripts }: LoadRun, threads = 2): readonly string[] {
  return [
    ...scriptArgs(workload.name, scripts, scale),
    '--no-vacuum',
    '--protocol=simple',
    `--client=${workload.clients}`,
    `--jobs=${Math.min(workload.clients, threads)}`,
    `--time=${seconds}`,
  ];
}

function scriptArgs(name: WorkloadName, scripts: string, scale: number): readonly string[] {
  if (isYcsb(name)) return ycsbArgs(name, scripts, scale);
  switch (name) {
    case 'update':
      return [`--file=${updateFile(scripts)}`, `--scale=${scale}`];
    case 'insert':
      return [`--file=${insertFile(scripts)}`, `--scale=${scale}`];
    case 'bulk':
      return [`--file=${bulkFile(scripts)}`, `--scale=${scale}`];
    case 'simple':
      return ['--builtin=simple-update', `--scale=${scale}`];
    case 'tpcb':
      return ['--builtin=tpcb-like', `--scale=${scale}`];
    case 'select':
      return ['--builtin=select-only', `--scale=${scale}`];
    case 'tpcc':
    case 'sysbench':
      throw new Error(`pgbench does not run ${workloadLabels[name]}`);
    default:
      return name satisfies never;
  }
}

/** Instead of a load. */
export async function tidy(system: System, name: WorkloadName): Promise<void> {
  const client = await system.client();
  if (name === 'tpcb' || name === 'simple') await querySql(client, 'TRUNCATE pgbench_history');
  if (name === 'insert') await querySql(client, 'TRUNCATE bench_rows');
  // What reads meet: hint bits and dead rows of the workloads before are not theirs to clear away.
  if (name === 'select') await querySql(client, 'VACUUM pgbench_accounts');
}

/** On standbys it is a restart point. */
export async function checkpoint(system: System): Promise<void> {
  for (const database of await system.databases()) await querySql(database, 'CHECKPOINT');
}
