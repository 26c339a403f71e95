/** A copy is made while statements are executed; later a transaction is open when PostgreSQL is killed. From the copy on the log makes the same of it as of one that was never killed, sequences included. */
import { copyFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { Operation } from '../../../payload/statements/operation.ts';
import { SerialExecutor } from '../../../payload/statements/serial-executor.ts';
import {
  answerBytesMax,
  openOf,
  queries,
  secret,
} from '../../../payload/statements/testing/statement-replica.ts';
import { type BarePostgres, makeBarePostgres } from '../../../wal/record/testing/bare-postgres.ts';
import { systemClock } from '../../system-clock.ts';
import { chooseLaunchUser } from '../launch-user.ts';
import { openStatementDatabase } from '../statements/own-database.ts';
import { readOneByOne, readSequences, setSequences } from './exact-sequences.ts';
import { KeptDirectory } from './kept-directory.ts';
import { parseLsn, type Timeline } from '../../../wal/lsn.ts';
import { connectPg } from '../pg-client.ts';
import { appendWal } from './copied-wal.ts';
import { createCopyMaker } from './make-copy.ts';

const cluster = 'c';
const configuration = ['postgresql.conf', 'pg_hba.conf', 'pg_ident.conf', 'postgresql.auto.conf'];
const made: BarePostgres[] = [];

afterEach(async () => {
  for (const postgres of made.splice(0)) await postgres.remove();
});

async function start(): Promise<BarePostgres> {
  const postgres = await makeBarePostgres({
    settings: { synchronous_commit: 'off', wal_writer_delay: '200ms', max_prepared_transactions: '0' },
  });
  made.push(postgres);
  await postgres.start();
  const operator = await postgres.connect();
  await operator.query('CREATE ROLE barista LOGIN');
  await operator.query('CREATE DATABASE barista OWNER barista');
  return postgres;
}

async function executorOf({ socketDir }: BarePostgres, isAfterCrash: boolean) {
  const database = await openStatementDatabase({
    socketDir,
    secret,
    messageBytesMax: answerBytesMax,
    isAfterCrash,
  });
  const executor = new SerialExecutor({
    database,
    timers: systemClock,
    answerBytesMax,
    sessionsMax: 10,
    listener: { finished: () => undefined, atRest: () => Promise.resolve() },
  });
  return { executor, started: await executor.start() };
}

async function execute(executor: SerialExecutor, log: readonly Operation[], upTo = log.length) {
  for (let slot = executor.pointer + 1; slot <= upTo; slot += 1)
    await executor.execute(slot as Slot, log[slot - 1]!);
}

async function contents(postgres: BarePostgres): Promise<unknown> {
  const client = await postgres.connect('barista');
  const { rows } = await client.query(
    `SELECT count(*), sum(n), md5(string_agg(n || ':' || v, ',' ORDER BY n)) FROM t`,
  );
  const next = await client.query("SELECT nextval('t_n_seq') n, nextval('of_its_own') o, nextval('down') d");
  return { rows, next: next.rows };
}

interface Log {
  readonly log: Operation[];
  /** Slots at which nothing is open: of the copy, and where it goes further. */
  readonly restAt: number;
  readonly restsAgainAt: number;
  readonly openAt: number;
}

function makeLog(): Log {
  const request = queries();
  const log: Operation[] = [openOf('a'), openOf('b')];
  const add = (name: string, ...texts: string[]) => log.push(...texts.map((text) => request(name, text)));
  add('a', 'CREATE TABLE t (n serial PRIMARY KEY, v bigint)', 'CREATE SEQUENCE of_its_own START 7');
  add('a', 'CREATE SEQUENCE down INCREMENT -3', "SELECT setval('of_its_own', 41)", "SELECT nextval('down')");
  for (let i = 0; i < 40; i += 1)
    add('a', 'INSERT INTO t (v) SELECT coalesce(sum(v), 0) % 97 + n FROM t GROUP BY n LIMIT 1');
  add('a', 'INSERT INTO t (v) SELECT i FROM generate_series(1, 50) i', "SET work_mem = '7MB'");
  const restAt = log.length;
  // More than a segment of the WAL.
  add('a', 'INSERT INTO t (v) SELECT i % 1000 FROM generate_series(1, 200000) i', "SELECT nextval('down')");
  const restsAgainAt = log.length;
  add('b', 'BEGIN', 'INSERT INTO t (v) SELECT sum(v) FROM t');
  add('a', 'INSERT INTO t (v) VALUES (3), (4)', "SELECT nextval('of_its_own')");
  const openAt = log.length;
  add('b', 'INSERT INTO t (v) SELECT count(*) FROM t', 'COMMIT');
  add('a', 'INSERT INTO t (v) SELECT sum(v) FROM t');
  return { log, restAt, restsAgainAt, openAt };
}

describe('a copy that a replica keeps', () => {
  it('is of one slot exactly, and the log goes on from there', async () => {
    const { log, restAt, restsAgainAt, openAt } = makeLog();
    const [whole, killed] = [await start(), await start()];
    const one = await executorOf(whole, false);
    await execute(one.executor, log);
    const other = await executorOf(killed, false);
    const directory = new KeptDirectory(dirname(killed.data));
    await directory.open(cluster);
    const options = { socketDir: killed.socketDir, cluster, bytesPerSecondMax: () => null };
    const maker = createCopyMaker({ ...options, directory });
    // Files are copied while statements are executed; numbers that are drawn behind the copy's checkpoint are those that the WAL has ahead.
    await execute(other.executor, log, 10);
    const [begun] = await Promise.all([
      maker.begin(new AbortController().signal),
      execute(other.executor, log, restAt - 12),
    ]);
    await execute(other.executor, log, restAt);
    expect(await other.executor.rest()).toBe(true);
    await begun.atRest(other.executor.pointer);
    // What comes behind is no part of it, though it is in the same segment of the WAL.
    await execute(other.executor, log, restsAgainAt);
    const operator = await killed.connect();
    await operator.query('CHECKPOINT');
    expect(maker.canGoFurther).toBe(false);
    expect(await begun.complete()).toMatchObject({ slot: restAt });
    const further = await maker.further();
    expect(await other.executor.rest()).toBe(true);
    await further!.atRest(other.executor.pointer);
    await execute(other.executor, log, openAt);
    await operator.query('CHECKPOINT');
    expect(await further!.complete()).toMatchObject({ slot: restsAgainAt });
    expect(await other.executor.rest()).toBe(false);
    // It would go further once more, and is stopped before that is told.
    const { timeline, end } = directory.note!.wal!;
    const { rows } = await operator.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn');
    const place = { to: directory.keptData, timeline: timeline as Timeline };
    await appendWal(killed.data, place, parseLsn(end), parseLsn(rows[0]!.lsn));
    const text = await readFile(join(killed.data, 'postmaster.pid'), 'utf8');
    process.kill(Number(text.split('\n')[0]), 'SIGKILL');
    await other.executor.stop().catch(() => undefined);
    await killed.stop('immediate');
    for (const name of configuration) await copyFile(join(killed.data, name), join(directory.keptData, name));
    const reopened = new KeptDirectory(dirname(killed.data));
    await reopened.open(cluster);
    expect(reopened.note?.slot).toBe(restsAgainAt);
    await reopened.install(await chooseLaunchUser());
    await killed.start();
    const note = await reopened.installed();
    await setSequences(killed.socketDir, note!.sequences);
    expect(await readSequences(killed.socketDir)).toEqual(note!.sequences);
    await reopened.settled();
    const last = await executorOf(killed, false);
    expect(last.started).toEqual({ code: 'exact', pointer: restsAgainAt });
    // It goes on where the copy ends, and so the copy goes further.
    const again = createCopyMaker({ ...options, directory: reopened });
    await again.resume();
    expect(again.canGoFurther).toBe(true);
    await execute(last.executor, log);
    expect(await last.executor.rest()).toBe(true);
    const once = await again.further();
    await once!.atRest(last.executor.pointer);
    expect(await once!.complete()).toMatchObject({ slot: log.length });
    again.lost();
    await last.executor.stop();
    await killed.stop('immediate');
    await reopened.install(await chooseLaunchUser());
    expect(await reopened.isHalfStarted()).toBe(false);
    await killed.start();
    // Until its sequences are set it is not gone on from, and begun with anew.
    expect(await reopened.isHalfStarted()).toBe(true);
    await setSequences(killed.socketDir, (await reopened.installed())!.sequences);
    const third = await executorOf(killed, false);
    expect(third.started).toEqual({ code: 'exact', pointer: log.length });
    await third.executor.stop();
    expect(await contents(killed)).toEqual(await contents(whole));
  });

  it('has the sequences of databases whose names are in any encoding', async () => {
    const postgres = await start();
    const operator = await postgres.connect();
    await operator.query("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    const latin = await postgres.connect('latin');
    await latin.query(
      'CREATE SEQUENCE "\u00e9"; SELECT nextval(\'"\u00e9"\'); SELECT setval(\'"\u00e9"\', 41, false)',
    );
    // Of the byte E9.
    await latin.query('CREATE DATABASE "\u00e9" TEMPLATE template0');
    await operator.query('CREATE DATABASE "\u00e9" TEMPLATE template0');
    const bytes = await operator.query<{ bytes: Buffer }>(
      "SELECT namesend(datname) AS bytes FROM pg_database WHERE namesend(datname) = '\\xe9'::bytea",
    );
    const inBytes = await connectPg({
      socketDir: postgres.socketDir,
      database: bytes.rows[0]!.bytes,
      silentMsMax: null,
    });
    await inBytes.query(
      "CREATE SEQUENCE public.other; SELECT nextval('public.other'), nextval('public.other')",
    );
    await inBytes.end();
    const inUtf8 = await postgres.connect('\u00e9');
    await inUtf8.query("CREATE SEQUENCE counted; SELECT nextval('counted')");
    const read = await readSequences(postgres.socketDir);
    expect(read).toMatchObject([
      { database: 'latin', value: '41', isCalled: false },
      { database: String.raw`\xe9`, value: '2', isCalled: true },
      { database: '\u00e9', value: '1', isCalled: true },
    ]);
    expect(await readOneByOne(latin)).toEqual([{ oid: read[0]!.oid, value: '41', isCalled: false }]);
    await setSequences(postgres.socketDir, read);
    expect(await readSequences(postgres.socketDir)).toEqual(read);
  });

  it('takes over what has not changed, and is none for another cluster', async () => {
    const postgres = await start();
    const directory = new KeptDirectory(dirname(postgres.data));
    await directory.open(cluster);
    const { socketDir } = postgres;
    const maker = createCopyMaker({ directory, socketDir, cluster, bytesPerSecondMax: () => null });
    const make = async (slot: number) => {
      const begun = await maker.begin(new AbortController().signal);
      await begun.atRest(slot as Slot);
      return begun.complete();
    };
    const first = await make(1);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await make(2);
    const third = await make(3);
    expect(first.bytesKept).toBe(0);
    expect(third.bytesKept).toBeGreaterThan(0.9 * first.bytesCopied);
    const others = new KeptDirectory(dirname(postgres.data));
    await others.open('another');
    expect(others.note).toBeNull();
    await others.open(cluster);
    expect(others.note?.slot).toBe(3);
  });
});
