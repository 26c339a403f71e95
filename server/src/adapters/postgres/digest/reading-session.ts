/**
 * Sessions of the replica itself that read what clients have made.
 *
 * Responsible for: what such a session has beside the settings of every session of ours (pinned-settings.ts).
 * Invariant: a session that is returned is the superuser's.
 */
import type { Client } from 'pg';
import { answerMs, connectPg } from '../pg-client.ts';
import { readingSettings } from '../pinned-settings.ts';

/** `socketDir`, `version`: of the replica's PostgreSQL. */
export interface ReadingAddress {
  readonly socketDir: string;
  /** Such as `18.4`. */
  readonly version: string;
  readonly port?: number;
  /** As connectPg has it. */
  readonly enterMsMax?: number;
}

/** Of each of them. */
export const readingName = 'barista verify';

/** Somebody who keeps a table locked, in a prepared transaction say, does not keep a comparison waiting. */
export const lockTimeoutMs = 5000;

/** @throws whatever `pg` throws when PostgreSQL is away; Error if the session is not the superuser's */
export async function openReadingSession(
  { socketDir, version, port, enterMsMax }: ReadingAddress,
  database: string | Uint8Array,
): Promise<Client> {
  const client = await connectPg({
    socketDir,
    version,
    database,
    // Tables are read in sessions of another kind (copy-session.ts).
    silentMsMax: answerMs.thorough,
    applicationName: readingName,
    settings: { ...readingSettings, lock_timeout: String(lockTimeoutMs) },
    ...(port === undefined ? {} : { port }),
    ...(enterMsMax === undefined ? {} : { enterMsMax }),
  });
  try {
    const { rows } = await client.query<{ is: string }>(
      "SELECT pg_catalog.current_setting('is_superuser') AS is",
    );
    if (rows[0]?.is !== 'on') throw new Error("the session is not the superuser's");
  } catch (error) {
    await endSession(client);
    throw error;
  }
  return client;
}

/** Never rejects. */
export async function endSession(client: Client): Promise<void> {
  await client.end().catch(() => undefined);
}
