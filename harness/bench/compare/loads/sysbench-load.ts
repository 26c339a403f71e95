/**
 * sysbench's oltp_update_index: one UPDATE of an indexed column by primary key, prepared. The one workload that also runs on what is no PostgreSQL.
 *
 * Responsible for: its table, its run, and what it printed.
 */
import { BenchError } from '../../bench-error.ts';
import type { SqlTarget } from '../../sql.ts';
import type { System } from '../systems/system.ts';
import { runTool } from './client-tools.ts';
import { percentilesOfHistogram, type Percentiles } from './latencies.ts';
import type { LoadFigures } from './workloads.ts';

const script = 'oltp_update_index';
const rowsForScale = 100_000;

export interface SysbenchRun {
  readonly clients: number;
  readonly seconds: number;
  readonly engine: System['engine'];
  readonly scale: number;
}

/** Anew. */
export async function loadSysbench(system: System, scale: number, signal: AbortSignal): Promise<void> {
  const client = await system.client();
  const run = { clients: 1, seconds: 1, engine: system.engine, scale };
  await sysbench(client, run, 'cleanup', [], signal);
  await sysbench(client, run, 'prepare', [], signal);
}

export async function runSysbench(
  [door]: readonly SqlTarget[],
  run: SysbenchRun,
  signal: AbortSignal,
): Promise<LoadFigures> {
  if (door === undefined) throw new Error('sysbench has nowhere to connect to');
  const args = [`--threads=${run.clients}`, `--time=${run.seconds}`, '--histogram=on', '--percentile=99'];
  return readSysbench(await sysbench(door, run, 'run', args, signal));
}

/** @throws Error if it did nothing, or any statement failed for good */
export function readSysbench(output: string): LoadFigures {
  const number = (what: string, pattern: RegExp): number => {
    const found = pattern.exec(output)?.[1];
    if (found === undefined) throw new BenchError(`sysbench did not say its ${what}:\n${output}`);
    return Number(found);
  };
  return {
    tps: number('rate', /^\s*transactions:\s+\d+\s+\(([\d.]+) per sec\.\)/m),
    transactions: number('transactions', /^\s*transactions:\s+(\d+)/m),
    latencyMs: number('latency', /^\s*avg:\s+([\d.]+)/m),
    percentilesMs: histogramOf(output),
    connectingMs: 0,
  };
}

function histogramOf(output: string): Percentiles {
  const lines = output.matchAll(/^\s*([\d.]+) \|\**\s+(\d+)$/gm);
  return percentilesOfHistogram(
    [...lines].map(([, value, count]) => [Number(value), Number(count)] as const),
  );
}

async function sysbench(
  { host, port, user, password = '', database }: SqlTarget,
  { engine, scale }: SysbenchRun,
  command: 'cleanup' | 'prepare' | 'run',
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const driver = engine === 'postgres' ? 'pgsql' : 'mysql';
  // sysbench takes a password nowhere else; it is the demo's, which everybody knows.
  const place = { host, port, user, password, db: database };
  const { code, stdout, stderr } = await runTool({
    command: 'sysbench',
    args: [
      script,
      `--db-driver=${driver}`,
      ...Object.entries(place).map(([name, value]) => `--${driver}-${name}=${value}`),
      '--tables=1',
      `--table-size=${rowsForScale * scale}`,
      ...args,
      command,
    ],
    signal,
  });
  if (code !== 0) throw new Error(`sysbench ended with exit code ${code}:\n${stdout}\n${stderr}`);
  return stdout;
}
