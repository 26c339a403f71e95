/** What is known of a client's connection itself, before the client has proved anything. */
import type { Socket } from 'node:net';

export interface ClientLink {
  /** Empty: not known. */
  readonly address: string;
  /** Null: anybody between could read it. */
  readonly encryption: Encryption | null;
  /** Another gateway of this process asks whether this client may come in, and has its sessions otherwise: where statements travel it gets none here. */
  readonly provesOnly?: true;
}

export interface Encryption {
  /** What SCRAM binds to: a hash of the certificate that the client was shown (RFC 5929, tls-server-end-point). Null: its kind has none. */
  readonly endpoint: Buffer | null;
  /** The common name in the client's own certificate, which an authority of the configuration vouches for. Null: it has shown none. */
  readonly certificateName: string | null;
}

export function plainLink(client: Socket): ClientLink {
  return { address: plainAddress(client.remoteAddress), encryption: null };
}

/** Where both families are listened to on one socket, IPv4 is written within IPv6. Empty: it is not known any more. */
export function plainAddress(address: string | undefined): string {
  return address?.replace(/^::ffff:(?=\d+\.)/, '') ?? '';
}
