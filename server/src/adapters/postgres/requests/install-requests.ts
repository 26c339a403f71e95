/** Makes what named transactions need in one database of a replica that leads. */
import { answerMs, connectPg } from '../pg-client.ts';
import { prepareRequests } from './request-schema.ts';

/** Resolves when it is there, on a majority of the replicas; also forgets the oldest names. @throws Error of PostgreSQL */
export async function installRequestsIn(
  { socketDir }: { readonly socketDir: string },
  database: string,
): Promise<void> {
  const client = await connectPg({ socketDir, database, silentMsMax: answerMs.thorough });
  try {
    await prepareRequests(client);
  } finally {
    await client.end();
  }
}
