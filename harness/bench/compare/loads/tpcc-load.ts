/**
 * TPC-C, as a workload of the comparison: our own terminals, in this process, without think times; all five transactions count.
 *
 * Responsible for: loading (rows are drawn once, into files, and copied into each system), running and, after the workload's last round, the consistency conditions. An error of any terminal ends the benchmark.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brokenConditions } from '../../../workload/tpcc/consistency.ts';
import { fillTables, type Fill, type Row } from '../../../workload/tpcc/load-tpcc.ts';
import { perform, Terminal } from '../../../workload/tpcc/terminal.ts';
import { loadConstants, runConstants, TpccRandom } from '../../../workload/tpcc/tpcc-random.ts';
import { districtsPerWarehouse, fullScale } from '../../../workload/tpcc/tpcc-scale.ts';
import { dropTables, makeConstraints, makeTables } from '../../../workload/tpcc/tpcc-schema.ts';
import { Random } from '../../../workload/seeded-random.ts';
import { openSql, querySql, type SqlTarget } from '../../sql.ts';
import { psql } from './client-tools.ts';
import { percentilesOf } from './latencies.ts';
import type { LoadFigures } from './workloads.ts';
import type { System } from '../systems/system.ts';

/** Ten terminals each, as the specification has it. */
export function warehousesFor(clients: number): number {
  return Math.max(1, Math.ceil(clients / districtsPerWarehouse));
}

/** The same rows on every system. */
const loadSeed = 20_260_504;
const runSeed = 1;
const chunkChars = 100_000;

/** The files of all tables, in the order in which they must be loaded. */
export async function writeWarehouses(root: string, clients: number): Promise<readonly TableFile[]> {
  const files: TableFile[] = [];
  const fill: Fill = async (table, rows) => {
    const file = join(root, `tpcc-${table}.txt`);
    if (files.every((other) => other.table !== table)) files.push({ table, file });
    await writeFile(file, linesOf(rows), { flag: 'a' });
  };
  await fillTables(fill, fullScale(warehousesFor(clients)), new Random(loadSeed));
  return files;
}

export interface TableFile {
  readonly table: string;
  readonly file: string;
}

/** Nothing that is drawn needs to be escaped. */
function* linesOf(rows: Iterable<Row>): Generator<string> {
  let lines = '';
  for (const row of rows) {
    lines += `${row.map((value) => value ?? '\\N').join('\t')}\n`;
    if (lines.length < chunkChars) continue;
    yield lines;
    lines = '';
  }
  yield lines;
}

export async function loadWarehouses(
  system: System,
  files: readonly TableFile[],
  signal: AbortSignal,
): Promise<void> {
  const target = await system.client();
  await querySql(target, dropTables, ...makeTables);
  for (const { table, file } of files) await psql(target, `\\copy tpcc.${table} FROM '${file}'`, signal);
  await querySql(target, ...makeConstraints);
}

export interface TpccRun {
  readonly clients: number;
  readonly seconds: number;
}

/** Terminals in turn at the doors. @throws Error if a transaction failed, or none was done */
export async function runTpcc(
  doors: readonly SqlTarget[],
  { clients, seconds }: TpccRun,
  signal: AbortSignal,
): Promise<LoadFigures> {
  const scale = fullScale(warehousesFor(clients));
  const constants = runConstants(new Random(runSeed), loadConstants(new Random(loadSeed)));
  const connectsMs = performance.now();
  const sessions = await Promise.all(
    Array.from({ length: clients }, (_, number) => openSql(doors[number % doors.length]!)),
  );
  const beganMs = performance.now();
  const endMs = beganMs + seconds * 1000;
  const tookMs: number[] = [];
  let overMs = endMs;
  try {
    await Promise.all(
      sessions.map(async (client, number) => {
        const drawn = new TpccRandom(new Random(runSeed + 1 + number), constants);
        const warehouse = 1 + Math.floor(number / districtsPerWarehouse);
        const district = 1 + (number % districtsPerWarehouse);
        const terminal = new Terminal({ scale, drawn, warehouse, district });
        while (performance.now() < endMs) {
          signal.throwIfAborted();
          const { ms } = await perform(client, terminal.next());
          tookMs.push(ms);
        }
      }),
    );
    // Taking leave is part of no figure, as little as connecting.
    overMs = performance.now();
  } finally {
    await Promise.all(sessions.map((client) => client.end().catch(() => undefined)));
  }
  const { meanMs, ...percentilesMs } = percentilesOf(tookMs);
  const transactions = tookMs.length;
  const tookSeconds = (overMs - beganMs) / 1000;
  return {
    tps: transactions / tookSeconds,
    transactions,
    latencyMs: meanMs,
    percentilesMs,
    connectingMs: beganMs - connectsMs,
  };
}

/** @throws Error that names what is broken */
export async function requireConsistent(system: System): Promise<void> {
  const client = await openSql(await system.client());
  try {
    const broken = await brokenConditions(client);
    if (broken.length > 0)
      throw new Error(`TPC-C on ${system.label} is not consistent:\n${broken.join('\n')}`);
  } finally {
    await client.end().catch(() => undefined);
  }
}
