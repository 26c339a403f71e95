/** A statement of the benchmark's own, such as CHECKPOINT, over a connection of its own. Not for what is measured: that is pgbench's and psql's. */
import pg from 'pg';

export interface SqlTarget {
  /** Name or address, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
  readonly database: string;
  /** What the session begins with, as libpq's `options` has it: `-c name=value`. */
  readonly options?: string;
}

/** Connects, runs it, disconnects. Rows as objects. @throws pg's errors */
export async function querySql(
  target: SqlTarget,
  ...statements: readonly string[]
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = await openSql(target);
  try {
    let rows: readonly Readonly<Record<string, unknown>>[] = [];
    for (const statement of statements) {
      ({ rows } = await client.query<Readonly<Record<string, unknown>>>(statement));
    }
    return rows;
  } finally {
    // A server that has just gone away must not make this fail a second time.
    await client.end().catch(() => undefined);
  }
}

/** The caller ends it. */
export async function openSql(target: SqlTarget): Promise<pg.Client> {
  const client = new pg.Client({ ...target, application_name: 'barista-bench' });
  // What happens to an idle connection shows at its next statement.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** For the command lines of psql and pgbench. The password goes by PGPASSWORD. */
export function connectionString({ host, port, user, database, options }: SqlTarget): string {
  const beginning = options === undefined ? '' : ` options='${options}'`;
  return `host=${host} port=${port} user=${user} dbname=${database}${beginning}`;
}
