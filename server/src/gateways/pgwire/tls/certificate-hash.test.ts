import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openssl } from '../testing/certificates.ts';
import { endpointOf } from './certificate-hash.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'barista-hash-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

/** A certificate that signs itself. */
function certificate(kind: readonly string[], ...how: readonly string[]): Buffer {
  const file = join(dir, 'c.pem');
  openssl([
    'req',
    '-x509',
    '-nodes',
    '-subj',
    '/CN=x',
    '-newkey',
    ...kind,
    ...how,
    '-keyout',
    join(dir, 'k'),
    '-out',
    file,
  ]);
  return new X509Certificate(readFileSync(file)).raw;
}

const ec = ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
const pss = ['-sigopt', 'rsa_padding_mode:pss'];

describe('what a client binds to', () => {
  it.each([
    ['sha256', ['rsa:2048'], ['-sha256']],
    ['sha512', ['rsa:2048'], ['-sha512']],
    ['sha256', ec, ['-sha256']],
    ['sha384', ec, ['-sha384']],
    ['sha384', ['rsa:2048'], ['-sha384', ...pss]],
    ['sha256', ['rsa:2048'], ['-sha256', ...pss]],
  ])('is the %s of a certificate that is signed so (%j, %j)', (hash, kind, how) => {
    const der = certificate(kind, ...how);
    expect(endpointOf(der)).toEqual(createHash(hash).update(der).digest());
  });

  it('is nothing where the signature has no hash of its own, or there is no certificate', () => {
    expect(endpointOf(certificate(['ed25519']))).toBeNull();
    for (const text of ['', '0', '0\x80', '0\xff\xff\xff\xff\xff', '0\x02\x30\x00'])
      expect(endpointOf(Buffer.from(text, 'latin1'))).toBeNull();
  });
});
