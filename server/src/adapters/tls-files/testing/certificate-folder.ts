/** Authorities and certificates in files, for tests; each is made once and used by all tests of a worker where nothing is said of its time. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Made, makeAuthority, makeCertificate, type Validity } from '../make-certificates.ts';
import type { CertificatePaths } from '../read-certificates.ts';

const dayMs = 24 * 3_600_000;

export function validFor(fromDays: number, toDays: number): Validity {
  return { from: new Date(Date.now() + fromDays * dayMs), to: new Date(Date.now() + toDays * dayMs) };
}
const usual = validFor(-1, 100);

const authorities = new Map<string, Promise<Made>>();

export function testAuthority(name: string): Promise<Made> {
  const known = authorities.get(name) ?? makeAuthority(name, usual);
  authorities.set(name, known);
  return known;
}

export class CertificateFolder {
  readonly directory: string;

  static async make(): Promise<CertificateFolder> {
    return new CertificateFolder(await mkdtemp(join(tmpdir(), 'barista-certificates-')));
  }

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** A certificate for `names`, written as `NAME.crt` and `NAME.key` beside that of its authority. */
  async write(
    file: string,
    {
      names = [file],
      authority = 'ours',
      trusts = authority,
      validity = usual,
    }: {
      readonly names?: readonly string[];
      readonly authority?: string;
      /** The authority that is believed. */
      readonly trusts?: string;
      readonly validity?: Validity;
    } = {},
  ): Promise<CertificatePaths & { readonly authority: string }> {
    const made = await makeCertificate(await testAuthority(authority), { subject: file, names, validity });
    const paths = {
      certificate: join(this.directory, `${file}.crt`),
      key: join(this.directory, `${file}.key`),
      authority: join(this.directory, `${trusts}.authority.crt`),
      isMutual: true,
    };
    await writeFile(paths.certificate, made.certificate);
    await writeFile(paths.key, made.key);
    await writeFile(paths.authority, (await testAuthority(trusts)).certificate);
    return paths;
  }

  remove(): Promise<void> {
    return rm(this.directory, { recursive: true, force: true });
  }
}
