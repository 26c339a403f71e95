/**
 * Sessions of the replica itself that read what clients have made.
 *
 * Responsible for: what such a session has beside the settings of every session of ours (pinned-settings.ts).
 * Invariant: a session that is returned is the superuser's.
 */
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Client } from 'pg';
import { socketPort } from '../data-directory.ts';
import { connectPg } from '../pg-client.ts';
import { readingSettings } from '../pinned-settings.ts';

/** `socketDir`, `version`: of the replica's PostgreSQL. */
export interface ReadingAddress {
  readonly socketDir: string;
  /** Such as `18.4`. */
  readonly version: string;
  readonly port?: number;
  /** As connectPg has it. */
  readonly enterMsMax?: number;
  /** Of one statement that asks catalogs. Default: 60 s. */
  readonly statementMs?: number;
}

/** Of each of them. */
export const readingName = 'barista verify';

/** Somebody who keeps a table locked, in a prepared transaction say, does not keep a comparison waiting. */
export const lockTimeoutMs = 5000;

/** Whatever clients make in a database, its catalogs are read within that time or not at all. */
export const statementMsUsual = 60_000;
/** A session that could end its statement itself has done so by then. */
const endMs = 10_000;
const cancelMsMax = 2000;

/** @throws whatever `pg` throws when PostgreSQL is away; Error if the session is not the superuser's */
export async function openReadingSession(
  { socketDir, version, port, enterMsMax, statementMs = statementMsUsual }: ReadingAddress,
  database: string | Uint8Array,
): Promise<Client> {
  const client = await connectPg({
    socketDir,
    version,
    database,
    // Tables are read in sessions of another kind (copy-session.ts).
    silentMsMax: statementMs + endMs,
    applicationName: readingName,
    settings: {
      ...readingSettings,
      // Without it, a plan that takes a client's many objects for few would go through their square.
      enable_nestloop: 'off',
      // Catalogs may be locked that a session reads when it begins: it is not to wait for that when it is given up here.
      lock_timeout: String(Math.min(lockTimeoutMs, enterMsMax ?? lockTimeoutMs)),
      statement_timeout: String(statementMs),
    },
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

/** PostgreSQL's names of a session, for cancel requests. */
export interface SessionKey {
  readonly pid: number;
  readonly secret: number;
}

export function keyOf(client: Client): SessionKey {
  const { processID, secretKey } = client as unknown as { processID: number; secretKey: number };
  return { pid: processID, secret: secretKey };
}

/** What the session is doing is ended, whether or not its database lets anybody in; without effect if it does nothing. Never rejects. */
export function cancelStatement(
  { socketDir, port = socketPort }: ReadingAddress,
  { pid, secret }: SessionKey,
): Promise<void> {
  // It is not let in yet.
  if (pid === 0) return Promise.resolve();
  const request = Buffer.alloc(16);
  request.writeInt32BE(request.length, 0);
  request.writeInt32BE(cancelCode, 4);
  request.writeInt32BE(pid, 8);
  request.writeInt32BE(secret, 12);
  return new Promise((resolve) => {
    const socket = connect({ path: join(socketDir, `.s.PGSQL.${port}`) });
    socket.setTimeout(cancelMsMax, () => socket.destroy());
    socket.on('error', () => undefined);
    // PostgreSQL closes it when it has passed the request on.
    socket.on('close', () => resolve());
    socket.resume();
    socket.write(request);
  });
}

const cancelCode = 80_877_102;

/** Never rejects. */
export async function endSession(client: Client): Promise<void> {
  await client.end().catch(() => undefined);
}
