/** What was not answered as by PostgreSQL while statements were what travelled: now it is, in the same bytes, at the leader's port and at a follower's. */
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as send from '../../pgwire/frontend-messages.ts';
import { ask, bind, describeStatement, type Exchange, message, play } from './testing/exchange.ts';
import { startFollower, startGateway, type TestGateway } from './testing/gateway.ts';
import { backends, q, run } from './testing/helpers.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, exactFrame, followWire, type Frame } from './testing/wire-client.ts';

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;
beforeAll(async () => {
  pg = await startTestPostgres();
  leader = await startGateway(pg);
  follower = await startFollower(pg, leader.connection.port);
});
afterAll(async () => {
  await follower.listener.close();
  await leader.listener.close();
  await pg.stop();
});

const { sync, flush, parse } = send;

const setUp = `CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'one'), (2, 'two');
  CREATE TABLE counted (n serial, b text);
  CREATE TABLE parts (a int, b text) PARTITION BY RANGE (a);
  CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (100);
  CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (a);
  CREATE TABLE parts_highest PARTITION OF parts_high FOR VALUES FROM (150) TO (200);
  CREATE INDEX parts_a ON parts (a);
  INSERT INTO parts SELECT n, 'x' FROM generate_series(99, 1, -1) n`;

/** Calls a function by its OID; all arguments are integers in binary, and so is the result. */
function call(oid: number, ...values: readonly number[]): Buffer {
  const body = Buffer.alloc(4 + 4 + 2 + 8 * values.length + 2);
  body.writeInt32BE(oid, 0);
  body.writeInt16BE(1, 4);
  body.writeInt16BE(1, 6);
  body.writeInt16BE(values.length, 8);
  values.forEach((value, index) => {
    body.writeInt32BE(4, 10 + 8 * index);
    body.writeInt32BE(value, 14 + 8 * index);
  });
  body.writeInt16BE(1, body.length - 2);
  return message('F', body);
}
const int4pl = 177;
const int4div = 154;
const loCreate = 715;
const loUnlink = 964;

const longName = 'a_savepoint_'.repeat(7);

const scripts: Readonly<Record<string, readonly Exchange[]>> = {
  'lastval() and currval()': [
    ask(q('SELECT lastval()')),
    ask(q('INSERT INTO counted DEFAULT VALUES')),
    ask(q("SELECT lastval(), currval('counted_n_seq')")),
    ask(run('INSERT INTO counted DEFAULT VALUES RETURNING n'), run('SELECT lastval()'), sync),
    ask(q('BEGIN; INSERT INTO counted DEFAULT VALUES; ROLLBACK; SELECT lastval()')),
    ask(q('DISCARD SEQUENCES')),
    ask(q('SELECT lastval()')),
  ],
  'whether a session only reads': [
    ask(q("SELECT current_setting('transaction_read_only'), pg_is_in_recovery()")),
    ask(run("SELECT current_setting('transaction_read_only')"), sync),
    ask(q("SELECT current_setting('transaction_read_only'); INSERT INTO t VALUES (3, 'x')")),
    ask(q('SET default_transaction_read_only = on')),
    ask(q("SELECT current_setting('transaction_read_only')")),
    ask(q("INSERT INTO t VALUES (4, 'x')")),
    ask(q("BEGIN READ WRITE; SELECT current_setting('transaction_read_only')")),
    ask(q("INSERT INTO t VALUES (5, 'x')")),
    ask(q('COMMIT')),
    ask(q('SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE')),
    ask(q('BEGIN; SET TRANSACTION READ ONLY')),
    ask(run("SELECT current_setting('transaction_read_only')"), sync),
    ask(q("INSERT INTO t VALUES (6, 'x')")),
    ask(q('ROLLBACK')),
  ],
  'statement_timeout between Parse and Describe': [
    ask(q("SET statement_timeout = '150ms'")),
    { send: [parse('s', 'SELECT 1'), flush], until: '1' },
    // While it reads nothing PostgreSQL says nothing, though the time is over.
    { ...ask(describeStatement('s'), sync), afterMs: 300 },
    ask(bind('', 's'), send.execute(''), sync),
    { send: [parse('', 'SELECT pg_sleep(10)'), flush], until: '1' },
    ask(bind('', ''), send.execute(''), sync),
    ask(q('SELECT pg_sleep(10)')),
    ask(q("RESET statement_timeout; INSERT INTO t VALUES (3, 'x')")),
  ],
  'functions called by message': [
    ask(call(int4pl, 40, 2)),
    ask(call(int4div, 1, 0)),
    ask(call(loCreate, 4712)),
    ask(q('BEGIN')),
    ask(call(loUnlink, 4712)),
    ask(q('ROLLBACK')),
    ask(call(loUnlink, 4712)),
    ask(call(loUnlink, 4712)),
    ask(q('BEGIN; SELECT 1/0')),
    ask(call(int4pl, 40, 2)),
    ask(q('ROLLBACK')),
    { send: [call(int4pl, 1, 2), q('SELECT 1'), call(int4pl, 3, 4)], count: 3 },
    ask(call(int4pl, 1)),
  ],
  'savepoints, however they are written': [
    ask(q('BEGIN')),
    ask(q('SAVEPOINT "a b"')),
    ask(q("INSERT INTO t VALUES (3, 'x')")),
    ask(q('ROLLBACK TO SAVEPOINT "A B"')),
    ask(q('ROLLBACK TO SAVEPOINT "a b"')),
    ask(q('/* SAVEPOINT no; */ savepoint U&"d\\0061t" -- RELEASE dat')),
    ask(q('ROLLBACK WORK TO SAVEPOINT dat')),
    ask(q('SAVEPOINT "COMMIT"; ROLLBACK TRANSACTION TO "COMMIT"; RELEASE SAVEPOINT "COMMIT"')),
    ask(q(`SAVEPOINT ${longName}`)),
    ask(q(`RELEASE ${longName}`)),
    ask(run('SAVEPOINT p'), run("INSERT INTO t VALUES (4, 'x')"), run('ROLLBACK TO p'), sync),
    ask(run('RELEASE p'), run('SELECT count(*) FROM t'), sync),
    ask(q('SAVEPOINT s; SAVEPOINT s; RELEASE s; ROLLBACK TO s; RELEASE s')),
    ask(q('RELEASE s')),
    ask(q('ROLLBACK TO s')),
    ask(q('COMMIT')),
    ask(q("BEGIN; SAVEPOINT s; INSERT INTO t VALUES (5, 'x'); SELECT 1/0")),
    ask(q('ROLLBACK TO s; COMMIT; SELECT count(*) FROM t')),
    ask(q("SAVEPOINT s; INSERT INTO t VALUES (6, 'x')")),
    ask(run('ROLLBACK TO SAVEPOINT s'), sync),
  ],
  'CLUSTER and REINDEX of partitioned tables': [
    ask(q('CLUSTER parts USING parts_a')),
    ask(run('CLUSTER parts USING parts_a'), sync),
    ask(q('CLUSTER parts')),
    ask(q('CLUSTER parts_low USING parts_low_a_idx')),
    ask(q('SELECT a FROM parts LIMIT 3')),
    ask(q('REINDEX TABLE parts')),
    ask(run('REINDEX INDEX parts_a'), sync),
    ask(q('REINDEX TABLE CONCURRENTLY parts')),
    ask(q('REINDEX SCHEMA odd')),
    ask(q('BEGIN')),
    ask(q('REINDEX TABLE parts')),
    ask(q('ROLLBACK; BEGIN')),
    ask(q('CLUSTER parts USING parts_a')),
    ask(q('ROLLBACK')),
    ask(q('SELECT 1; CLUSTER parts USING parts_a')),
  ],
  'prepared transactions': [
    ask(q("PREPARE TRANSACTION 'nothing'")),
    ask(q("BEGIN; INSERT INTO t VALUES (3, 'x'); PREPARE TRANSACTION 'first'")),
    ask(q('SELECT gid, owner, database FROM pg_prepared_xacts ORDER BY gid')),
    ask(q("BEGIN; INSERT INTO t VALUES (4, 'x'); PREPARE TRANSACTION 'first'")),
    ask(run('BEGIN'), run("INSERT INTO t VALUES (5, 'x')"), run("PREPARE TRANSACTION 'second'"), sync),
    ask(q("BEGIN; COMMIT PREPARED 'first'")),
    ask(q('ROLLBACK')),
    ask(run("COMMIT PREPARED 'first'"), sync),
    ask(q("ROLLBACK PREPARED 'second'")),
    ask(q("ROLLBACK PREPARED 'second'")),
    ask(q('BEGIN; CREATE TEMP TABLE own (n int)')),
    ask(q("PREPARE TRANSACTION 'third'")),
    ask(q('SELECT count(*) FROM t; SELECT count(*) FROM pg_prepared_xacts')),
  ],
  'a session that cancels itself': [
    ask(q('SELECT pg_cancel_backend(pg_backend_pid())')),
    ask(q('SELECT 1')),
    ask(run('SELECT pg_cancel_backend(pg_backend_pid())'), sync),
    ask(q("INSERT INTO t VALUES (3, 'x'); SELECT pg_cancel_backend(pg_backend_pid())")),
    ask(q('BEGIN')),
    ask(q('SELECT pg_cancel_backend(pg_backend_pid())')),
    ask(q('COMMIT')),
    ask(q('SELECT count(*) FROM t')),
  ],
  'a session that ends itself': [ask(q('SELECT pg_terminate_backend(pg_backend_pid())'))],
};

const directly = (): TestGateway['connection'] => ({
  ...leader.connection,
  host: pg.socketDir,
  port: pg.port,
});
const ports = (): readonly TestGateway['connection'][] => [leader.connection, follower.connection];

describe('as PostgreSQL itself answers', () => {
  it.each(Object.entries(scripts))('%s', async (_, script) => {
    const direct = await play(directly(), setUp, script);
    for (const port of ports()) expect(await play(port, setUp, script)).toEqual(direct);
  });
});

/** Frames, how many of each type, and a hash of them all. */
function summary(frames: readonly Frame[]): Readonly<Record<string, number | string>> {
  const counts: Record<string, number> = {};
  const hash = createHash('sha256');
  for (const frame of frames) {
    counts[frame.type] = (counts[frame.type] ?? 0) + 1;
    hash.update(exactFrame(frame));
  }
  return { ...counts, hash: hash.digest('hex') };
}

async function answered(config: TestGateway['connection'], ...messages: readonly Buffer[]) {
  const wire = await connectWire(config);
  try {
    wire.send(q('LISTEN many; CREATE TEMP TABLE own (n int)'));
    await wire.until('Z');
    wire.send(...messages);
    return summary(await wire.until('Z'));
  } finally {
    wire.close();
  }
}

describe('in great number', () => {
  const many = [...Array(100_000).keys()];

  it('100,000 NOTIFYs in one transaction all arrive, in their order', async () => {
    const text = `BEGIN; ${many.map((n) => `NOTIFY many, '${n}'`).join('; ')}; COMMIT`;
    const direct = await answered(directly(), q(text));
    expect(direct).toMatchObject({ A: 100_000, C: 100_002 });
    for (const port of ports()) expect(await answered(port, q(text))).toEqual(direct);
  });

  it('100,000 statements in one pipeline are all answered', async () => {
    const pipeline = Buffer.concat(many.map((n) => run('INSERT INTO own VALUES ($1)', String(n))));
    const direct = await answered(directly(), pipeline, sync);
    expect(direct).toMatchObject({ C: 100_000, Z: 1 });
    for (const port of ports()) expect(await answered(port, pipeline, sync)).toEqual(direct);
  });
});

describe('how a connection ends', () => {
  /** What is said to these bytes from the first one on. */
  async function heard(port: number | null, bytes: Buffer): Promise<string[]> {
    const socket = port === null ? connect(pg.socketPath) : connect(port, '127.0.0.1');
    const wire = followWire(socket);
    wire.send(bytes);
    return (await wire.untilClosed()).map(exactFrame);
  }

  it('Terminate as the first packet is answered with nothing', async () => {
    for (const port of [null, ...ports().map((each) => each.port)]) {
      expect(await heard(port, send.terminate)).toEqual([]);
    }
  });

  it.each(['in no transaction', 'in a transaction', 'behind statements that nobody has read'])(
    'Terminate %s is answered with nothing more',
    async (when) => {
      for (const config of [directly(), ...ports()]) {
        const wire = await connectWire(config);
        if (when === 'in a transaction') {
          wire.send(q('BEGIN; CREATE TABLE never (n int)'));
          await wire.until('Z');
        }
        const isBehind = when.startsWith('behind');
        if (isBehind) wire.send(q('SELECT generate_series(1, 3)'));
        wire.send(send.terminate);
        const types = (await wire.untilClosed()).map(({ type }) => type);
        expect(types).toEqual(isBehind ? ['T', 'D', 'D', 'D', 'C', 'Z'] : []);
      }
      await expect.poll(() => backends(pg)).toBe(0);
      expect((await pg.superuser.query("SELECT to_regclass('never') AS found")).rows).toEqual([
        { found: null },
      ]);
    },
  );
});
