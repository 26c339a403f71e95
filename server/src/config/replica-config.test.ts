import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonShape } from '../shapes/json-shape.ts';
import { allowedWords } from '../shapes/words.ts';
import { replicaConfigSchema } from './config-schema.ts';
import { ConfigError } from './config-error.ts';
import { loadReplicaConfig, parseReplicaConfig } from './replica-config.ts';

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

  const access = (rule: object) => ({ ...minimal, pgwire: { port: 7432, access: [rule] } });

  it('takes rules of access and certificates, whose paths are relative to the file', () => {
    const tls = { certificate: 'tls/r1.pem', key: '/etc/r1.key', clientAuthority: 'ca.pem' };
    const rules = [
      { method: 'trust', address: 'loopback' },
      { method: 'certificate', tls: 'required' },
    ];
    const { pgwire } = parseReplicaConfig(
      { ...minimal, pgwire: { port: 7432, tls, access: rules } },
      '/base',
    );
    expect(pgwire.tls).toEqual({
      certificate: '/base/tls/r1.pem',
      key: '/etc/r1.key',
      clientAuthority: '/base/ca.pem',
    });
    expect(pgwire.access).toEqual([
      { database: 'all', role: 'all', address: 'loopback', tls: 'any', method: 'trust' },
      { database: 'all', role: 'all', address: 'all', tls: 'required', method: 'certificate' },
    ]);
    expect(parseReplicaConfig(minimal, '/base').pgwire).toEqual({ host: '127.0.0.1', port: 7432 });
  });

  it('makes the paths of certificates and tokens absolute, and opens no door unasked', () => {
    const files = { certificate: 'tls/r1.crt', key: '/k', authority: 'a.crt' };
    const http = { port: 8081, tls: { certificate: 'w.crt', key: 'w.key' }, tokenFile: 'token' };
    const config = parseReplicaConfig({ ...minimal, peerTls: files, http }, '/base');
    expect(config.peerTls).toEqual({
      certificate: '/base/tls/r1.crt',
      key: '/k',
      authority: '/base/a.crt',
      required: true,
    });
    expect(config.http).toMatchObject({
      tls: { certificate: '/base/w.crt', key: '/base/w.key' },
      tokenFile: '/base/token',
      open: 'health',
      names: [],
    });
    expect(config.http.tls).not.toHaveProperty('authority');
    const open = (host: string) => ({ ...minimal, http: { host, port: 8081, open: 'all' } });
    expect(parseReplicaConfig(open('127.0.0.1'), '/base').http.open).toBe('all');
    expect(errorOf(open('10.0.0.1'))).toContain(
      'http.open: must be health or metrics where http.host ("10.0.0.1") is not this machine alone, and is all',
    );
  });

  it.each([
    ['archive', { directory: '/archive' }],
    ['backup', { directory: '/backup' }],
  ])('%s does nothing where statements travel, and is refused', (key, value) => {
    expect(parseReplicaConfig({ ...minimal, [key]: value }, '/base')).toHaveProperty(key);
    expect(errorOf({ ...minimal, payload: 'statements', [key]: value })).toContain(
      `${key}: must not be given with payload: statements`,
    );
  });

  it('groups by an interval go with WAL', () => {
    const groupCommit = { kind: 'adaptive' };
    expect(parseReplicaConfig(minimal, '/base').groupCommit).toEqual({ kind: 'gather' });
    expect(parseReplicaConfig({ ...minimal, groupCommit }, '/base').groupCommit).toEqual({
      kind: 'adaptive',
      firstMs: 5,
    });
    expect(errorOf({ ...minimal, payload: 'statements', groupCommit })).toContain(
      'groupCommit.kind: must be gather with payload: statements',
    );
  });

  it('SERIALIZABLE is not what all begin with where statements travel', () => {
    const given = (level: string, payload: string): unknown => ({
      ...minimal,
      payload,
      postgres: { settings: { default_transaction_isolation: level } },
    });
    expect(parseReplicaConfig(given('serializable', 'wal'), '/base').payload).toBe('wal');
    expect(parseReplicaConfig(given('repeatable read', 'statements'), '/base').payload).toBe('statements');
    expect(errorOf(given('SERIALIZABLE', 'statements'))).toContain(
      'postgres.settings.default_transaction_isolation: must not be serializable with payload: statements',
    );
  });

  it('settings that would keep everybody from serving are refused, and names of extensions may have digits', () => {
    const given = (settings: Record<string, string>): unknown => ({ ...minimal, postgres: { settings } });
    expect(errorOf(given({ max_wal_senders: '0' }))).toContain(
      'postgres.settings.max_wal_senders: must be at least 4, or nobody can serve',
    );
    for (const short of ['1', '999ms', '0.5s', '10 us'])
      expect(errorOf(given({ transaction_timeout: short }))).toContain(
        'postgres.settings.transaction_timeout: must be at least 1 s, or 0',
      );
    const odd = {
      transaction_timeout: '1s',
      'pg_stat_statements.max': '100',
      'plv8.v8_flags': 'x',
      'a1.b2.c3': 'y',
      work_mem: '4MB',
    };
    expect(parseReplicaConfig(given(odd), '/base').postgres.settings).toEqual(odd);
  });

  it.each(['paxos', 'primary'])('WAL, which one PostgreSQL writes, does not go with %s', (protocol) => {
    expect(parseReplicaConfig(minimal, '/base').protocol).toBe('multi-paxos');
    expect(errorOf({ ...minimal, protocol })).toContain(
      `protocol: must be multi-paxos with payload: wal, which one PostgreSQL writes; ${protocol} goes with payload: statements`,
    );
  });

  it('statements go with Paxos', () => {
    const statements = { ...minimal, payload: 'statements' };
    expect(parseReplicaConfig({ ...statements, protocol: 'paxos' }, '/base').protocol).toBe('paxos');
  });

  it('statements go with a primary and one to four copies, which alone heed its keys', () => {
    const peersOf = (count: number) =>
      Array.from({ length: count }, (_, n) => ({
        id: `r${n + 1}`,
        host: 'h',
        port: 1,
        pgwire: { host: 'h', port: 2 },
      }));
    const of = (count: number, primary: object = {}) => ({
      ...minimal,
      payload: 'statements',
      protocol: 'primary',
      peers: peersOf(count),
      primary,
    });
    for (const count of [2, 3, 5])
      expect(parseReplicaConfig(of(count), '/base').primary).toEqual({
        replication: 'majority',
        failureTimeoutMs: 1500,
        acknowledgeMsMax: 5000,
        dropSilentCopies: false,
        promoteAloneRiskingSplitBrain: false,
        sessionsMayLower: false,
      });
    for (const count of [1, 6])
      expect(errorOf(of(count))).toContain(
        `protocol: must be multi-paxos or paxos with ${count} members: a primary has one to four copies`,
      );
    expect(parseReplicaConfig(of(2, { promoteAloneRiskingSplitBrain: true }), '/base').primary).toBeDefined();
    expect(errorOf(of(3, { promoteAloneRiskingSplitBrain: true }))).toContain(
      'primary.promoteAloneRiskingSplitBrain: must be false with 3 members',
    );
    expect(errorOf(of(3, { failureTimeoutMs: 399 }))).toContain(
      'primary.failureTimeoutMs: must be at least twice timings.heartbeatMs (200), and is 399',
    );
    expect(errorOf({ ...minimal, primary: {} })).toContain(
      'primary: must not be given with protocol: multi-paxos, which has no primary',
    );
  });

  it.each(['synchronous', 'asynchronous'])('no commit point is told %s where nobody leads', (kind) => {
    const told = { ...minimal, payload: 'statements', commitPoint: { kind } };
    expect(parseReplicaConfig(told, '/base').commitPoint.kind).toBe(kind);
    expect(errorOf({ ...told, protocol: 'paxos' })).toContain(
      `commitPoint.kind: must be piggyback with protocol: paxos, where no leader tells it, and is ${kind}`,
    );
  });

  const settings = (values: object) => ({ ...minimal, postgres: { settings: values } });
  const { group: _group, ...noGroup } = minimal;
  const { http: _http, ...noHttp } = minimal;
  const { clusterSecret: _secret, ...noSecret } = minimal;
  const name = 'a name of at most 32 letters, digits, "_" or "-", a letter first';
  const port = 'a whole number from 1 to 65535';
  const zookeeper = { kind: 'zookeeper', servers: ['zk1'], root: 'barista' };

  it.each([
    // Missing.
    [noGroup, `group: is missing; it must be ${name}`],
    [noHttp, 'http: is missing; it must be a map with the key port'],
    [{ ...minimal, pgwire: {} }, `pgwire.port: is missing; it must be ${port}`],
    [
      { ...minimal, peers: [{ ...member('r1', 1), pgwire: { host: 'h' } }] },
      `peers[0].pgwire.port: is missing; it must be ${port}`,
    ],
    [noSecret, 'clusterSecret: is missing; exactly one of clusterSecret and clusterSecretFile must be given'],
    [{ ...minimal, logStore: {} }, 'logStore.kind: is missing; it must be one of segment, zookeeper'],
    [
      { ...minimal, bootstrap: { user: 'app' } },
      'bootstrap.password: is missing; it must be a text of 1 to 512 characters',
    ],
    // The wrong type.
    [{ ...minimal, pgwire: { port: '7432' } }, `pgwire.port: must be ${port}, and is "7432", a text`],
    [{ ...minimal, pgwire: { port: Number.NaN } }, `pgwire.port: must be ${port}, and is NaN`],
    [{ ...minimal, pgwire: { port: 1.5 } }, `pgwire.port: must be ${port}, and is 1.5`],
    [{ ...minimal, pgwire: null }, 'pgwire: must be a map with the key port, and is empty (null)'],
    [{ ...minimal, peers: 'r1' }, 'peers: must be a list of 1 to 9 items, and is "r1", a text'],
    [{ ...minimal, timings: [1, 2] }, 'timings: must be a map of keys and values, and is a list of 2'],
    [{ ...minimal, faults: 'yes' }, 'faults: must be true or false, and is "yes", a text'],
    [{ ...minimal, dataDir: { path: 'x' } }, 'dataDir: must be a text that is not empty, and is a map'],
    [
      settings({ max_connections: 20 }),
      'postgres.settings.max_connections: must be a text of at most 1000 characters, and is 20, which is no text without quotes',
    ],
    [
      { ...minimal, logStore: 'segment' },
      'logStore: must be a map with the key kind, which is one of segment, zookeeper, and is "segment"',
    ],
    [
      null,
      '(whole file): must be a map with the keys group, id, dataDir, peers, peerListen, pgwire, http, and',
    ],
    // Out of range, or of another form.
    [{ ...minimal, pgwire: { port: 70_000 } }, `pgwire.port: must be ${port}, and is 70000`],
    [
      { ...minimal, timings: { clockDriftMax: 2 } },
      'timings.clockDriftMax: must be a number from 0 to 0.5, and is 2',
    ],
    [
      { ...minimal, bounds: { windowBytesMax: 512 * 2 ** 20 } },
      'bounds.windowBytesMax: must be a whole number from 65536 to 24117248, and is 536870912',
    ],
    [{ ...minimal, peers: [] }, 'peers: must be a list of 1 to 9 items, and is a list of 0'],
    [{ ...minimal, id: '../x' }, `id: must be ${name}, and is "../x"`],
    [
      { ...minimal, pgwire: { host: 'h'.repeat(300), port: 1 } },
      `pgwire.host: must be a text of 1 to 255 characters, and is "${'h'.repeat(60)}"... (300 characters)`,
    ],
    [
      { ...minimal, peers: [{ ...member('r1', 1), host: '10.0.0.256' }] },
      'peers[0].host: must be an address (10.0.0.1, fd00::1, fe80::1%eth0) or a name of letters, digits, "-", "_" and dots whose last part is no number, and is "10.0.0.256"',
    ],
    [{ ...minimal, logStore: zookeeper }, 'logStore.servers[0]: must be host:port, and is "zk1"'],
    [{ ...minimal, logStore: zookeeper }, 'logStore.root: must be a path of 1 to 8 names of letters'],
    [
      settings({ Work_Mem: '4MB' }),
      'postgres.settings.Work_Mem: the name of this key must be that of a setting as in postgresql.conf, in small letters',
    ],
    // None of those that may be.
    [
      { ...minimal, logLevel: 'loud' },
      'logLevel: must be one of trace, debug, info, warn, error, fatal, silent, and is "loud"',
    ],
    [
      { ...minimal, logStore: { kind: 'etcd' } },
      'logStore.kind: must be one of segment, zookeeper, and is "etcd"',
    ],
    // Keys that nobody knows.
    [{ ...minimal, peerListn: 1 }, 'peerListn: is no key that is known; did you mean peerListen?'],
    [
      { ...minimal, timings: { leaseMS: 3 } },
      'timings.leaseMS: is no key that is known; did you mean timings.leaseMs?',
    ],
    [
      { ...minimal, pgwire: { prot: 7432 } },
      'pgwire.prot: is no key that is known; did you mean pgwire.port?',
    ],
    [
      { ...minimal, timings: { lease: 3 } },
      'timings.lease: is no key that is known; did you mean timings.leaseMs?',
    ],
    [{ ...minimal, leaseMs: 700 }, 'leaseMs: is no key that is known; did you mean timings.leaseMs?'],
    [
      { ...minimal, pgwire: { colour: 'red' } },
      'pgwire.colour: is no key that is known; there may be host, port',
    ],
    [
      { ...minimal, logStore: { kind: 'segment', root: '/b' } },
      'logStore.root: is no key where kind is segment',
    ],
    // Rules that span several keys.
    [
      { ...minimal, id: 'r9' },
      'peers: must list every member, and this one, whose id is "r9", is not among r1, r2, r3',
    ],
    [
      { ...minimal, peers: [...minimal.peers, member('r1', 6004)] },
      'peers: must name each member once, and has r1 more than once',
    ],
    [
      { ...minimal, clusterSecretFile: 'f' },
      'clusterSecret: is given, and clusterSecretFile is, too; exactly one',
    ],
    [
      { ...minimal, timings: { leaseMs: 1500 } },
      'timings.leaseMs: must be below electionTimeoutMinMs (1200), and is 1500',
    ],
    [
      { ...minimal, timings: { heartbeatMs: 900 } },
      'timings.heartbeatMs: must be at most half of leaseMs (700), and is 900',
    ],
    [
      { ...minimal, timings: { electionTimeoutMaxMs: 1200 } },
      'timings.electionTimeoutMaxMs: must be above electionTimeoutMinMs (1200), and is 1200',
    ],
    [
      { ...minimal, bounds: { entryBytesMax: 2 ** 19, acceptBatchBytesMax: 2 ** 18 } },
      'bounds.entryBytesMax: must be at most acceptBatchBytesMax (262144), and is 524288',
    ],
    [
      { ...minimal, bounds: { acceptBatchBytesMax: 2 ** 24, windowBytesMax: 2 ** 23 } },
      'bounds.acceptBatchBytesMax: must be at most windowBytesMax (8388608), and is 16777216',
    ],
    [
      { ...minimal, backup: { directory: 'data/r1/backups' } },
      'backup.directory: must not be in dataDir ("data/r1"), which may be lost or wiped as a whole, and is "data/r1/backups"',
    ],
    [
      { ...minimal, archive: { directory: '/b' }, backup: { directory: '/b' } },
      'backup.directory: must be another one than archive.directory, and both are "/b"',
    ],
    [
      { ...minimal, archive: { directory: 'data/r1/wal' } },
      'archive.directory: must not be in dataDir ("data/r1"), which may be lost or wiped as a whole, and is "data/r1/wal"',
    ],
    [
      access({ method: 'trust' }),
      'pgwire.access[0].method: must not be trust for other machines than this one: address is "all", and may be "loopback"',
    ],
    [
      access({ method: 'scram', tls: 'required' }),
      'pgwire.access[0].tls: must not be required without pgwire.tls, for then nobody can ask for TLS',
    ],
    [
      access({ method: 'certificate' }),
      'pgwire.access[0].method: must not be certificate without pgwire.tls.clientAuthority, which says whose',
    ],
    [
      access({ method: 'scram', address: 'db1' }),
      'pgwire.access[0].address: must be all, loopback, or addresses and networks such as 10.0.0.0/8, separated by commas',
    ],
    ...['+admins', 'anna, /^a', '@names', '"anna"', 'anna,'].map((role): [object, string] => [
      access({ method: 'reject', role }),
      'pgwire.access[0].role: must be all, or names, separated by commas: groups (+), patterns (/), files (@), quotes, and words such as samerole mean something in pg_hba.conf alone',
    ]),
    ...['samerole', 'shop, sameuser', 'replication', '/shop'].map((database): [object, string] => [
      access({ method: 'reject', database }),
      'pgwire.access[0].database: must be all, or names, separated by commas: groups (+), patterns (/), files (@), quotes, and words such as samerole mean something in pg_hba.conf alone',
    ]),
    [access({}), 'pgwire.access[0].method: is missing; it must be one of scram, certificate, trust, reject'],
    [
      { ...minimal, pgwire: { port: 1, tls: { certificate: 'c' } } },
      'pgwire.tls.key: is missing; it must be a text that is not empty',
    ],
    [
      settings({ fsync: 'off' }),
      'postgres.settings.fsync: is set by Barista and cannot be given, and is "off"',
    ],
  ])('says which key is wrong, what it is and what it may be: %#', (document, expected) => {
    const message = errorOf(document);
    expect(message).toContain(`  ${expected}`);
    expect(message).not.toMatch(/Invalid|expected|received|Unrecognized|undefined/);
  });

  it('has words for what each key may be', () => {
    const wordless = (shape: JsonShape & { readonly pattern?: string }, path: string): string[] => {
      const { properties = {}, items, additionalProperties, propertyNames, oneOf = [] } = shape;
      const inner = [...Object.entries(properties), ...oneOf.map((kind) => ['?', kind] as const)];
      const others = [items, additionalProperties, propertyNames].filter((each) => typeof each === 'object');
      const below = [...inner, ...others.map((each) => ['*', each] as const)];
      const isWordless = shape.pattern !== undefined && shape.description === undefined;
      const own = isWordless || allowedWords(shape) === 'something else' ? [path] : [];
      return [...own, ...below.flatMap(([name, each]) => wordless(each, `${path}.${name}`))];
    };
    const shape = z.toJSONSchema(replicaConfigSchema, { io: 'input', unrepresentable: 'any' }) as JsonShape;
    expect(wordless(shape, '')).toEqual([]);
    expect(wordless({ properties: { a: { type: 'null' } } }, '')).toEqual(['', '.a']);
  });

  it('tells of all that is wrong at once, rules that span several keys included', () => {
    const document = {
      ...minimal,
      group: 7,
      http: {},
      logLevel: 'loud',
      colour: 'red',
      postgres: { settings: { fsync: 'off' } },
      timings: { leaseMs: 1500, retransmitMs: 0 },
      bounds: { entryBytesMax: 1 },
    };
    const keys = [...errorOf(document).matchAll(/^ {2}([^ :]+): /gm)].map(([, key = '']) => key);
    expect(keys.toSorted()).toEqual([
      'bounds.entryBytesMax',
      'colour',
      'group',
      'http.port',
      'logLevel',
      'postgres.settings.fsync',
      'timings.leaseMs',
      'timings.retransmitMs',
    ]);
  });

  it('judges no rule by a key that is wrong by itself', () => {
    const message = errorOf({ ...minimal, timings: { leaseMs: 'long', heartbeatMs: 900 } });
    expect(message.split('\n')).toHaveLength(2);
    expect(message).toContain(
      'timings.leaseMs: must be a whole number from 1 to 3600000, and is "long", a text',
    );
  });

  it.each([
    [{ ...minimal, clusterSecret: 'hunter2' }, 'and is a text of 7 characters (not shown)'],
    [{ ...minimal, clusterSecret: 987_654 }, 'and is a number (not shown)'],
    [{ ...minimal, bootstrap: { password: ['hunter2'] } }, 'and is a list of 1'],
    [settings({ primary_conninfo: 'password=hunter2' }), 'and is a text of 16 characters (not shown)'],
    [{ ...minimal, clusterSecrt: 'hunter2' }, 'did you mean clusterSecret?'],
  ])('tells no secret: %#', (document, expected) => {
    const message = errorOf(document);
    expect(message).toContain(expected);
    expect(message).not.toMatch(/hunter2|987/);
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

  it('tells of everything in which the YAML is malformed, and shows nothing of the file', () => {
    const file = write('torn.yaml', 'clusterSecret: "hunter2\\q"\ngroup: a\ngroup: b\n');
    expect(() => loadReplicaConfig(file)).toThrow(/not valid YAML: .*line 1.*; .*unique/);
    expect(() => loadReplicaConfig(file)).not.toThrow(/hunter2/);
    const bomb = `a: &a [1]\nb: &b [${'*a, '.repeat(9)}*a]\nc: [${'*b, '.repeat(9)}*b]\n`;
    expect(() => loadReplicaConfig(write('bomb.yaml', bomb))).toThrow(/bomb.yaml is not valid YAML: .*alias/);
  });

  it('says so when the file is not there', () => {
    expect(() => loadReplicaConfig(join(dir, 'absent.yaml'))).toThrow(/cannot read .*absent/);
  });
});
