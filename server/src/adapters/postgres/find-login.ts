/**
 * What PostgreSQL has on record about roles that want to log in, asked in a session of the replica's own. Works at a primary and at a standby.
 *
 * Responsible for: the question, and for how long it may take. Roles that are asked for while a question is under way are in the next one: however many come, there is one question at a time.
 * Invariant: what is asked tells by its time nothing of whether there is such a role.
 */
import type { LoginRecord } from '../../ports/client-service.ts';
import { OwnSession } from './own-session.ts';
import { ownSql } from '../../pgwire/own-sql.ts';

/** PostgreSQL hangs, or is overloaded beyond use. */
const answerMsMax = 5_000;
/** PostgreSQL's own, where a version has no setting for it. */
const usualIterations = 4_096;
const rolesAtOnceMax = 500;

const question = ownSql(`
  SELECT role.oid IS NOT NULL AS known, role.rolpassword AS secret,
    coalesce(role.rolvaliduntil < pg_catalog.clock_timestamp(), false) AS expired,
    pg_catalog.current_setting('scram_iterations', true) AS iterations
  FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY AS asked(name, place)
  LEFT JOIN pg_catalog.pg_authid AS role ON role.rolname = asked.name::pg_catalog.name
  ORDER BY asked.place`);

interface Row {
  readonly known: boolean;
  readonly secret: string | null;
  readonly expired: boolean;
  readonly iterations: string | null;
}

interface Asked {
  readonly role: string;
  readonly resolve: (record: LoginRecord) => void;
  readonly reject: (error: unknown) => void;
}

/** The function @throws whatever `pg` throws when PostgreSQL is away */
export function createLoginFinder(place: {
  readonly socketDir: string;
}): (role: string) => Promise<LoginRecord> {
  const session = new OwnSession(place);
  const waiting: Asked[] = [];
  let isAsking = false;

  async function ask(): Promise<void> {
    isAsking = true;
    while (waiting.length > 0) {
      const asked = waiting.splice(0, rolesAtOnceMax);
      try {
        const { rows } = await session.ask(AbortSignal.timeout(answerMsMax), (client) =>
          client.query<Row>(question, [asked.map(({ role }) => role)]),
        );
        if (rows.length !== asked.length) throw new Error('PostgreSQL has not answered for each role');
        for (const [n, each] of asked.entries()) each.resolve(recordOf(rows[n]!));
      } catch (error) {
        for (const each of asked) each.reject(error);
      }
    }
    isAsking = false;
  }

  return (role) =>
    new Promise((resolve, reject) => {
      waiting.push({ role, resolve, reject });
      if (!isAsking) void ask();
    });
}

function recordOf({ known, secret, expired, iterations }: Row): LoginRecord {
  return {
    isKnown: known,
    secret,
    isExpired: expired,
    iterations: Number(iterations ?? usualIterations),
  };
}
