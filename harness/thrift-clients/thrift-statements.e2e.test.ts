/** Handles where statements travel: valid at every replica, whoever has given them out, and a transaction that goes on when the leader is killed between two of its statements. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  DbFailure,
  type Fields,
  TestClient,
} from '../../server/src/gateways/thrift/testing/thrift-client.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { LossyPlaces } from './lossy-places.ts';
import { runSample, startSample } from './run-sample.ts';
import { sampleClients } from './sample-client.ts';
import { BuiltSamples, impatient, isSkipped, reviveAll, sampleCluster } from './sample-clusters.ts';
import { ReplicaClients } from '../e2e/replica-clients.ts';

let cluster: LocalCluster;
let sql: ReplicaClients;
const clients: TestClient[] = [];
const samples = new BuiltSamples();

beforeAll(async () => {
  cluster = await startCluster({ thrift: true, args: ['--payload=statements', '--no-dashboard'] });
  sql = new ReplicaClients(cluster);
});
afterAll(async () => {
  for (const client of clients) client.close();
  await sql?.end();
  await cluster?.stop();
  await samples.remove();
});

async function connect(replica: number): Promise<TestClient> {
  const client = await TestClient.connect({ port: cluster.thriftPorts[replica]! });
  clients.push(client);
  return client;
}

/** client_id, seq_id, user, password, database */
const params = (): Fields => ({ 1: randomUUID(), 2: '1', 3: 'barista', 4: 'barista', 5: 'barista' });
const named = (con: Fields, seqId: string): Fields => ({ ...con, 2: seqId });

async function stateOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof DbFailure) return error.sqlState;
  throw new Error(`it did not fail in SQL: ${String(error)}`);
}

it('a handle is valid at every replica, for its user alone', async () => {
  const [one, two, three] = [await connect(0), await connect(1), await connect(2)];
  const con = await one.open(params());
  await two.sql(con, "CREATE TYPE mood AS ENUM ('sad', 'happy')");
  await three.sql(con, 'CREATE TABLE noted (n int, m mood DEFAULT $$sad$$, at timestamptz DEFAULT now())');
  expect((await one.sql(con, "INSERT INTO noted VALUES (1) RETURNING m, 'x'")).types).toEqual([
    'mood',
    'text',
  ]);
  await two.sql(con, "SET client_encoding = 'LATIN1'");
  const latin = Buffer.from("SELECT length('caf\u00e9'), now() IS NOT NULL", 'latin1');
  expect((await three.sql(con, latin)).rows).toEqual([['4', 't']]);
  await three.sql(con, "SET client_encoding = 'UTF8'");
  expect((await one.sql(con, "SELECT length('caf\u00e9')")).rows).toEqual([['4']]);
  expect(await stateOf(two.sql({ ...con, 3: 'postgres' }, 'SELECT 1'))).toBe('08003');
  await three.call('close_connection', { 1: con });
  for (const client of [one, two, three]) expect(await stateOf(client.sql(con, 'SELECT 1'))).toBe('08003');
  await sql.equalEverywhere('SELECT n, m::text, at FROM noted');
});

it('a request that has a name is executed once, at whichever replicas it is asked for', async () => {
  const [one, two, three] = [await connect(0), await connect(1), await connect(2)];
  const con = await one.open(params());
  await one.sql(con, 'CREATE TABLE once (n serial, word text)');
  const insert = "INSERT INTO once (word) VALUES ('a') RETURNING n";
  const asked = [one, two, three, await connect(1)].map((client) => client.sql(named(con, '7'), insert));
  for (const { rows } of await Promise.all(asked)) expect(rows).toEqual([['1']]);
  expect(await stateOf(two.sql(named(con, '7'), 'SELECT 1'))).toBe('22023');
  await two.call('begin_txn', { 1: named(con, '8') });
  await three.call('begin_txn', { 1: named(con, '8') });
  expect(await stateOf(one.call('begin_txn', { 1: named(con, '9') }))).toBe('25001');
  await three.sql(named(con, '10'), insert, [], 'execute_sql_txn');
  await one.sql(named(con, '10'), insert, [], 'execute_sql_txn');
  await two.call('commit_txn', { 1: named(con, '11') });
  await one.call('commit_txn', { 1: named(con, '11') });
  expect(await stateOf(three.call('commit_txn', { 1: named(con, '12') }))).toBe('25P01');
  expect(await stateOf(three.sql(con, insert, [], 'execute_sql_txn'))).toBe('25P01');
  expect((await three.sql(con, 'SELECT count(*) FROM once')).rows).toEqual([['2']]);
});

it('a transaction goes on when the leader, where it was opened, is killed between two of its statements', async () => {
  const leader = await cluster.leader();
  const at = cluster.pgwirePorts.indexOf(leader.pgwire.port);
  const first = await connect(at);
  const con = await first.open(params());
  await first.sql(con, 'CREATE TABLE account (id int PRIMARY KEY, balance int)');
  await first.sql(con, 'INSERT INTO account VALUES (1, 100), (2, 100)');
  await first.call('begin_txn', { 1: named(con, '2') });
  const take = 'UPDATE account SET balance = balance - 10 WHERE id = 1 RETURNING balance';
  expect((await first.sql(named(con, '3'), take, [], 'execute_sql_txn')).rows).toEqual([['90']]);
  await cluster.fault({ action: 'crash', replica: leader.id });

  const next = await connect((at + 1) % 3);
  // As if its answer had been lost.
  const again = (): Promise<unknown> => next.sql(named(con, '3'), take, [], 'execute_sql_txn');
  let told: unknown = await again().catch((error: unknown) => error);
  for (let tries = 0; told instanceof DbFailure && tries < 50; tries += 1) {
    expect(['57P03', '08007']).toContain(told.sqlState);
    await new Promise((resolve) => setTimeout(resolve, 200));
    told = await again().catch((error: unknown) => error);
  }
  expect(told).toMatchObject({ rows: [['90']] });
  const give = 'UPDATE account SET balance = balance + 10 WHERE id = 2';
  const last = await connect((at + 2) % 3);
  await last.sql(named(con, '4'), give, [], 'execute_sql_txn');
  await next.call('commit_txn', { 1: named(con, '5') });
  await last.call('commit_txn', { 1: named(con, '5') });
  await cluster.fault({ action: 'restart', replica: leader.id });
  await cluster.settled(120_000);
  expect(await sql.equalEverywhere('SELECT id, balance FROM account ORDER BY id')).toEqual([
    { id: 1, balance: 90 },
    { id: 2, balance: 110 },
  ]);
  const back = await connect(at);
  expect((await back.sql(con, 'SELECT sum(balance) FROM account')).rows).toEqual([['200']]);
});

it('a request that has a name hears that names are gone where its session is', async () => {
  const [one, two] = [await connect(0), await connect(1)];
  const con = await one.open(params());
  await one.sql(named(con, '2'), 'SELECT 1');
  await two.call('close_connection', { 1: con });
  for (const client of [one, two]) {
    expect(await stateOf(client.sql(named(con, '2'), 'SELECT 1'))).toBe('RQ002');
    expect(await stateOf(client.call('commit_txn', { 1: named(con, '3') }))).toBe('RQ002');
    expect(await stateOf(client.sql(con, 'SELECT 1'))).toBe('08003');
  }
});

describe.for([
  ['killed', 'crash', {}],
  ['frozen', 'pause', impatient],
] as const)(
  'a sample client goes on in the middle of its transaction when the leader that it is connected to is %s',
  ([word, action, patience]) => {
    it.for(sampleClients)('$name', async (client, { skip }) => {
      skip(isSkipped(client), client.how);
      const { signal } = new AbortController();
      const built = await samples.of(client, signal);
      const table = `sample_${client.name}_${word}`;
      const settings = { ...patience, BARISTA_TABLE: table };
      try {
        const report = await runSample(client, built, await sampleCluster(cluster, action), signal, settings);
        console.log(`${client.name}, ${word}: ${report.retries} retries, ${report.seconds.toFixed(1)} s`);
        expect(report.complaints.join('\n')).toBe('');
        expect(report.retries).toBeGreaterThan(0);
        expect(report.begun).toBe(40);
      } finally {
        await reviveAll(cluster);
      }
      await sql.equalEverywhere(`SELECT n, note FROM ${table} ORDER BY n`);
    });
  },
);

describe('a sample client does not repeat what may have been done in a session that is gone, and says so', () => {
  it.for(sampleClients)('$name', async (client, { skip }) => {
    skip(isSkipped(client), client.how);
    const { signal } = new AbortController();
    const built = await samples.of(client, signal);
    const table = `sample_${client.name}_unsure`;
    const lossy = await LossyPlaces.ahead(cluster.thriftPorts, `INSERT INTO ${table} VALUES`);
    try {
      const settings = { BARISTA_REPLICAS: lossy.places.join(','), BARISTA_TABLE: table };
      const { code, lines } = await startSample(client, built, settings, signal);
      expect(lines.join('\n')).toMatch(/it is not known whether the request took effect/);
      expect(code).not.toBe(0);
      expect(lossy.lost).toBe(1);
    } finally {
      lossy.close();
    }
    expect(await sql.equalEverywhere(`SELECT n, count(*)::int FROM ${table} GROUP BY n`)).toEqual([
      { n: 1, count: 1 },
    ]);
  });
});
