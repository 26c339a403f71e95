/** Certificates for tests, made by the program openssl in a directory of their own. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface CertificateMaker {
  readonly dir: string;
  /** The authority's own certificate. */
  readonly authority: string;
  /** Signed by the authority; for `names` besides, which are `localhost` and its address if none are told. Returns the paths. */
  make(
    file: string,
    commonName: string,
    names?: string,
  ): { readonly certificate: string; readonly key: string };
  remove(): void;
}

const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const days = ['-days', '30'];

export function makeCertificates(): CertificateMaker {
  const dir = mkdtempSync(join(tmpdir(), 'barista-tls-'));
  const path = (name: string): string => join(dir, name);
  openssl([
    'req',
    '-x509',
    ...curve,
    ...days,
    '-subj',
    '/CN=tests',
    '-keyout',
    path('ca.key'),
    '-out',
    path('ca.pem'),
  ]);
  return {
    dir,
    authority: path('ca.pem'),
    make(file, commonName, names = 'DNS:localhost,IP:127.0.0.1') {
      writeFileSync(path('names'), `subjectAltName=${names}\n`);
      const [key, request, certificate] = [path(`${file}.key`), path(`${file}.csr`), path(`${file}.pem`)];
      openssl(['req', ...curve, '-subj', `/CN=${commonName}`, '-keyout', key, '-out', request]);
      const signed = ['x509', '-req', '-in', request, '-CA', path('ca.pem'), '-CAkey', path('ca.key')];
      openssl([...signed, '-CAcreateserial', ...days, '-extfile', path('names'), '-out', certificate]);
      return { certificate, key };
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

export function openssl(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}
