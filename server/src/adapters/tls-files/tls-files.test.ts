import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CertificateError, readCertificates } from './read-certificates.ts';
import { CertificateFolder, testAuthority, validFor } from './testing/certificate-folder.ts';
import { openTlsFiles, type TlsFiles, type TlsFilesOptions } from './tls-files.ts';

const dayMs = 24 * 3_600_000;
let folder: CertificateFolder;
let told: string[];
const open: TlsFiles[] = [];

beforeEach(async () => {
  folder = await CertificateFolder.make();
  told = [];
});
afterEach(async () => {
  for (const files of open.splice(0)) files.close();
  await folder.remove();
});

async function watch(
  paths: TlsFilesOptions['paths'],
  options: Partial<TlsFilesOptions> = {},
): Promise<TlsFiles> {
  const say = (level: string) => (fields: object, message: string) =>
    void told.push(`${level} ${message}${'problem' in fields ? `: ${String(fields.problem)}` : ''}`);
  const log = { info: say('info'), warn: say('warn'), error: say('error') };
  const files = await openTlsFiles({ name: 'peerTls', paths, log, everyMs: 3_600_000, ...options });
  open.push(files);
  return files;
}

describe('certificate files', () => {
  it('are read, with the time at which the first of them ends', async () => {
    const paths = await folder.write('r1', { validity: validFor(-1, 30) });
    const { certificate, expiresAt } = await readCertificates(paths);
    expect(certificate).toContain('BEGIN CERTIFICATE');
    expect(Math.round((expiresAt.getTime() - Date.now()) / dayMs)).toBe(30);
    // An authority that ends before ends what it has signed.
    const long = await folder.write('r2', { validity: validFor(-1, 500) });
    expect(Math.round(((await readCertificates(long)).expiresAt.getTime() - Date.now()) / dayMs)).toBe(100);
  });

  it('that do not fit together are refused, in words that name the file', async () => {
    const one = await folder.write('r1');
    const other = await folder.write('r2', { authority: 'theirs', trusts: 'ours' });
    const why = (paths: typeof one) => readCertificates(paths).then(String, (error: Error) => error.message);
    expect(await why({ ...one, key: other.key })).toBe(
      `the key in ${other.key} is not that of the certificate in ${one.certificate}`,
    );
    expect(await why(other)).toBe(
      `the certificate in ${other.certificate} (CN=r2) is not of the authority in ${other.authority}`,
    );
    expect(await why({ ...one, key: `${one.key}.none` })).toBe(`cannot read ${one.key}.none (ENOENT)`);
    expect(await why({ ...one, key: one.certificate })).toBe(
      `${one.certificate} holds no private key in PEM`,
    );
    expect(await why({ ...one, certificate: one.key })).toBe(`${one.key} holds no certificate in PEM`);
    await writeFile(one.certificate, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    expect(await why(one)).toBe(`${one.certificate} holds a certificate that cannot be read`);
  });

  it('are in force once they are whole, and those of before until then', async () => {
    const paths = await folder.write('r1');
    const files = await watch(paths);
    const first = files.current();
    const changes: string[] = [];
    files.onChange((now, before) => changes.push(`${now.key === first.key} ${before.key === first.key}`));
    const next = await folder.write('next');
    // Half of them.
    await copyFile(next.certificate, paths.certificate);
    await files.look();
    expect([files.current(), files.status().problem, told]).toEqual([first, null, []]);
    await copyFile(next.key, paths.key);
    await files.look();
    expect(files.current().key).toBe(await readFile(next.key, 'latin1'));
    expect(changes).toEqual(['false true']);
    expect(told).toEqual(['info new certificates are in force']);
  });

  it('that stay wrong are told, and when they are right again', async () => {
    const paths = await folder.write('r1');
    const files = await watch(paths);
    const good = await readFile(paths.key);
    await writeFile(paths.key, 'nothing');
    await files.look();
    await files.look();
    await files.look();
    const problem = `${paths.key} holds no private key in PEM`;
    expect(files.status()).toMatchObject({ name: 'peerTls', problem });
    await writeFile(paths.key, good);
    await files.look();
    expect(files.status().problem).toBeNull();
    expect(told).toEqual([
      `error the certificate files cannot be used; those of before stay in force: ${problem}`,
      'info the certificate files are in order again',
    ]);
  });

  it('of which the certificate has expired never take the place of others', async () => {
    const paths = await folder.write('r1');
    const files = await watch(paths);
    const first = files.current();
    await folder.write('r1', { validity: validFor(-10, -1) });
    await files.look();
    await files.look();
    expect(files.current()).toBe(first);
    expect(files.status().problem).toMatch(/r1\.crt expired at /);
  });

  it('that end soon are told once a day, and in the status always', async () => {
    const paths = await folder.write('r1', { validity: validFor(-1, 13.5) });
    let at = Date.now();
    const files = await watch(paths, { now: () => new Date(at) });
    await files.look();
    expect(told).toEqual(['warn the certificate expires in 13 days']);
    at += dayMs;
    await files.look();
    at += 13 * dayMs;
    await files.look();
    expect(told.slice(1)).toEqual([
      'warn the certificate expires in 12 days',
      'error the certificate has expired: the other side refuses it',
    ]);
    expect(Date.parse(files.status().expiresAt)).toBeLessThan(at);
  });

  it('that cannot be used at the start are an error that names the key of the configuration', async () => {
    const paths = {
      certificate: '/nowhere/r1.crt',
      key: '/nowhere/r1.key',
      authority: null,
      isMutual: false,
    };
    const failed = watch(paths);
    await expect(failed).rejects.toThrow(CertificateError);
    await expect(failed).rejects.toThrow('peerTls: cannot read /nowhere/r1.crt (ENOENT)');
  });
});

it('an authority that is for the other side alone need not be that of the certificate', async () => {
  const paths = await folder.write('r1', {
    authority: 'theirs',
    trusts: 'ours',
    validity: validFor(-1, 300),
  });
  const { expiresAt } = await readCertificates({ ...paths, isMutual: false });
  expect(Math.round((expiresAt.getTime() - Date.now()) / dayMs)).toBe(300);
});

it('two authorities are there while one takes the place of the other', async () => {
  const paths = await folder.write('r1', { authority: 'old' });
  const both = `${(await testAuthority('new')).certificate}${(await testAuthority('old')).certificate}`;
  await writeFile(paths.authority, both);
  expect((await readCertificates(paths)).authority).toBe(both);
});
