/** Makes what named transactions need in databases of a replica that leads, or that founds a group. */
import { answerMs, connectPg } from '../pg-client.ts';
import { prepareRequests } from './request-schema.ts';

interface Place {
  readonly socketDir: string;
}

/** Resolves when it is there, on a majority of the replicas; also forgets the oldest names. @throws Error of PostgreSQL */
export function installRequestsIn(place: Place, database: string): Promise<void> {
  return install(place, database, {});
}

/**
 * Before anybody may come, and before any extension acts upon our DDL: in the database for clients, if there is one, and in the template of new ones. Its commits wait for nobody. Databases made from `template0`, and those of groups
 * that were founded before, get it when their first transaction is named. @throws Error of PostgreSQL
 */
export async function installRequestsAtFounding(place: Place, database = 'postgres'): Promise<void> {
  for (const name of new Set(['template1', 'postgres', database]))
    await install(place, name, { synchronous_commit: 'local' });
}

async function install(
  { socketDir }: Place,
  database: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const client = await connectPg({ socketDir, database, silentMsMax: answerMs.thorough, settings });
  try {
    await prepareRequests(client);
  } finally {
    await client.end();
  }
}
