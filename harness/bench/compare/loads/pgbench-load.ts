/** A workload of pgbench, with one pgbench for each place where its clients connect. Each transaction's time is in its log. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SqlTarget } from '../../sql.ts';
import { pgbench, readConnectingMs, readPgbench } from './client-tools.ts';
import { percentilesOf, readTransactionLog, requireWhole } from './latencies.ts';
import { pgbenchArgs, type LoadFigures, type LoadRun } from './workloads.ts';

/** As equal as they can be; the first ones have one more. */
export function partsOf(clients: number, places: number): readonly number[] {
  return Array.from({ length: places }, (_, index) => Math.floor((clients + places - 1 - index) / places));
}

export async function runPgbench(
  doors: readonly SqlTarget[],
  load: LoadRun,
  signal: AbortSignal,
): Promise<LoadFigures> {
  const { clients } = load.workload;
  const argsOf = (part: number, threads: number): readonly string[] =>
    pgbenchArgs({ ...load, workload: { ...load.workload, clients: part } }, threads);
  return runScripts(doors, { clients, directory: load.scripts, argsOf }, signal);
}

export interface Scripts {
  readonly clients: number;
  /** Logs of transactions are written there, and removed. */
  readonly directory: string;
  /** pgbench's arguments for so many of the clients. */
  readonly argsOf: (clients: number, threads: number) => readonly string[];
}

/** Whatever pgbench runs. @throws as `runLoad` */
export async function runScripts(
  doors: readonly SqlTarget[],
  { clients: all, directory: root, argsOf }: Scripts,
  signal: AbortSignal,
): Promise<LoadFigures> {
  const directory = await mkdtemp(join(root, 'transactions-'));
  try {
    const parts = partsOf(all, doors.length);
    const outputs = await Promise.all(
      doors.map(async (door, index) => {
        const clients = parts[index] ?? 0;
        if (clients === 0) return null;
        // As few threads for all doors together as one door has, or one each.
        const threads = doors.length > 1 ? 1 : 2;
        const args = argsOf(clients, threads);
        return pgbench(door, [...args, '--log', `--log-prefix=${join(directory, `door${index}`)}`], signal);
      }),
    );
    const said = outputs.filter((output) => output !== null);
    const figures = said.map(readPgbench);
    const timesMs: number[] = [];
    for (const file of await readdir(directory))
      readTransactionLog(await readFile(join(directory, file), 'utf8'), timesMs);
    const transactions = figures.reduce((sum, each) => sum + each.transactions, 0);
    requireWhole(timesMs, transactions);
    const { meanMs, ...percentilesMs } = percentilesOf(timesMs);
    return {
      tps: figures.reduce((sum, { tps }) => sum + tps, 0),
      transactions,
      latencyMs: meanMs,
      percentilesMs,
      connectingMs: Math.max(...said.map(readConnectingMs)),
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
