/**
 * Where a database says that commits need not wait to be chosen: settings of `synchronous_commit` that outlive the session that made them.
 *
 * The gateway notices a session that names the setting (gateways/pgwire/codec/mentions.ts), but not one that has it from a role, a database or a function. So a new leader looks here
 * after its promotion, in every database; until it has looked, and for all of its generation if it finds anything, every answer must wait behind a barrier (look-at-commits.ts, ClientService.distrust).
 */
import type { Client } from 'pg';
import { listDatabases, type ListedDatabase } from '../databases.ts';
import { answerMs, connectPg } from '../pg-client.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';

/**
 * Rows `what` (for people): settings of roles and databases, and whatever holds an expression that names it: functions with their settings, bodies and defaults, aggregates, views, rules, defaults, constraints, indexes, statistics,
 * partitions, policies, triggers and types. Objects of the system itself are left out, and so is what people keep in tables, comments and names. As the mention of a client, a mention here need not mean that it is turned down. Takes no parameter; to be run as the superuser, in each database, with `search_path` set to pg_catalog.
 */
export const weakenedCommitsSql = ownSql(`
SELECT what FROM (
  SELECT pg_catalog.format('setting of role %s in database %s', CASE WHEN setrole = 0 THEN 'any' ELSE setrole::pg_catalog.regrole::pg_catalog.text END, coalesce((SELECT datname FROM pg_catalog.pg_database d WHERE d.oid = setdatabase), 'any')),
         pg_catalog.array_to_string(setconfig, ' ')
    FROM pg_catalog.pg_db_role_setting
  UNION ALL
  SELECT pg_catalog.format('function %s', p.oid::pg_catalog.regprocedure), pg_catalog.concat_ws(' ', pg_catalog.array_to_string(p.proconfig, ' '), p.prosrc, pg_catalog.pg_get_function_sqlbody(p.oid), pg_catalog.pg_get_expr(p.proargdefaults, 0))
    FROM pg_catalog.pg_proc p WHERE p.oid >= 16384
  UNION ALL
  SELECT pg_catalog.format('function %s', a.aggfnoid::pg_catalog.oid::pg_catalog.regprocedure), pg_catalog.concat_ws(' ', a.agginitval, a.aggminitval) FROM pg_catalog.pg_aggregate a WHERE a.aggfnoid >= 16384
  UNION ALL
  SELECT pg_catalog.format('rule or view %s', r.ev_class::pg_catalog.regclass), pg_catalog.pg_get_ruledef(r.oid) FROM pg_catalog.pg_rewrite r WHERE r.oid >= 16384
  UNION ALL
  SELECT pg_catalog.format('default of a column of %s', a.adrelid::pg_catalog.regclass), pg_catalog.pg_get_expr(a.adbin, a.adrelid) FROM pg_catalog.pg_attrdef a WHERE a.oid >= 16384
  UNION ALL
  SELECT pg_catalog.format('constraint %s', c.conname), pg_catalog.pg_get_constraintdef(c.oid) FROM pg_catalog.pg_constraint c WHERE c.oid >= 16384 AND c.contype = 'c'
  UNION ALL
  SELECT pg_catalog.format('index %s', i.indexrelid::pg_catalog.regclass), pg_catalog.pg_get_indexdef(i.indexrelid) FROM pg_catalog.pg_index i
    WHERE i.indexrelid >= 16384 AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
  UNION ALL
  SELECT pg_catalog.format('statistics %s', s.stxname), pg_catalog.pg_get_statisticsobjdef_expressions(s.oid)::pg_catalog.text FROM pg_catalog.pg_statistic_ext s WHERE s.stxexprs IS NOT NULL
  UNION ALL
  SELECT pg_catalog.format('partitions of %s', p.partrelid::pg_catalog.regclass), pg_catalog.pg_get_partkeydef(p.partrelid) FROM pg_catalog.pg_partitioned_table p WHERE p.partexprs IS NOT NULL
  UNION ALL
  SELECT pg_catalog.format('policy %s', p.polname), pg_catalog.concat_ws(' ', pg_catalog.pg_get_expr(p.polqual, p.polrelid), pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid)) FROM pg_catalog.pg_policy p
  UNION ALL
  SELECT pg_catalog.format('trigger %s', t.tgname), pg_catalog.pg_get_triggerdef(t.oid) FROM pg_catalog.pg_trigger t WHERE t.oid >= 16384 AND NOT t.tgisinternal
  UNION ALL
  SELECT pg_catalog.format('type %s', t.oid::pg_catalog.regtype), t.typdefault FROM pg_catalog.pg_type t WHERE t.oid >= 16384 AND t.typdefault IS NOT NULL
) AS definition(what, text)
WHERE text OPERATOR(pg_catalog.~~*) '%synchronous\\_commit%'`);

/**
 * Reading a rule locks what the rule reads. Less than it takes PostgreSQL to look for a deadlock: who holds the lock is not to pay for the look. And clients may define things that take PostgreSQL long to put into words: nothing goes on in it
 * behind a look that is given up.
 */
const limits = "SET lock_timeout = '500ms'; SET statement_timeout = '60s'";

/** For people; empty if there is nothing of the kind in the database of this connection. @throws Error of PostgreSQL */
export async function findWeakenedCommits(client: Client): Promise<readonly string[]> {
  await client.query(limits);
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
  const left = databases.filter(({ name }) => name !== own);
  const inDatabase = async (database: string, session: Client): Promise<void> => {
    const here = await findWeakenedCommits(session);
    found.push(...here.map((what) => `${what} (database ${database})`));
  };
  const lookOn = async (): Promise<void> => {
    for (let database = left.shift(); database !== undefined; database = left.shift()) {
      const session = await connectPg({
        socketDir,
        database: database.bytes,
        silentMsMax: answerMs.thorough,
      });
      try {
        await inDatabase(database.name, session);
      } finally {
        await session.end();
      }
    }
  };
  const others = Array.from({ length: Math.min(atOnceMax, left.length) }, lookOn);
  // What failed is told when none of them is in a database any more.
  const all = await Promise.allSettled([
    databases.some(({ name }) => name === own) ? inDatabase(own, client) : Promise.resolve(),
    ...others,
  ]);
  for (const one of all) if (one.status === 'rejected') throw one.reason;
  return found.sort();
}

const subscriptionsSql = ownSql(`
SELECT pg_catalog.format('subscription %s (database %s)', subname, datname) AS what
FROM pg_catalog.pg_subscription s JOIN pg_catalog.pg_database d ON d.oid = subdbid WHERE NOT subsynccommit = ANY ('{on,remote_write,remote_apply}'::pg_catalog.text[]) ORDER BY 1`);

async function lookAround(client: Client): Promise<{ databases: ListedDatabase[]; found: string[] }> {
  const databases = (await listDatabases(client)).filter(({ isBroken, isSealed }) => !isBroken && !isSealed);
  const subscriptions = await client.query<{ what: string }>(subscriptionsSql);
  const shut = databases.filter(({ isOpen }) => !isOpen);
  return {
    databases: databases.filter(({ isOpen }) => isOpen),
    found: [
      ...shut.map(({ name }) => `the database ${name} cannot be looked into: it lets nobody in`),
      ...subscriptions.rows.map(({ what }) => what),
    ],
  };
}
