/**
 * Whether all PostgreSQLs of a system hold the same, table by table, in one database.
 *
 * By rows: their number and the sum of hashes of their texts. `physical`: with each row's place and the transaction that wrote it, and in the system catalogs too, which is
 * so of replicas that replay one WAL and of no others. Reads only. Tables that are unlogged or temporary are left out, for a standby cannot read them.
 */
import type pg from 'pg';
import { untilSettled } from '../bench/compare/arrival.ts';
import type { System } from '../bench/compare/systems/system.ts';
import { openSql, type SqlTarget } from '../bench/sql.ts';

/** Autovacuum may write between two looks; what stays different is different. */
const looksMax = 6;

export type Depth = 'logical' | 'physical';

/** One line for each table that differs; none: all hold the same. */
export async function differences(
  system: System,
  depth: Depth,
  signal: AbortSignal,
): Promise<readonly string[]> {
  for (let look = 1; ; look++) {
    await untilSettled(system, signal);
    const found = differencesOf(await digestsOf(await system.databases(), depth));
    if (found.length === 0 || look === looksMax) return found;
  }
}

export interface Digest {
  readonly place: string;
  readonly tables: ReadonlyMap<string, string>;
}

/** One after the other, so that all are of about the same moment. */
export async function digestsOf(databases: readonly SqlTarget[], depth: Depth): Promise<readonly Digest[]> {
  const digests: Digest[] = [];
  for (const database of databases) {
    const client = await openSql(database);
    try {
      digests.push({ place: database.host, tables: await digest(client, depth) });
    } finally {
      await client.end();
    }
  }
  return digests;
}

/** Of the first one to all others. */
export function differencesOf([first, ...others]: readonly Digest[]): readonly string[] {
  if (first === undefined) return [];
  return others.flatMap(({ place, tables }) => {
    const names = new Set([...first.tables.keys(), ...tables.keys()]);
    return [...names]
      .filter((name) => first.tables.get(name) !== tables.get(name))
      .map(
        (name) =>
          `${name}: ${first.tables.get(name) ?? 'absent'} at ${first.place}, ${tables.get(name) ?? 'absent'} at ${place}`,
      );
  });
}

async function digest(client: pg.Client, depth: Depth): Promise<ReadonlyMap<string, string>> {
  const systems = depth === 'physical' ? '' : "AND nspname NOT IN ('pg_catalog', 'information_schema')";
  const { rows } = await client.query<{ readonly name: string }>(
    `SELECT format('%I.%I', nspname, relname) AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
      WHERE relkind IN ('r', 'm') AND relpersistence = 'p' AND nspname !~ '^pg_(toast|temp)' AND nspname <> '_barista' ${systems} ORDER BY 1`,
  );
  const tables = new Map<string, string>();
  const place = depth === 'physical' ? "t.ctid::text || ' ' || t.xmin::text || ' ' || " : '';
  for (const { name } of rows) {
    const sum = `sum(hashtextextended(${place}t::text, 0)::numeric)`;
    const answer = await client.query<{ readonly digest: string }>(
      `SELECT count(*) || ' rows, ' || coalesce(${sum}::text, '-') AS digest FROM ONLY ${name} t`,
    );
    tables.set(name, answer.rows[0]?.digest ?? '');
  }
  return tables;
}
