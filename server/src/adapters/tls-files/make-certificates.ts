/**
 * Makes a private authority, and certificates of it.
 *
 * Responsible for: what is in a certificate (names, uses, times). Writes no file; the encoding of X.509 is the library's. Slow to load: to be imported where it is needed.
 */
import 'reflect-metadata';
import { isIP } from 'node:net';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

export interface Made {
  /** Both in PEM. */
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  readonly from: Date;
  readonly to: Date;
}

const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const signing = { name: 'ECDSA', hash: 'SHA-256' } as const;
const { subtle } = webcrypto;

type KeyPair = webcrypto.CryptoKeyPair;

export async function makeAuthority(name: string, { from, to }: Validity): Promise<Made> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [name] }],
    notBefore: from,
    notAfter: to,
    signingAlgorithm: signing,
    keys,
    extensions: [
      // What it signs are certificates of members, and no further authorities.
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: pemOf(certificate), key: await pemOfKey(keys) };
}

export interface CertificateWishes {
  /** For people. */
  readonly subject: string;
  /** Names and addresses that it stands for: ids of replicas, hosts, IP addresses. */
  readonly names: readonly string[];
  readonly validity: Validity;
}

/** @throws Error if the authority's key cannot be read, or is none of the kind that is made here */
export async function makeCertificate(authority: Made, wishes: CertificateWishes): Promise<Made> {
  const issuer = new x509.X509Certificate(authority.certificate);
  const signingKey = await subtle.importKey(
    'pkcs8',
    x509.PemConverter.decodeFirst(authority.key),
    keyAlgorithm,
    false,
    ['sign'],
  );
  const keys = await newKeys();
  const names = wishes.names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [wishes.subject] }],
    issuer: issuer.subjectName.toJSON(),
    notBefore: wishes.validity.from,
    notAfter: wishes.validity.to,
    signingAlgorithm: signing,
    signingKey,
    publicKey: keys.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        x509.ExtendedKeyUsage.clientAuth,
      ]),
      new x509.SubjectAlternativeNameExtension(names),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: pemOf(certificate), key: await pemOfKey(keys) };
}

function newKeys(): Promise<KeyPair> {
  return subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
}

/** A positive number of 127 random bits. */
function serialNumber(): string {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16));
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return Buffer.from(bytes).toString('hex');
}

function pemOf(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

async function pemOfKey({ privateKey }: KeyPair): Promise<string> {
  return `${x509.PemConverter.encode(await subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY')}\n`;
}
