/**
 * Handles of connections: who has one may use the session behind it, so it cannot be guessed, and is worth nothing for another user or database.
 *
 * The struct that travels has no field of its own for it, so it is put behind the client's own client_id: `1234567890:` and 128 random bits. Pure but for the randomness.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Connection } from '../codec/barista-api.ts';

const secretBytes = 16;
const secretText = /^[A-Za-z0-9_-]{22}$/;

export interface NewHandle {
  /** Under which the session is kept; it does not tell the handle. */
  readonly key: string;
  readonly connection: Connection;
}

export function newHandle(of: {
  readonly clientId: string;
  readonly seqId: string;
  readonly user: string;
  readonly database: string;
}): NewHandle {
  const secret = randomBytes(secretBytes).toString('base64url');
  return { key: keyOf(secret), connection: { ...of, clientId: `${of.clientId}:${secret}` } };
}

/** Null: it is no handle. */
export function keyOfHandle({ clientId }: Connection): string | null {
  const secret = clientId?.slice(clientId.lastIndexOf(':') + 1) ?? '';
  return secretText.test(secret) ? keyOf(secret) : null;
}

/** A hash, so that how long it takes to find one tells nothing of those that there are. */
function keyOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}
