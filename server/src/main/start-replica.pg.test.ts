/** One replica, a group of its own, with a real PostgreSQL: put together, served to the SQL console, stopped, started again. */
import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../adapters/testing/ports.ts';
import type { TraceEvent } from '../api/events.ts';
import { parseReplicaConfig, type ReplicaConfig } from '../config/replica-config.ts';
import { demoUser } from '../demo/layout.ts';
import type { LogWrite } from '../gateways/http/metrics.ts';
import type { SqlResult } from '../api/sql.ts';
import { runSql } from '../demo/sql-console.ts';
import type { ReplicaId } from '../multipaxos/types/names.ts';
import { foundReplica } from './found-replica.ts';
import type { ServedReplica } from './serve.ts';
import { startReplica } from './start-replica.ts';
import { eventually } from '../ports/testing/eventually.ts';

let dir = '';
let ports: number[] = [];
let replica: ServedReplica;
let events: TraceEvent[] = [];
let agreedMs: number[] = [];
let written: (LogWrite | null)[] = [];

function configOf(): ReplicaConfig {
  const [peer = 0, pgwire = 0, http = 0] = ports;
  return parseReplicaConfig(
    {
      group: 'main',
      id: 'r1',
      dataDir: dir,
      peers: [{ id: 'r1', host: '127.0.0.1', port: peer, pgwire: { host: '127.0.0.1', port: pgwire } }],
      peerListen: { port: peer },
      clusterSecret: 'a secret of the cluster',
      pgwire: { port: pgwire },
      http: { port: http },
      bootstrap: demoUser,
    },
    dir,
  );
}

async function start(config = configOf()): Promise<void> {
  events = [];
  agreedMs = [];
  written = [];
  replica = await startReplica(config, {
    logger: pino({ level: 'silent' }),
    latencies: { agreement: (ms) => agreedMs.push(ms), logWrite: (write) => written.push(write) },
    onEvent: (event) => events.push(event),
    onFatal: (error) => {
      throw error;
    },
  });
  await eventually(() => expect(replica.status().state).toBe('serving'));
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'barista-replica-'));
  ports = [await freePort(), await freePort(), await freePort()];
  const started = start();
  // Founded while it waits to be let in.
  await eventually(() => assert.equal(replica.status().state, 'joining'));
  await foundReplica(configOf());
  await started;
});
afterAll(async () => {
  await replica.stop();
  rmSync(dir, { recursive: true, force: true });
});

const sql = (text: string) => runSql(ports[1] ?? 0, text);
async function rowsOf(text: string): Promise<SqlResult['rows']> {
  const answer = await sql(text);
  if ('error' in answer) throw new Error(`${answer.error.code} ${answer.error.message}`);
  return answer.rows;
}

it('names of transactions can be given from the beginning, also in databases that are made later', async () => {
  const isThere = "SELECT to_regprocedure('pg_barista.request_committed(text)') IS NOT NULL";
  expect(await rowsOf(isThere)).toEqual([['t']]);
  await rowsOf('CREATE DATABASE later');
  const { socketDir: host, port } = replica.status().postgres;
  const own = new Client({ host, port, user: 'postgres', database: 'later' });
  await own.connect();
  const { rows } = await own.query<Record<string, boolean>>(`${isThere} AS there`);
  await own.end();
  expect(rows).toEqual([{ there: true }]);
  await rowsOf('DROP DATABASE later');
});

describe('the SQL console', () => {
  it('shows columns, rows as PostgreSQL writes them, and the command', async () => {
    expect(await sql('CREATE TABLE drinks (id int PRIMARY KEY, name text, at timestamptz)')).toMatchObject({
      columns: [],
      rows: [],
      command: 'CREATE TABLE',
      truncated: false,
    });
    expect(
      await sql("INSERT INTO drinks VALUES (1, 'flat white', NULL), (2, 'cortado', NULL)"),
    ).toMatchObject({
      command: 'INSERT 0 2',
    });
    expect(await sql('SELECT id, name, at, id = 1 AS first FROM drinks ORDER BY id')).toMatchObject({
      columns: ['id', 'name', 'at', 'first'],
      rows: [
        ['1', 'flat white', null, 't'],
        ['2', 'cortado', null, 'f'],
      ],
      command: 'SELECT 2',
    });
  });

  it('shows the last result of several statements', async () => {
    expect(await sql('SELECT 1 AS one; SELECT 2 AS two, 3 AS three')).toMatchObject({
      columns: ['two', 'three'],
      rows: [['2', '3']],
    });
    expect(await sql("SELECT 1; UPDATE drinks SET name = 'mocha' WHERE id = 2")).toMatchObject({
      columns: [],
      rows: [],
      command: 'UPDATE 1',
    });
  });

  it('keeps no more than it may, and the statement still completes', async () => {
    const many = await sql(
      'CREATE TABLE many AS SELECT 1 AS n WHERE false; INSERT INTO many SELECT generate_series(1, 2500) RETURNING n',
    );
    expect(many).toMatchObject({ truncated: true, command: 'INSERT 0 2500' });
    expect((many as SqlResult).rows.length).toBe(2000);
    expect(await rowsOf('SELECT count(*) FROM many')).toEqual([['2500']]);
    const [[long = ''] = []] = (await rowsOf("SELECT repeat('x', 50000)")) as string[][];
    expect(long.length).toBeLessThan(10_010);
  });

  it('shows what COPY sends as text or CSV line by line, beside the results of other statements', async () => {
    const pairs = "SELECT * FROM (VALUES (1, 'caffè'), (2, NULL)) AS drink (id, name)";
    expect(await sql(`COPY (${pairs}) TO STDOUT`)).toMatchObject({
      columns: ['copied text'],
      rows: [['1\tcaffè'], ['2\t\\N']],
      command: 'COPY 2',
      truncated: false,
    });
    const csv = `COPY (SELECT 1 AS id, E'two\nlines' AS name) TO STDOUT (FORMAT csv, HEADER)`;
    expect(await sql(`SELECT 5 AS five; ${csv}; SELECT 6 AS six`)).toMatchObject({
      rows: [['6']],
      earlier: [
        { columns: ['five'], rows: [['5']] },
        { columns: ['copied text'], rows: [['id,name'], ['1,"two'], ['lines"']], command: 'COPY 1' },
      ],
    });
    expect(await sql('COPY (SELECT 1 WHERE false) TO STDOUT')).toMatchObject({
      columns: ['copied text'],
      rows: [],
      command: 'COPY 0',
      truncated: false,
    });
  });

  it('keeps of copied text no more than of other rows, and of the binary format its size alone', async () => {
    const many = await sql('COPY (SELECT generate_series(1, 2500)) TO STDOUT');
    expect(many).toMatchObject({ truncated: true, command: 'COPY 2500' });
    expect((many as SqlResult).rows.length).toBe(2000);
    const large = (await sql(
      "COPY (SELECT repeat('é', 9000) FROM generate_series(1, 500)) TO STDOUT",
    )) as SqlResult;
    expect(large.truncated).toBe(true);
    expect(large.rows.length).toBe(116);
    const long = (await sql("COPY (SELECT repeat('x', 50000)) TO STDOUT")) as SqlResult;
    expect(long.rows[0]?.[0]?.length).toBeLessThan(10_010);
    // Signature, flags and length of the extension, a row of one int4, trailer.
    expect(await sql('COPY (SELECT 7::int4) TO STDOUT (FORMAT binary)')).toMatchObject({
      columns: [],
      rows: [],
      command: 'COPY 1',
      truncated: false,
      binaryBytes: 19 + 2 + 4 + 4 + 2,
    });
  });

  it('refuses COPY from its user at once, with what to do, and goes on', async () => {
    const beganMs = performance.now();
    const refusal = {
      error: {
        code: '0A000',
        message: 'COPY FROM STDIN waits for data, and the console has none to send.',
        hint: expect.stringMatching(/INSERT.*psql.*copy/) as string,
      },
    };
    expect(await sql('COPY drinks FROM STDIN')).toEqual(refusal);
    expect(await sql('INSERT INTO many VALUES (0); COPY many FROM STDIN (FORMAT csv); SELECT 1')).toEqual(
      refusal,
    );
    expect(performance.now() - beganMs).toBeLessThan(5000);
    expect(await rowsOf('SELECT count(*) FROM many')).toEqual([['2500']]);
  });

  it('passes on errors with SQLSTATE, hint and position', async () => {
    expect(await sql('SELECT nam FROM drinks')).toEqual({
      error: {
        code: '42703',
        message: 'column "nam" does not exist',
        hint: expect.stringContaining('drinks.name') as string,
        position: 8,
      },
    });
  });
});

describe('a replica', () => {
  it('gives away every event from the first, and how long each range of its WAL took', async () => {
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
    expect(events[0]?.name).toBe('ReplicaStarted');
    const shipped = events.filter(({ name }) => name === 'Ship').length;
    expect(shipped).toBeGreaterThanOrEqual(4);
    expect(agreedMs.length).toBeGreaterThanOrEqual(shipped - 1);
    expect(Math.min(...agreedMs)).toBeGreaterThanOrEqual(0);
    expect(written).not.toContain(null);
    expect(written.length).toBeGreaterThanOrEqual(agreedMs.length / 10);
    const { elections, peers, choiceWaitMs } = replica.measures().replica;
    expect([elections.started, elections.won, peers, choiceWaitMs]).toEqual([1, 1, [], 0]);
  });

  it('finds its data again when it is started anew', async () => {
    await replica.stop();
    const config = configOf();
    const other = { ...config, id: 'r2' as ReplicaId };
    await expect(start(other)).rejects.toThrow(/is that of r1, and the configuration is that of r2/);
    await start();
    expect(await rowsOf('SELECT name FROM drinks ORDER BY id')).toEqual([['flat white'], ['mocha']]);
  });

  /** Whether an answer had to wait for a commit of its own. */
  async function waits(): Promise<boolean> {
    const barriers = (): number => events.filter(({ name }) => name === 'Barrier').length;
    const before = barriers();
    await rowsOf('SELECT 1');
    return barriers() > before;
  }

  it('has answers wait behind barriers only while it is not known whether all commits wait', async () => {
    await expect.poll(waits).toBe(false);
    await rowsOf("BEGIN; CREATE TABLE prepared (); PREPARE TRANSACTION 'p'");
    await replica.stop();
    await start();
    for (let n = 0; n < 10; n += 1) expect(await waits()).toBe(true);
    await rowsOf("COMMIT PREPARED 'p'");
    await expect.poll(waits).toBe(false);
  });
});
