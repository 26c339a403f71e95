import { writeFile } from 'node:fs/promises';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { CertificateFolder } from '../adapters/tls-files/testing/certificate-folder.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { type CertificateFiles, openCertificateFiles } from './certificate-files.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

async function opened(config: object): Promise<CertificateFiles> {
  const files = await openCertificateFiles(config as ReplicaConfig, pino({ level: 'silent' }));
  endings.push(() => files.close());
  return files;
}

async function written() {
  const folder = await CertificateFolder.make();
  endings.push(() => folder.remove());
  const { certificate, key, authority } = await folder.write('r1');
  return { folder, files: { certificate, key, authority } };
}

it('those of the configuration are opened, and tell of themselves under its keys', async () => {
  const { files } = await written();
  const { certificate, key } = files;
  const all = await opened({ peerTls: { ...files, required: false }, http: { tls: { certificate, key } } });
  expect(all.status().map(({ name, problem }) => [name, problem])).toEqual([
    ['peerTls', null],
    ['http.tls', null],
  ]);
  expect(all.peers?.required).toBe(false);
  expect(all.http?.current().authority).toBeNull();
  await writeFile(key, 'broken');
  await all.look();
  await all.look();
  expect(all.status().map(({ problem }) => problem)).toEqual([
    `${key} holds no private key in PEM`,
    `${key} holds no private key in PEM`,
  ]);
});

it('without any in the configuration there are none', async () => {
  const all = await opened({ http: {} });
  expect([all.peers, all.http, all.status()]).toEqual([null, null, []]);
});

it('what cannot be used ends the command as a mistake in the configuration does', async () => {
  const { folder, files } = await written();
  const other = await folder.write('r2', { authority: 'theirs', trusts: 'ours' });
  const peerTls = { ...files, certificate: other.certificate, key: other.key, required: true };
  await expect(opened({ peerTls, http: {} })).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(
      /^peerTls: the certificate in .*r2\.crt \(CN=r2\) is not of the authority/,
    ),
  });
});
