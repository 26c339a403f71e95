/**
 * Compares databases of replicas from outside: what is in every table, in any order, and how the schema looks.
 *
 * Two replicas are identical if their dumps are deeply equal. Barista's own schema is left out, for it belongs to the replica. So
 * are the positions of sequences: a leader's run ahead of what was agreed on (see sequencePositions). Reads only.
 */
import { Client } from 'pg';

/** Where a replica's own PostgreSQL listens. */
export interface PostgresAddress {
  readonly socketDir: string;
  readonly port?: number;
}

export interface ComparableDump {
  /** Per table: number of rows, and a sum of hashes of their texts. */
  readonly tables: Readonly<Record<string, string>>;
  /** One line per object, sorted. */
  readonly schema: readonly string[];
}

const ownSchemas = `n.nspname NOT IN ('_barista', 'pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_(toast_)?temp_'`;

const schemaQueries: readonly string[] = [
  `SELECT format('relation %s %s owner %s options %s acl %s rls %s/%s', c.relkind, c.oid::regclass, c.relowner::regrole, c.reloptions, c.relacl,
     c.relrowsecurity, c.relforcerowsecurity)
   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind <> 't' AND ${ownSchemas}`,
  `SELECT format('column %s %s %s %s notnull %s default %s identity %s generated %s collation %s', c.oid::regclass, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum),
     a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attcollation::regcollation)
   FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'c', 'f') AND ${ownSchemas}`,
  `SELECT format('constraint %s %s %s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid))
   FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace WHERE ${ownSchemas}`,
  `SELECT format('index %s', pg_get_indexdef(i.indexrelid))
   FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${ownSchemas}`,
  `SELECT format('trigger %s', pg_get_triggerdef(t.oid))
   FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE NOT t.tgisinternal AND ${ownSchemas}`,
  `SELECT format('capture %s: %s', t.tgrelid::regclass, count(*)) FROM pg_trigger t WHERE t.tgname LIKE '!barista\\_%' GROUP BY t.tgrelid`,
  `SELECT format('function %s owner %s: %s', p.oid::regprocedure, p.proowner::regrole, CASE WHEN p.prokind IN ('f', 'p') THEN pg_get_functiondef(p.oid) END)
   FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE ${ownSchemas}`,
  `SELECT format('view %s: %s', c.oid::regclass, pg_get_viewdef(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relkind IN ('v', 'm') AND ${ownSchemas}`,
  `SELECT format('rule %s', pg_get_ruledef(r.oid)) FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${ownSchemas}`,
  `SELECT format('type %s %s %s', t.typtype, t.oid::regtype, (SELECT string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid))
   FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE ${ownSchemas}`,
  `SELECT format('policy %s %s %s', p.polrelid::regclass, p.polname, pg_get_expr(p.polqual, p.polrelid)) FROM pg_policy p`,
  `SELECT format('sequence %s %s %s %s %s %s %s', s.seqrelid::regclass, s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcycle)
   FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${ownSchemas}`,
  `SELECT format('schema %s owner %s acl %s', n.nspname, n.nspowner::regrole, n.nspacl) FROM pg_namespace n WHERE ${ownSchemas}`,
  `SELECT format('comment %s: %s', pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description) FROM pg_description d
   WHERE d.objoid >= 16384`,
  `SELECT format('extension %s %s', e.extname, e.extversion) FROM pg_extension e`,
];

const settings = [
  "SET search_path = ''",
  "SET datestyle = 'ISO, MDY'",
  "SET timezone = 'UTC'",
  'SET extra_float_digits = 1',
  'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY',
];

export async function comparableDump(server: PostgresAddress, database: string): Promise<ComparableDump> {
  return withConnection(server, database, async (client) => {
    const schema: string[] = [];
    for (const query of schemaQueries) schema.push(...(await column(client, query)));
    const names = await column(
      client,
      `SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND ${ownSchemas} ORDER BY 1`,
    );
    const tables: Record<string, string> = {};
    for (const name of names) {
      const [sum] = await column(
        client,
        `SELECT concat(count(*), ' rows, ', coalesce(sum(hashtextextended(concat(x.*), 0)::numeric), 0)) FROM ${name} x`,
      );
      tables[name] = sum ?? '';
    }
    return { tables, schema: schema.sort() };
  });
}

/** Where each sequence stands, such as `5 called`. */
export async function sequencePositions(
  server: PostgresAddress,
  database: string,
): Promise<Record<string, string>> {
  return withConnection(server, database, async (client) => {
    const names = await column(
      client,
      `SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S' AND ${ownSchemas} ORDER BY 1`,
    );
    const positions: Record<string, string> = {};
    for (const name of names) {
      const [position] = await column(
        client,
        `SELECT concat(last_value, CASE WHEN is_called THEN ' called' END) FROM ${name}`,
      );
      positions[name] = position ?? '';
    }
    return positions;
  });
}

async function withConnection<T>(
  server: PostgresAddress,
  database: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({
    host: server.socketDir,
    port: server.port ?? 5432,
    user: 'postgres',
    database,
  });
  await client.connect();
  try {
    for (const setting of settings) await client.query(setting);
    return await work(client);
  } finally {
    await client.end();
  }
}

async function column(client: Client, query: string): Promise<string[]> {
  const result = await client.query<string[]>({ text: query, rowMode: 'array' });
  return result.rows.map((row) => row[0] ?? '');
}
