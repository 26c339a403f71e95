import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCertificates } from '../../adapters/tls-files/read-certificates.ts';
import { isNamed } from '../../adapters/ws-transport/peer-tls.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { runCertificates } from './certificates-command.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'barista-certificates-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

async function make({ days = 400, renew = false, only = null as string | null } = {}): Promise<string[]> {
  const configFile = join(dir, 'r1.yaml');
  const member = (id: string, host: string) => ({
    id,
    host,
    port: 7532,
    pgwire: { host: `sql.${host}`, port: 7432 },
  });
  const config = {
    group: 'main',
    id: 'r1',
    dataDir: 'data',
    peers: [
      member('r1', 'db1.example'),
      { ...member('r2', 'x'), host: '10.0.0.2', pgwire: { host: '10.0.0.2', port: 7432 } },
    ],
    peerListen: { port: 7532 },
    clusterSecret: 'a secret of the cluster',
    pgwire: { port: 7432 },
    http: { port: 8081 },
  };
  writeFileSync(configFile, JSON.stringify(config));
  const lines: string[] = [];
  await runCertificates({ configFile, directory: join(dir, 'made'), days, renew, only }, (line) =>
    lines.push(line),
  );
  return lines;
}

const at = (name: string): string => join(dir, 'made', name);
const pathsOf = (id: string) => ({
  certificate: at(`${id}.crt`),
  key: at(`${id}.key`),
  authority: at('authority.crt'),
  isMutual: true,
});
const shown = (id: string): X509Certificate => new X509Certificate(readFileSync(at(`${id}.crt`)));

describe('barista certificates', () => {
  it('makes an authority and a certificate for each member, which fit, name it and its hosts, and end in time', async () => {
    const lines = await make();
    expect(readdirSync(at('')).toSorted()).toEqual([
      'authority.crt',
      'authority.key',
      'r1.crt',
      'r1.key',
      'r2.crt',
      'r2.key',
    ]);
    for (const id of ['r1', 'r2']) {
      const { expiresAt } = await readCertificates(pathsOf(id));
      expect(Math.round((expiresAt.getTime() - Date.now()) / 86_400_000)).toBe(400);
    }
    expect(isNamed(shown('r1'), 'r1' as ReplicaId)).toBe(true);
    expect(isNamed(shown('r1'), 'r2' as ReplicaId)).toBe(false);
    expect(shown('r1').checkHost('sql.db1.example')).toBe('sql.db1.example');
    expect(shown('r2').checkIP('10.0.0.2')).toBe('10.0.0.2');
    expect(lines.join('\n')).toContain(`peerTls: { certificate: ${at('r1.crt')}, key: ${at('r1.key')}`);
  });

  it('keeps keys to their owner', async () => {
    await make();
    for (const name of ['authority.key', 'r1.key']) expect(statSync(at(name)).mode & 0o077).toBe(0);
  });

  it('replaces nothing unasked, and renews with the authority that is there', async () => {
    await make();
    const before = shown('r1').fingerprint256;
    const authority = readFileSync(at('authority.crt'), 'utf8');
    expect((await make())[0]).toMatch(/r1\.crt: exists and is kept/);
    expect(shown('r1').fingerprint256).toBe(before);
    const other = shown('r2').fingerprint256;
    await make({ renew: true, only: 'r1', days: 30 });
    expect(shown('r1').fingerprint256).not.toBe(before);
    expect(shown('r2').fingerprint256).toBe(other);
    expect(readFileSync(at('authority.crt'), 'utf8')).toBe(authority);
    await readCertificates(pathsOf('r1'));
  });

  it('makes none that outlives its authority', async () => {
    await make({ days: 36_500 });
    const end = new Date(new X509Certificate(readFileSync(at('authority.crt'))).validTo);
    expect(new Date(shown('r1').validTo)).toEqual(end);
  });

  it('refuses what it cannot do, and says why', async () => {
    await expect(make({ only: 'r9' })).rejects.toThrow(/r9 is not among the peers of .*: r1, r2\./);
    await make();
    rmSync(at('authority.key'));
    await expect(make({ renew: true })).rejects.toThrow(
      /authority\.crt exists, but .*authority\.key does not/,
    );
  });
});
