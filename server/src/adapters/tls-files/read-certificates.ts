/**
 * Certificate, key and authority, read from files in PEM and held to each other.
 *
 * Responsible for: what is wrong with them, in words that name the file. Keeps nothing, and opens no connection.
 * Invariant: what is returned can be used: the key is the certificate's, and where both sides are of one authority, the certificate is of it.
 */
import { readFile } from '../file-system.ts';
import { createPrivateKey, X509Certificate } from 'node:crypto';

export interface CertificatePaths {
  /** Of this side, and behind it those between it and the authority, if there are any. */
  readonly certificate: string;
  readonly key: string;
  /** One or more whose certificates are taken of the other side; null: the other side shows none. */
  readonly authority: string | null;
  /** Both sides are of this authority. Else it is that of the other side alone. */
  readonly isMutual: boolean;
}

export interface Certificates {
  /** In PEM, as they are in the files. */
  readonly certificate: string;
  readonly key: string;
  readonly authority: string | null;
  /** When what this side shows is not taken any more. */
  readonly expiresAt: Date;
}

export class CertificateError extends Error {
  override readonly name = 'CertificateError';
  readonly code = 'certificateUnusable';
}

/** Larger than any chain; what is larger is something else. */
const bytesMax = 256 * 1024;

/** @throws CertificateError */
export async function readCertificates(paths: CertificatePaths): Promise<Certificates> {
  const [certificate, key, authority] = await Promise.all([
    readPem(paths.certificate),
    readPem(paths.key),
    paths.authority === null ? null : readPem(paths.authority),
  ]);
  const chain = certificatesIn(certificate, paths.certificate);
  const authorities =
    authority === null || paths.authority === null ? [] : certificatesIn(authority, paths.authority);
  const [own] = chain as [X509Certificate];
  if (!own.checkPrivateKey(keyIn(key, paths.key)))
    throw new CertificateError(
      `the key in ${paths.key} is not that of the certificate in ${paths.certificate}`,
    );
  if (paths.isMutual && !isOf(own, [...chain.slice(1), ...authorities], authorities))
    throw new CertificateError(
      `the certificate in ${paths.certificate} (${shown(own)}) is not of the authority in ${String(paths.authority)}`,
    );
  return { certificate, key, authority, expiresAt: endOf(chain, paths.isMutual ? authorities : []) };
}

async function readPem(file: string): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new CertificateError(`cannot read ${file} (${code ?? message})`, { cause });
  }
  if (bytes.length > bytesMax) throw new CertificateError(`${file} is too large to be in PEM`);
  return bytes.toString('latin1');
}

const certificateBegins = '-----BEGIN CERTIFICATE-----';
const certificateEnds = '-----END CERTIFICATE-----';

function certificatesIn(pem: string, file: string): X509Certificate[] {
  const blocks = pem
    .split(certificateBegins)
    .slice(1)
    .filter((part) => part.includes(certificateEnds))
    .map((part) => `${certificateBegins}${part.split(certificateEnds, 1)[0]}${certificateEnds}`);
  if (blocks.length === 0) throw new CertificateError(`${file} holds no certificate in PEM`);
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch (cause) {
    throw new CertificateError(`${file} holds a certificate that cannot be read`, { cause });
  }
}

function keyIn(pem: string, file: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    const why = pem.includes('ENCRYPTED')
      ? 'is protected by a passphrase, which nobody is there to give'
      : 'holds no private key in PEM';
    throw new CertificateError(`${file} ${why}`, { cause });
  }
}

/** By whatever way through `others`. */
function isOf(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): boolean {
  let current = certificate;
  for (let steps = 0; steps <= others.length; steps += 1) {
    if (authorities.some((each) => each.fingerprint256 === current.fingerprint256)) return true;
    const issuer = others.find((each) => current.checkIssued(each) && current.verify(each.publicKey));
    if (issuer === undefined || issuer.fingerprint256 === current.fingerprint256) return false;
    current = issuer;
  }
  return false;
}

/** The first of the chain to end; of authorities the last one, since others may be there only for what is not renewed yet. */
function endOf(chain: readonly X509Certificate[], authorities: readonly X509Certificate[]): Date {
  const ends = (certificates: readonly X509Certificate[]): number[] =>
    certificates.map(({ validTo }) => Date.parse(validTo));
  const first = Math.min(...ends(chain));
  return new Date(authorities.length === 0 ? first : Math.min(first, Math.max(...ends(authorities))));
}

const shown = ({ subject }: X509Certificate): string => subject.replaceAll('\n', ', ');
