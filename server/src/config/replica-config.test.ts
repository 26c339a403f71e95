import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError, loadReplicaConfig, parseReplicaConfig } from './replica-config.ts';

const member = (id: string, port: number) => ({
  id,
  host: '127.0.0.1',
  port,
  pgwire: { host: '127.0.0.1', port: port + 1000 },
});
const minimal = {
  group: 'main',
  id: 'r1',
  dataDir: 'data/r1',
  peers: [member('r1', 6001), member('r2', 6002), member('r3', 6003)],
  peerListen: { port: 6001 },
  clusterSecret: '0123456789abcdef',
  pgwire: { port: 7432 },
  http: { port: 8081 },
};

function errorOf(document: unknown): string {
  try {
    parseReplicaConfig(document, '/base');
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

describe('replica configuration', () => {
  it('fills in every default, listens on loopback, and allows no faults', () => {
    const config = parseReplicaConfig(minimal, '/base');
    expect(config.dataDir).toBe('/base/data/r1');
    expect(config.peerListen.host).toBe('127.0.0.1');
    expect(config.pgwire.host).toBe('127.0.0.1');
    expect(config.http.host).toBe('127.0.0.1');
    expect(config.faults).toBe(false);
    expect(config.timings).toEqual({
      heartbeatMs: 200,
      electionTimeoutMinMs: 1200,
      electionTimeoutMaxMs: 2000,
      leaseMs: 700,
      clockDriftMax: 0.05,
      retransmitMs: 300,
    });
    expect(config.bounds.windowBytesMax).toBe(16 * 1024 * 1024);
    expect(config.postgres).toEqual({ settings: {} });
  });

  it.each([
    [{ ...minimal, colour: 'red' }, 'colour: unknown key'],
    [{ ...minimal, timings: { leaseMS: 3 } }, 'timings.leaseMS: unknown key'],
    [{ ...minimal, pgwire: { port: 70_000 } }, 'pgwire.port: '],
    [{ ...minimal, id: 'r9' }, 'peers: must list every member'],
    [{ ...minimal, peers: [...minimal.peers, member('r1', 6004)] }, 'peers: names a replica twice'],
    [{ ...minimal, peers: [{ ...member('r1', 1), pgwire: { host: 'h' } }] }, 'peers[0].pgwire.port: '],
    [{ ...minimal, clusterSecret: undefined }, 'clusterSecret: exactly one'],
    [{ ...minimal, clusterSecret: 'short' }, 'clusterSecret: must have at least 16'],
    [{ ...minimal, timings: { leaseMs: 1500 } }, 'timings.leaseMs: must be below electionTimeoutMinMs'],
    [{ ...minimal, timings: { heartbeatMs: 900 } }, 'timings.heartbeatMs: must be at most half'],
    [
      { ...minimal, bounds: { entryBytesMax: 2 ** 19, acceptBatchBytesMax: 2 ** 18 } },
      'bounds.entryBytesMax: must be at most acceptBatchBytesMax',
    ],
    [{ ...minimal, bounds: { windowBytesMax: 512 * 2 ** 20 } }, 'bounds.windowBytesMax: '],
    [{ ...minimal, bounds: { entryBytesMax: 2 ** 20 } }, 'bounds.entryBytesMax: '],
    [{ ...minimal, postgres: { settings: { fsync: 'off' } } }, 'postgres.settings.fsync: is set by Barista'],
    [{ ...minimal, id: '../x' }, 'id: must start with a letter'],
    [null, '(whole file): '],
  ])('names the key that is wrong: %#', (document, expected) => {
    expect(errorOf(document)).toContain(expected);
  });

  it('reports all wrong keys at once', () => {
    const message = errorOf({ ...minimal, group: 7, http: {}, logLevel: 'loud' });
    for (const key of ['group: ', 'http.port: ', 'logLevel: ']) expect(message).toContain(key);
  });
});

describe('loading from a file', () => {
  let dir = '';
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'barista-config-'));
  });
  afterAll(() => rmSync(dir, { recursive: true }));
  const write = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };

  it('reads the secret from a file beside it, and takes paths as relative to it', () => {
    write('secret', 'a-secret-of-the-cluster\n');
    const { clusterSecret: _, ...rest } = minimal;
    const file = write('r1.yaml', JSON.stringify({ ...rest, clusterSecretFile: 'secret' }));
    const config = loadReplicaConfig(file);
    expect(config.clusterSecret).toBe('a-secret-of-the-cluster');
    expect(config.dataDir).toBe(join(dir, 'data/r1'));
  });

  it('says where the YAML is malformed, or a key is written twice', () => {
    expect(() => loadReplicaConfig(write('bad.yaml', 'group: [main\nid: r1\n'))).toThrow(
      /not valid YAML: .*line/,
    );
    expect(() => loadReplicaConfig(write('twice.yaml', 'group: a\ngroup: b\n'))).toThrow(
      /not valid YAML: .*unique/,
    );
  });

  it('says so when the file is not there', () => {
    expect(() => loadReplicaConfig(join(dir, 'absent.yaml'))).toThrow(/cannot read .*absent/);
  });
});
