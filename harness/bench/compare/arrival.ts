/**
 * Waits until what was committed can be read at every replica.
 *
 * Every PostgreSQL of a system is asked by its own socket, so that the question is the same for all systems and needs no notion of their positions.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { openSql, querySql, type SqlTarget } from '../sql.ts';
import type { System } from './systems/system.ts';

const lookMs = 5;
/** Its nodes stop the one that writes when they are behind by more than a few transactions. */
const certifiedMs = 500;
const arrivalMsMax = 300_000;
const undefinedTable = '42P01';
const undefinedDatabase = '3D000';

let markers = 0;

/** Leaves no work behind for what is measured next: every replica has applied what was committed before the call. */
export async function untilSettled(system: System, signal: AbortSignal): Promise<void> {
  if (system.engine === 'mariadb') return sleep(certifiedMs, undefined, { signal });
  markers += 1;
  await querySql(
    await system.client(),
    'CREATE TABLE IF NOT EXISTS bench_marker (n int PRIMARY KEY)',
    `INSERT INTO bench_marker VALUES (${markers})`,
  );
  await untilEverywhere(system, `SELECT FROM bench_marker WHERE n = ${markers}`, signal);
}

/** Until `query` gives a row at every replica. @throws Error if it takes longer than anybody would wait; the signal's reason */
export async function untilEverywhere(system: System, query: string, signal: AbortSignal): Promise<void> {
  const databases = await system.databases();
  await Promise.all(databases.map((database) => untilThere(database, query, signal)));
}

async function untilThere(database: SqlTarget, query: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + arrivalMsMax;
  const later = async (): Promise<void> => {
    if (performance.now() > deadline) {
      throw new Error(`what was committed did not arrive at ${database.host} in ${arrivalMsMax} ms`);
    }
    await sleep(lookMs, undefined, { signal });
  };
  let connection = await openIfThere(database);
  for (; connection === null; connection = await openIfThere(database)) await later();
  try {
    while (!(await isThere(connection, query))) await later();
  } finally {
    await connection.end().catch(() => undefined);
  }
}

/** Null: the replica has not come to the CREATE DATABASE yet. */
async function openIfThere(database: SqlTarget): Promise<pg.Client | null> {
  try {
    return await openSql(database);
  } catch (error) {
    if ((error as { readonly code?: string }).code === undefinedDatabase) return null;
    throw error;
  }
}

async function isThere(connection: pg.Client, query: string): Promise<boolean> {
  try {
    return (await connection.query(query)).rowCount !== 0;
  } catch (error) {
    // A replica that has not come to the CREATE TABLE yet.
    if ((error as { readonly code?: string }).code === undefinedTable) return false;
    throw error;
  }
}
