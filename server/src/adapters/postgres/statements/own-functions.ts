/**
 * The functions of the schema `barista_fn`: a clock and chance that are the same at every replica, for they come from what the operation carries.
 *
 * Where the settings are not set, as in a session of the replica's own, they read PostgreSQL's.
 */
import { processIdOf } from '../../../payload/statements/operation.ts';

/** Read by the functions below; a client cannot set them. Of the operation: its clock and its session, with a `|` between them. */
const operationSetting = 'barista_fn.operation';
const transactionSetting = 'barista_fn.transaction';
/** How often the clock was read, behind the time of the operation that did. */
const tickSetting = 'barista_fn.tick';

/** What a session is to run ahead of a request. PostgreSQL's own generator goes on from `seed`. */
export function aheadOf(
  request: { readonly session: string; readonly clockUs: number; readonly seed: Uint8Array },
  beginsTransaction: boolean,
): readonly string[] {
  const millis = new Date(Math.floor(request.clockUs / 1000)).toISOString().replace('Z', '');
  const at = `${millis}${String(request.clockUs % 1000).padStart(3, '0')}+00`;
  // 32 bits of it, from -1 to 1.
  const seed = Buffer.from(request.seed).readInt32BE(0) / 0x8000_0000;
  const sets = [
    `SET ${operationSetting} = '${at}|${processIdOf(request.session)}'`,
    `SET seed = ${seed.toFixed(12)}`,
  ];
  if (beginsTransaction) sets.push(`SET ${transactionSetting} = '${at}'`);
  // SET takes no snapshot: SET TRANSACTION may follow.
  return sets;
}

const setting = (name: string): string => `pg_catalog.current_setting('${name}', true)`;
const orElse = (text: string, otherwise: string): string => `coalesce(nullif(${text}, ''), ${otherwise})`;
const part = (name: string, index: 1 | 2): string => `pg_catalog.split_part(${setting(name)}, '|', ${index})`;
const clock = `${orElse(part(operationSetting, 1), 'pg_catalog.clock_timestamp()::text')}::timestamptz`;
const transaction = `${orElse(setting(transactionSetting), 'pg_catalog.now()::text')}::timestamptz`;

function rounded(type: string): string {
  return `SELECT pg_catalog.to_timestamp(pg_catalog.round(extract(epoch FROM ${transaction})::numeric, $1)::double precision)::${type}`;
}

const sinceOperation = `CASE WHEN ${part(tickSetting, 1)} = ${part(operationSetting, 1)} THEN ${part(tickSetting, 2)}::bigint ELSE 0 END`;
const tick = `pg_catalog.split_part(pg_catalog.set_config('${tickSetting}', coalesce(${part(operationSetting, 1)}, '') || '|' || (${sinceOperation} + 1), false), '|', 2)::bigint`;

/** 32 hexadecimal digits, drawn. */
const drawn = 'pg_catalog.md5(pg_catalog.random()::text || pg_catalog.random()::text)';

/** A number for a large object that none has yet: PostgreSQL's own are taken from a counter that goes further at each replica that was restarted. */
const freeNumber = `(SELECT n FROM (SELECT (pg_catalog.floor(pg_catalog.random() * 4294900000) + 16384)::bigint::oid AS n FROM pg_catalog.generate_series(1, 1000)) drawn
  WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_largeobject_metadata m WHERE m.oid = n) LIMIT 1)`;

const stable = 'LANGUAGE sql STABLE';
const volatile = 'LANGUAGE sql VOLATILE';
const define = (name: string, returns: string, how: string, body: string): string =>
  `CREATE OR REPLACE FUNCTION barista_fn.${name} RETURNS ${returns} ${how} SET search_path = pg_catalog, pg_temp AS $body$ ${body} $body$;`;

/** Run once in each database. */
export const functionsSql = [
  define('now()', 'pg_catalog.timestamptz', stable, `SELECT ${transaction}`),
  define('transaction_timestamp()', 'pg_catalog.timestamptz', stable, `SELECT ${transaction}`),
  define('statement_timestamp()', 'pg_catalog.timestamptz', stable, `SELECT ${clock}`),
  // It goes on by a microsecond with each call: who waits for it waits not for ever.
  define(
    'clock_timestamp()',
    'pg_catalog.timestamptz',
    volatile,
    `SELECT ${clock} + ${tick} * interval '1 microsecond'`,
  ),
  define(
    'timeofday()',
    'pg_catalog.text',
    volatile,
    `SELECT pg_catalog.to_char(${clock}, 'Dy Mon DD HH24:MI:SS.US YYYY TZ')`,
  ),
  define('"current_timestamp"()', 'pg_catalog.timestamptz', stable, `SELECT ${transaction}`),
  define('"current_timestamp"(int)', 'pg_catalog.timestamptz', stable, rounded('timestamptz')),
  define('"localtimestamp"()', 'timestamp', stable, `SELECT (${transaction})::timestamp`),
  define('"localtimestamp"(int)', 'timestamp', stable, rounded('timestamp')),
  define('"current_date"()', 'pg_catalog.date', stable, `SELECT (${transaction})::date`),
  define('"current_time"()', 'pg_catalog.timetz', stable, `SELECT (${transaction})::timetz`),
  define('"current_time"(int)', 'pg_catalog.timetz', stable, rounded('timetz')),
  define('"localtime"()', 'time', stable, `SELECT (${transaction})::time`),
  define('"localtime"(int)', 'time', stable, rounded('time')),
  define(
    'age(pg_catalog.timestamptz)',
    'interval',
    stable,
    `SELECT pg_catalog.age((${transaction})::date::timestamptz, $1)`,
  ),
  define(
    'age(timestamp)',
    'interval',
    stable,
    `SELECT pg_catalog.age((${transaction})::date::timestamp, $1)`,
  ),
  // Each replica counts transactions for itself. With a column of a catalog PostgreSQL's own is called.
  define(
    'age(pg_catalog.xid)',
    'int',
    'LANGUAGE plpgsql STABLE',
    `BEGIN RAISE EXCEPTION 'age(xid) is not replicated' USING ERRCODE = '0A000', HINT = 'Transaction ids differ between replicas.'; END`,
  ),
  ...['gen_random_uuid()', 'uuidv4()'].map((name) =>
    define(
      name,
      'pg_catalog.uuid',
      volatile,
      `SELECT pg_catalog.overlay(pg_catalog.overlay(${drawn}, '4', 13), 'a', 17)::uuid`,
    ),
  ),
  ...[
    ['uuidv7()', clock],
    ['uuidv7(interval)', `(${clock} + $1)`],
  ].map(([name = '', at = '']) =>
    define(
      name,
      'pg_catalog.uuid',
      volatile,
      `SELECT (pg_catalog.lpad(pg_catalog.to_hex((extract(epoch FROM ${at}) * 1000)::bigint), 12, '0') || '7' || pg_catalog.substr(u, 14, 3) || 'b' || pg_catalog.substr(u, 18))::uuid FROM (SELECT ${drawn} AS u) AS drawn`,
    ),
  ),
  define(
    'pg_backend_pid()',
    'int',
    stable,
    `SELECT ${orElse(part(operationSetting, 2), 'pg_catalog.pg_backend_pid()::text')}::int`,
  ),
  ...[
    ['lo_create(pg_catalog.oid)', 'pg_catalog.lo_create(NUMBER)'],
    ['lo_creat(int)', `pg_catalog.lo_create(${freeNumber})`],
    ['lo_from_bytea(pg_catalog.oid, pg_catalog.bytea)', 'pg_catalog.lo_from_bytea(NUMBER, $2)'],
  ].map(([name = '', made = '']) =>
    define(
      name,
      'pg_catalog.oid',
      `${volatile} STRICT`,
      `SELECT ${made.replace('NUMBER', `CASE WHEN $1 = 0 THEN ${freeNumber} ELSE $1 END`)}`,
    ),
  ),
].join('\n');
