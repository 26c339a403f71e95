/** COPY of a million rows into an empty table with a primary key, until the last row can be read at every replica. */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { querySql } from '../sql.ts';
import { untilEverywhere, untilSettled } from './arrival.ts';
import { psql } from './loads/client-tools.ts';
import { unlessPeerFails } from './peers.ts';
import { rotated } from './rounds.ts';
import type { System, SystemId } from './systems/system.ts';
import { undisturbed, type Patience, type Watched } from './undisturbed.ts';
import { checkpoint } from './loads/workloads.ts';

export const copiedRows = 1_000_000;
const rowsPerChunk = 1000;

export interface CopyRun extends Watched {
  readonly round: number;
  readonly system: SystemId;
  /** Until psql returned. */
  readonly acknowledgedMs: number;
  /** Until every replica had it. */
  readonly everywhereMs: number;
}

export interface CopyOptions {
  readonly systems: readonly System[];
  readonly rounds: number;
  readonly root: string;
  readonly patience: Patience;
}

export async function runCopies(options: CopyOptions): Promise<readonly CopyRun[]> {
  const { systems, rounds, root, patience } = options;
  const { signal, progress } = patience;
  const file = join(root, 'rows.txt');
  await pipeline(Readable.from(chunksOfRows()), createWriteStream(file));
  const runs: CopyRun[] = [];
  // The first round warms up.
  const leftOut = new Set<SystemId>();
  for (let round = 0; round <= rounds; round++) {
    for (const system of rotated(systems, Math.max(1, round))) {
      if (leftOut.has(system.id)) continue;
      const what = `COPY, round ${round} of ${rounds}, ${system.label}`;
      const copied = (): Promise<Omit<CopyRun, 'round' | 'system'>> =>
        undisturbed(patience, what, () => copyOnce(system, file, signal));
      const run = await unlessPeerFails(system, patience, copied, () => leftOut.add(system.id));
      if (run === null || round === 0) continue;
      runs.push({ round, system: system.id, ...run });
      progress(`${what}: ${(run.everywhereMs / 1000).toFixed(2)} s`);
    }
  }
  return runs.filter(({ system }) => !leftOut.has(system));
}

/** As wide as pgbench's accounts. */
function* chunksOfRows(): Generator<string> {
  const filler = 'x'.repeat(84);
  for (let first = 1; first <= copiedRows; first += rowsPerChunk) {
    const rows = Array.from({ length: rowsPerChunk }, (_, at) => `${first + at}\t${at}\t0\t${filler}\n`);
    yield rows.join('');
  }
}

async function copyOnce(
  system: System,
  file: string,
  signal: AbortSignal,
): Promise<Pick<CopyRun, 'acknowledgedMs' | 'everywhereMs'>> {
  const client = await system.client();
  await querySql(
    client,
    'DROP TABLE IF EXISTS bench_copy',
    'CREATE TABLE bench_copy (id int PRIMARY KEY, a int NOT NULL, b int NOT NULL, filler char(84))',
  );
  await checkpoint(system);
  await untilSettled(system, signal);
  const startedMs = performance.now();
  await psql(client, `\\copy bench_copy FROM '${file}'`, signal);
  const acknowledgedMs = performance.now() - startedMs;
  await untilEverywhere(system, `SELECT FROM bench_copy WHERE id = ${copiedRows}`, signal);
  return { acknowledgedMs, everywhereMs: performance.now() - startedMs };
}
