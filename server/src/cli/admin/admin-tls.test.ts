/** An operator's command over TLS: whom it believes. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { readCertificates } from '../../adapters/tls-files/read-certificates.ts';
import { CertificateFolder } from '../../adapters/tls-files/testing/certificate-folder.ts';
import { membership, sendJson } from '../../main/testing/fake-admin.ts';
import { fetchMembership, resolveTarget } from './admin-client.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

async function replicaWith(shown: string) {
  const folder = await CertificateFolder.make();
  const dir = mkdtempSync(join(tmpdir(), 'barista-admin-tls-'));
  endings.push(
    () => folder.remove(),
    () => rmSync(dir, { recursive: true }),
  );
  const own = await folder.write('own', { names: ['db1.example'] });
  const paths = { own, other: await folder.write('other', { names: ['db1.example', '127.0.0.1'] }) };
  const { certificate: cert, key } = await readCertificates(shown === 'own' ? paths.own : paths.other);
  const asked: (string | undefined)[] = [];
  const server = createServer({ cert, key }, (request, response) => {
    asked.push(request.headers.authorization);
    sendJson(response, 200, { membership: membership({ r1: 'voter' }, 4) });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.push(() => server.close());
  const { port } = server.address() as { port: number };
  const config = {
    group: 'main',
    id: 'r1',
    dataDir: 'data',
    peers: [{ id: 'r1', host: 'db1', port: 7532, pgwire: { host: 'db1', port: 7432 } }],
    peerListen: { port: 7532 },
    clusterSecret: 'a secret of the cluster',
    pgwire: { port: 7432 },
    http: { port, tls: { certificate: own.certificate, key: own.key } },
  };
  writeFileSync(join(dir, 'r1.yaml'), JSON.stringify(config));
  writeFileSync(join(dir, 'token'), 'a token');
  return {
    configFile: join(dir, 'r1.yaml'),
    tokenFile: join(dir, 'token'),
    port,
    asked,
    authority: own.authority,
  };
}

it('by its configuration it asks the replica that shows the very certificate in it, whatever that is called', async () => {
  const { configFile, asked } = await replicaWith('own');
  const target = await resolveTarget({ kind: 'replica', configFile });
  expect((await fetchMembership(target)).version).toBe(4);
  expect(asked[0]).toMatch(/^Bearer [0-9a-f]{64}$/);
});

it('and tells its token to nobody else, though that one is of the same authority', async () => {
  const { configFile, asked } = await replicaWith('other');
  const target = await resolveTarget({ kind: 'replica', configFile });
  await expect(fetchMembership(target)).rejects.toThrow(/does not answer/);
  expect(asked).toEqual([]);
});

it('by a URL it believes the authority that was given, if the certificate has the name', async () => {
  const { port, tokenFile, authority, asked } = await replicaWith('other');
  const at = (url: string, believed: string | null) =>
    resolveTarget({ kind: 'url', url: new URL(url), tokenFile, authority: believed }).then(fetchMembership);
  expect((await at(`https://127.0.0.1:${port}`, authority)).version).toBe(4);
  await expect(at(`https://127.0.0.1:${port}`, null)).rejects.toThrow(/does not answer/);
  await expect(at(`https://localhost:${port}`, authority)).rejects.toThrow(/does not answer/);
  expect(asked).toEqual(['Bearer a token']);
});
