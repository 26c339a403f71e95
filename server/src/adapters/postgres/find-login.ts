/**
 * What PostgreSQL has on record about a role that wants to log in, asked in a session of the replica's own. Works at a primary and at a standby.
 *
 * Responsible for: the question, and for how long it may take. Invariant: what is asked tells by its time nothing of whether there is such a role.
 */
import type { LoginRecord } from '../../ports/client-service.ts';
import { OwnSession } from './own-session.ts';

/** PostgreSQL hangs, or is overloaded beyond use. */
const answerMsMax = 5_000;
/** PostgreSQL's own, where a version has no setting for it. */
const usualIterations = 4_096;

const question = `
  SELECT role.oid IS NOT NULL AS known, role.rolpassword AS secret,
    coalesce(role.rolvaliduntil < pg_catalog.clock_timestamp(), false) AS expired,
    pg_catalog.current_setting('scram_iterations', true) AS iterations
  FROM (SELECT $1::pg_catalog.name AS name) AS asked
  LEFT JOIN pg_catalog.pg_authid AS role ON role.rolname = asked.name`;

interface Row {
  readonly known: boolean;
  readonly secret: string | null;
  readonly expired: boolean;
  readonly iterations: string | null;
}

/** The function @throws whatever `pg` throws when PostgreSQL is away */
export function createLoginFinder(place: {
  readonly socketDir: string;
}): (role: string) => Promise<LoginRecord> {
  const session = new OwnSession(place);
  return async (role) => {
    const { rows } = await session.ask(AbortSignal.timeout(answerMsMax), (client) =>
      client.query<Row>(question, [role]),
    );
    const [row] = rows;
    if (row === undefined) throw new Error('PostgreSQL has answered nothing');
    return {
      isKnown: row.known,
      secret: row.secret,
      isExpired: row.expired,
      iterations: Number(row.iterations ?? usualIterations),
    };
  };
}
