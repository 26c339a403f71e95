/**
 * TPC-C as barista.txt reports it: times by kind of transaction, the average and the 90th percentile, and rollbacks.
 *
 * Responsible for: loading one warehouse in pieces that fit into a request where statements travel, running terminals, and figures by kind. Rows and transactions are harness/workload/tpcc's.
 */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brokenConditions } from '../../workload/tpcc/consistency.ts';
import { fillTables, type Row } from '../../workload/tpcc/load-tpcc.ts';
import { Random } from '../../workload/seeded-random.ts';
import {
  perform,
  Terminal,
  transactionNames,
  type Done,
  type TransactionName,
} from '../../workload/tpcc/terminal.ts';
import { loadConstants, runConstants, TpccRandom } from '../../workload/tpcc/tpcc-random.ts';
import { districtsPerWarehouse, type TpccScale } from '../../workload/tpcc/tpcc-scale.ts';
import { dropTables, makeConstraints, makeTables } from '../../workload/tpcc/tpcc-schema.ts';
import { psql } from '../compare/loads/client-tools.ts';
import { openSql, querySql, type SqlTarget } from '../sql.ts';
import { shareBelow } from '../summary.ts';

export interface TransactionTimes {
  readonly name: TransactionName;
  readonly count: number;
  readonly rolledBack: number;
  readonly averageMs: number;
  readonly p90Ms: number;
}

export interface TpccTimes {
  readonly seconds: number;
  readonly transactions: number;
  readonly times: readonly TransactionTimes[];
}

const loadSeed = 20_260_504;
const runSeed = 1;
/** Of one COPY; where statements travel more than 2 MiB in one request are refused. */
const pieceChars = 1_400_000;

/** Anew. The rows are the same at each place. */
export async function loadTpccInPieces(
  target: SqlTarget,
  scale: TpccScale,
  root: string,
  signal: AbortSignal,
): Promise<void> {
  await querySql(target, dropTables, ...makeTables);
  const file = join(root, 'rows.txt');
  await fillTables(
    async (table, rows) => {
      for (const piece of piecesOf(rows)) {
        signal.throwIfAborted();
        await writeFile(file, piece);
        await psql(target, `\\copy tpcc.${table} FROM '${file}'`, signal);
      }
    },
    scale,
    new Random(loadSeed),
  );
  await rm(file, { force: true });
  await querySql(target, ...makeConstraints);
}

/** Nothing that is drawn needs to be escaped. */
function* piecesOf(rows: Iterable<Row>): Generator<string> {
  let piece = '';
  for (const row of rows) {
    piece += `${row.map((value) => value ?? '\\N').join('\t')}\n`;
    if (piece.length < pieceChars) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

/** One warehouse's terminals, in turn at the doors, without think times. @throws Error if a transaction failed, or the database is not consistent behind it */
export async function runTpccTimes(
  doors: readonly SqlTarget[],
  {
    clients,
    seconds,
    scale,
  }: { readonly clients: number; readonly seconds: number; readonly scale: TpccScale },
  signal: AbortSignal,
): Promise<TpccTimes> {
  const constants = runConstants(new Random(runSeed), loadConstants(new Random(loadSeed)));
  const sessions = await Promise.all(
    Array.from({ length: clients }, (_, number) => openSql(doors[number % doors.length]!)),
  );
  try {
    const beganMs = performance.now();
    const endMs = beganMs + seconds * 1000;
    const done = await Promise.all(
      sessions.map(async (client, number) => {
        const drawn = new TpccRandom(new Random(runSeed + 1 + number), constants);
        const terminal = new Terminal({
          scale,
          drawn,
          warehouse: 1,
          district: 1 + (number % districtsPerWarehouse),
        });
        const own: Done[] = [];
        while (performance.now() < endMs) {
          signal.throwIfAborted();
          own.push(await perform(client, terminal.next()));
        }
        return own;
      }),
    );
    const tookSeconds = (performance.now() - beganMs) / 1000;
    const broken = await brokenConditions(sessions[0]!);
    if (broken.length > 0) throw new Error(`TPC-C is not consistent:\n${broken.join('\n')}`);
    return timesOf(done.flat(), tookSeconds);
  } finally {
    await Promise.all(sessions.map((client) => client.end().catch(() => undefined)));
  }
}

/** Kinds that did not come are left out. */
export function timesOf(done: readonly Done[], seconds: number): TpccTimes {
  const times = transactionNames.flatMap((name): TransactionTimes[] => {
    const own = done.filter((one) => one.name === name);
    if (own.length === 0) return [];
    const took = own.map(({ ms }) => ms);
    return [
      {
        name,
        count: own.length,
        rolledBack: own.filter(({ end }) => end === 'rolledBack').length,
        averageMs: took.reduce((sum, ms) => sum + ms, 0) / took.length,
        p90Ms: shareBelow(took, 0.9),
      },
    ];
  });
  return { seconds, transactions: done.length, times };
}
