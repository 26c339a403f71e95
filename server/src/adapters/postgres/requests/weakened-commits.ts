/**
 * Where a database says that commits need not wait to be chosen: settings of `synchronous_commit` that outlive the session that made them.
 *
 * The gateway notices a session that names the setting (gateways/pgwire/codec/mentions.ts), but not one that has it from a role, a database or a function. So a new leader looks here
 * after its promotion, in every database; until it has looked, and for all of its generation if it finds anything, every answer must wait behind a barrier (look-at-commits.ts, ClientService.distrust).
 */
import type { Client } from 'pg';
import { connectPg } from '../pg-client.ts';

/**
 * Rows `what` (for people): settings of roles and databases, and whatever holds an expression that names it: functions with their settings, bodies and defaults, aggregates, views, rules, defaults, constraints, indexes, statistics,
 * partitions, policies, triggers and types. Objects of the system itself are left out, and so is what people keep in tables, comments and names. As the mention of a client, a mention here need not mean that it is turned down. Takes no parameter; to be run as the superuser, in each database, with `search_path` set to pg_catalog.
 */
export const weakenedCommitsSql = `
SELECT what FROM (
  SELECT format('setting of role %s in database %s', coalesce(nullif(setrole, 0)::regrole::text, 'any'), coalesce((SELECT datname FROM pg_database d WHERE d.oid = setdatabase), 'any')),
         array_to_string(setconfig, ' ')
    FROM pg_db_role_setting
  UNION ALL
  SELECT format('function %s', p.oid::regprocedure), concat_ws(' ', array_to_string(p.proconfig, ' '), p.prosrc, pg_get_function_sqlbody(p.oid), pg_get_expr(p.proargdefaults, 0))
    FROM pg_proc p WHERE p.oid >= 16384
  UNION ALL
  SELECT format('function %s', a.aggfnoid::oid::regprocedure), concat_ws(' ', a.agginitval, a.aggminitval) FROM pg_aggregate a WHERE a.aggfnoid >= 16384
  UNION ALL
  SELECT format('rule or view %s', r.ev_class::regclass), pg_get_ruledef(r.oid) FROM pg_rewrite r WHERE r.oid >= 16384
  UNION ALL
  SELECT format('default of a column of %s', a.adrelid::regclass), pg_get_expr(a.adbin, a.adrelid) FROM pg_attrdef a WHERE a.oid >= 16384
  UNION ALL
  SELECT format('constraint %s', c.conname), pg_get_constraintdef(c.oid) FROM pg_constraint c WHERE c.oid >= 16384 AND c.contype = 'c'
  UNION ALL
  SELECT format('index %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid) FROM pg_index i
    WHERE i.indexrelid >= 16384 AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
  UNION ALL
  SELECT format('statistics %s', s.stxname), pg_get_statisticsobjdef_expressions(s.oid)::text FROM pg_statistic_ext s WHERE s.stxexprs IS NOT NULL
  UNION ALL
  SELECT format('partitions of %s', p.partrelid::regclass), pg_get_partkeydef(p.partrelid) FROM pg_partitioned_table p WHERE p.partexprs IS NOT NULL
  UNION ALL
  SELECT format('policy %s', p.polname), concat_ws(' ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) FROM pg_policy p
  UNION ALL
  SELECT format('trigger %s', t.tgname), pg_get_triggerdef(t.oid) FROM pg_trigger t WHERE t.oid >= 16384 AND NOT t.tgisinternal
  UNION ALL
  SELECT format('type %s', t.oid::regtype), t.typdefault FROM pg_type t WHERE t.oid >= 16384 AND t.typdefault IS NOT NULL
) AS definition(what, text)
WHERE text ILIKE '%synchronous\\_commit%'`;

/** Reading a rule locks what the rule reads. Less than it takes PostgreSQL to look for a deadlock: who holds the lock is not to pay for the look. */
const lockTimeout = "SET lock_timeout = '500ms'";

/** For people; empty if there is nothing of the kind in the database of this connection. @throws Error of PostgreSQL */
export async function findWeakenedCommits(client: Client): Promise<readonly string[]> {
  await client.query(lockTimeout);
  const { rows } = await client.query<{ what: string }>(weakenedCommitsSql);
  return rows.map(({ what }) => what);
}

/** Each look is a session of its own. */
const atOnceMax = 4;

/**
 * The same of every database, some at once, and of what belongs to no single one: subscriptions, whose workers do not wait unless they are told to, and databases that let nobody in, since whoever may open one, or copy it,
 * uses what is in it. Of those only the one that initdb makes so holds nothing of anybody's. A database whose removal was interrupted is of no use to anybody. @throws Error of PostgreSQL
 */
export async function findWeakenedCommitsIn(
  { socketDir }: { readonly socketDir: string },
  client: Client,
): Promise<string[]> {
  const { databases, found } = await lookAround(client);
  const own = 'postgres';
  const left = databases.filter((database) => database !== own);
  const inDatabase = async (database: string, session: Client): Promise<void> => {
    const here = await findWeakenedCommits(session);
    found.push(...here.map((what) => `${what} (database ${database})`));
  };
  const lookOn = async (): Promise<void> => {
    for (let database = left.shift(); database !== undefined; database = left.shift()) {
      const session = await connectPg({ socketDir, database });
      try {
        await inDatabase(database, session);
      } finally {
        await session.end();
      }
    }
  };
  const others = Array.from({ length: Math.min(atOnceMax, left.length) }, lookOn);
  // What failed is told when none of them is in a database any more.
  const all = await Promise.allSettled([
    databases.includes(own) ? inDatabase(own, client) : Promise.resolve(),
    ...others,
  ]);
  for (const one of all) if (one.status === 'rejected') throw one.reason;
  return found.sort();
}

const databasesSql = `
SELECT datname AS name, datallowconn AS open FROM pg_database
WHERE datconnlimit <> -2 AND NOT (datname = 'template0' AND oid < 16384 AND NOT datallowconn) ORDER BY 1`;

const subscriptionsSql = `
SELECT format('subscription %s (database %s)', subname, datname) AS what
FROM pg_subscription s JOIN pg_database d ON d.oid = subdbid WHERE subsynccommit NOT IN ('on', 'remote_write', 'remote_apply') ORDER BY 1`;

async function lookAround(client: Client): Promise<{ databases: string[]; found: string[] }> {
  const { rows } = await client.query<{ name: string; open: boolean }>(databasesSql);
  const subscriptions = await client.query<{ what: string }>(subscriptionsSql);
  const shut = rows.filter(({ open }) => !open);
  return {
    databases: rows.filter(({ open }) => open).map(({ name }) => name),
    found: [
      ...shut.map(({ name }) => `the database ${name} cannot be looked into: it lets nobody in`),
      ...subscriptions.rows.map(({ what }) => what),
    ],
  };
}
