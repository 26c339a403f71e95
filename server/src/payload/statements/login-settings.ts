/**
 * What a session begins with by its role and its database: which these are, and their settings (ALTER ROLE ... SET, ALTER DATABASE ... SET). Noted when it is opened; settings are given to it again when it is opened anew, whatever
 * ALTER has said since, and it is not opened anew as a role, or in a database, that has got the name since.
 *
 * They are given as options of the startup packet, so that RESET leads back to them.
 */
import type { StatementDatabase, StatementLogin } from '../../ports/statement-database.ts';
import { ownSql } from '../../pgwire/own-sql.ts';

/** In the order of names; texts as PostgreSQL keeps them. */
export type GivenSettings = readonly (readonly [name: string, value: string])[];

const question = ownSql(`SELECT DISTINCT ON (1) pg_catalog.lower(pg_catalog.split_part(c, '=', 1)) AS name,
    pg_catalog.substr(c, pg_catalog.strpos(c, '=') + 1) AS value
  FROM pg_catalog.pg_db_role_setting s, pg_catalog.unnest(s.setconfig) c
  WHERE (s.setrole = 0 OR s.setrole = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = $1))
    AND (s.setdatabase = 0 OR s.setdatabase = (SELECT oid FROM pg_catalog.pg_database WHERE datname = $2))
  ORDER BY 1, (s.setrole <> 0 AND s.setdatabase <> 0) DESC, (s.setrole <> 0) DESC, (s.setdatabase <> 0) DESC`);

const identityQuestion =
  ownSql(`SELECT (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = $1)::pg_catalog.text AS role,
  (SELECT oid FROM pg_catalog.pg_database WHERE datname = $2)::pg_catalog.text AS database`);

type Asked = Pick<StatementDatabase, 'query'>;

/** Those of now. */
export async function givenTo(
  { user, database: name }: StatementLogin,
  database: Asked,
): Promise<GivenSettings> {
  const rows = await database.query(question, [user, name]);
  return rows.map((row) => [String(row['name']), String(row['value'])] as const);
}

/** The object ids of the role and the database that have these names now: the same in copies of a database, and not in databases that have executed the same statements. */
export async function identityOf({ user, database: name }: StatementLogin, database: Asked): Promise<string> {
  const [row] = await database.query(identityQuestion, [user, name]);
  return `${String(row?.['role'])}:${String(row?.['database'])}`;
}

/** A login after which the session has what it was given when it was opened first. */
export async function loginAsBefore(
  login: StatementLogin,
  before: GivenSettings,
  database: Asked,
): Promise<StatementLogin> {
  const now = await givenTo(login, database);
  if (JSON.stringify(now) === JSON.stringify(before)) return login;
  // A startup packet has room for little: whatever is as it was is given by PostgreSQL itself.
  const given = new Map(now);
  const changed = before.filter(([name, value]) => given.get(name) !== value);
  const added = now.map(([name]) => name).filter((name) => !before.some(([one]) => one === name));
  const rows = await database.query(
    ownSql(
      `SELECT name, coalesce(reset_val, '') AS value FROM pg_catalog.pg_settings WHERE pg_catalog.lower(name) = ANY($1)`,
    ),
    [added],
  );
  const ofServer = new Map(rows.map((row) => [String(row['name']).toLowerCase(), String(row['value'])]));
  const all = [...changed, ...added.map((name) => [name, ofServer.get(name) ?? ''] as const)];
  const options = all.map(([name, value]) => `-c ${escaped(`${name}=${value}`)}`).join(' ');
  const own = login.parameters.find(([name]) => name === 'options')?.[1];
  const others = login.parameters.filter(([name]) => name !== 'options');
  // What the client has asked for itself comes later, and counts.
  return {
    ...login,
    parameters: [...others, ['options', own === undefined ? options : `${options} ${own}`]],
  };
}

/** As PostgreSQL splits options; latin1, byte for byte. */
function escaped(text: string): string {
  return Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[\\ \t\n\v\f\r]/g, '\\$&');
}
