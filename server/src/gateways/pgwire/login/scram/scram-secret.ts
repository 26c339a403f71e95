/**
 * What a server keeps of a password for SCRAM-SHA-256: salt, iterations and two keys, as PostgreSQL writes it into `pg_authid.rolpassword`.
 *
 * Responsible for: reading it, and what stands in for it where there is none, so that nobody learns from the answers which roles there are.
 */
import { createHmac } from 'node:crypto';

export interface ScramSecret {
  readonly iterations: number;
  /** In base64. */
  readonly salt: string;
  readonly storedKey: Buffer;
  readonly serverKey: Buffer;
}

const keyBytes = 32;
/** PostgreSQL's own. */
const saltBytes = 16;
const form = /^SCRAM-SHA-256\$(\d{1,10}):([A-Za-z0-9+/]+={0,2})\$([A-Za-z0-9+/]{43}=):([A-Za-z0-9+/]{43}=)$/;

/** Null: it is of another kind. */
export function readScramSecret(text: string): ScramSecret | null {
  const [, iterations, salt = '', stored = '', server = ''] = form.exec(text) ?? [];
  if (iterations === undefined || Number(iterations) < 1) return null;
  const storedKey = Buffer.from(stored, 'base64');
  const serverKey = Buffer.from(server, 'base64');
  return storedKey.length === keyBytes && serverKey.length === keyBytes
    ? { iterations: Number(iterations), salt, storedKey, serverKey }
    : null;
}

/** The same for a role at every replica and at any time, as a real one is. Nobody knows a password for it. */
export function mockScramSecret(key: Buffer, role: string, iterations: number): ScramSecret {
  const part = (what: string): Buffer => createHmac('sha256', key).update(`${what} ${role}`).digest();
  return {
    iterations,
    salt: part('salt').subarray(0, saltBytes).toString('base64'),
    storedKey: part('stored'),
    serverKey: part('server'),
  };
}
