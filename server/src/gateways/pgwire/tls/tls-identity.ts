/** What a gateway proves itself with to clients: certificate and key, and whose certificates of clients it takes. Read from files, and checked. */
import { readFile } from '../../../adapters/file-system.ts';
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { endpointOf } from './certificate-hash.ts';

/** Paths. PEM; the server's own certificate is the first, those that lead to its authority follow. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  /** Absent: no certificates of clients are asked for. */
  readonly clientAuthority?: string | undefined;
}

export interface TlsIdentity {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer | undefined;
  /** To which clients bind their proof (certificate-hash.ts). */
  readonly endpoint: Buffer | null;
  /** SHA-256 of the certificate, to which gateways bind theirs. */
  readonly fingerprint: Buffer;
  readonly validTo: Date;
}

export class TlsFileError extends Error {
  readonly code = 'tlsFiles';
}

/** @throws TlsFileError that names the file and says what is wrong with it */
export async function readTlsIdentity(files: TlsFiles): Promise<TlsIdentity> {
  const [cert, key] = await Promise.all([read(files.certificate), read(files.key)]);
  const ca = files.clientAuthority === undefined ? undefined : await read(files.clientAuthority);
  const certificate = judge(files.certificate, 'holds no certificate', () => new X509Certificate(cert));
  const secret = judge(files.key, 'holds no private key without a passphrase', () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(secret)) {
    throw new TlsFileError(`${files.key} is not the key of the certificate in ${files.certificate}`);
  }
  if (ca !== undefined) judge(files.clientAuthority!, 'holds no certificate', () => new X509Certificate(ca));
  judge(files.certificate, 'cannot be used', () => createSecureContext({ cert, key, ca }));
  return {
    cert,
    key,
    ca,
    endpoint: endpointOf(certificate.raw),
    fingerprint: fingerprintOf(certificate.raw),
    validTo: new Date(certificate.validTo),
  };
}

export function fingerprintOf(der: Buffer): Buffer {
  return createHash('sha256').update(der).digest();
}

/** Changes whenever one of the files does. Empty where one is not there. */
export async function stateOfFiles(files: TlsFiles): Promise<string> {
  const paths = [files.certificate, files.key, files.clientAuthority].filter((path) => path !== undefined);
  try {
    const all = await Promise.all(paths.map((path) => stat(path)));
    return all.map(({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`).join(', ');
  } catch {
    return '';
  }
}

async function read(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new TlsFileError(`cannot read ${path}: ${(cause as Error).message}`, { cause });
  }
}

function judge<T>(path: string, words: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new TlsFileError(`${path} ${words}: ${(cause as Error).message}`, { cause });
  }
}
