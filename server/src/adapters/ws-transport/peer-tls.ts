/**
 * TLS between replicas: each side shows a certificate of the group's authority that names the replica which it says it is.
 *
 * Responsible for: the options of both sides, and whether a certificate names a replica. Reads no files. The handshake with the secret goes on inside (handshake.ts).
 * Invariants: TLS 1.3 and nothing older; no session is resumed, so that each connection is judged by the authority that is in force when it begins; names are compared letter by letter.
 */
import { constants, X509Certificate } from 'node:crypto';
import type { PeerCertificate, SecureContextOptions, TlsOptions } from 'node:tls';
import type { ReplicaId } from '../../multipaxos/types/names.ts';

/** As adapters/tls-files has them. */
export interface PeerCertificates {
  current(): PeerIdentity;
  onChange(listener: (now: PeerIdentity, before: PeerIdentity) => void): () => void;
}

export interface PeerTls {
  readonly certificates: PeerCertificates;
  /** False: those who speak without TLS are taken, and spoken to, as well. Whoever is on the way can have two replicas do so, which is why it is only for the time of the change. */
  readonly required: boolean;
}

export interface PeerIdentity {
  /** In PEM. */
  readonly certificate: string;
  readonly key: string;
  readonly authority: string | null;
}

export function isNamed(certificate: X509Certificate, replica: ReplicaId): boolean {
  // It may hold other names, such as those of hosts; wildcards stand for nothing here, and neither does its subject.
  return certificate.checkHost(replica, { subject: 'never', wildcards: false }) === replica;
}

export function notNamed(replica: ReplicaId): string {
  return `shows a certificate that does not name "${replica}"`;
}

function contextOf({ certificate, key, authority }: PeerIdentity): SecureContextOptions {
  return {
    cert: certificate,
    key,
    // Nobody else's: without one, no authority at all rather than those that browsers believe.
    ca: authority ?? [],
    minVersion: 'TLSv1.3',
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

export function listenerOptions(identity: PeerIdentity): TlsOptions {
  return { ...contextOf(identity), requestCert: true, rejectUnauthorized: true };
}

export function diallerOptions(
  identity: PeerIdentity,
  peer: ReplicaId,
): SecureContextOptions & {
  readonly servername: string;
  readonly rejectUnauthorized: true;
  readonly checkServerIdentity: (host: string, shown: PeerCertificate) => Error | undefined;
} {
  return {
    ...contextOf(identity),
    servername: peer,
    rejectUnauthorized: true,
    checkServerIdentity: (_host, { raw }) =>
      isNamed(new X509Certificate(raw), peer) ? undefined : new Error(notNamed(peer)),
  };
}

/** What is said of one who was spoken to in TLS, and does not speak it. */
export const speaksPlain = 'does not speak TLS (peerTls in its configuration), and this replica does';

/** What OpenSSL says of a connection that did not come about, in words that help; null: it is about something else. */
export function tlsTrouble({ code, message }: NodeJS.ErrnoException): string | null {
  if (/wrong.version.number|packet.length.too.long|unknown.protocol/i.test(`${code ?? ''} ${message}`))
    return speaksPlain;
  switch (code ?? '') {
    case 'CERT_HAS_EXPIRED':
      return 'shows a certificate that has expired';
    case 'CERT_NOT_YET_VALID':
      return 'shows a certificate that is not valid yet';
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'CERT_SIGNATURE_FAILURE':
      return 'shows a certificate that is not of the authority in peerTls';
    case 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED':
      return 'wants a certificate, and was shown none';
    case 'ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED':
      return 'refuses the certificate of this replica, which has expired';
    case 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA':
      return 'refuses the certificate of this replica, which is not of the authority that it believes';
    default:
      return null;
  }
}
