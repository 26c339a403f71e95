/** Logs of transactions of a real PostgreSQL that are overwritten, and that recoveries, checkpoints and vacuums change. */
import { cp, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FileLook } from '../file-look.ts';
import type { PostgresInstance } from '../instance/postgres-instance.ts';
import { chooseLaunchUser } from '../launch-user.ts';
import { handOver } from '../owners.ts';
import { connectAlone, makeData, openTestInstance } from '../testing/test-instance.ts';

let root: string;
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-ends-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

interface Running {
  readonly directory: string;
  readonly instance: PostgresInstance;
  readonly client: Client;
  readonly look: FileLook;
}

const settings = { autovacuum: 'off', fsync: 'off', max_prepared_transactions: '1000' };
const whole = ['whole; whole', 'whole; whole'];

async function start(directory: string): Promise<Running> {
  const instance = await openTestInstance(directory, { settings });
  await instance.start({ kind: 'primary' });
  return { directory, instance, look: lookOf(directory, instance), client: await connectAlone(instance) };
}

function lookOf(directory: string, { dataDir, socketDir }: PostgresInstance): FileLook {
  return new FileLook({ directory, dataDir, socketDir });
}

async function startNew(): Promise<Running> {
  count += 1;
  const directory = join(root, `database-${count}`);
  await makeData(directory);
  const running = await start(directory);
  await running.client.query(`CREATE TABLE t (i int);
    CREATE PROCEDURE transactions(n int) LANGUAGE plpgsql AS $$
    BEGIN FOR i IN 1..n LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`);
  return running;
}

/** As after a crash. */
async function end({ client, instance, look }: Running): Promise<void> {
  await client.end();
  await instance.stop('immediate');
  await look.settled();
  await instance.close();
}

/** Twice what one look finds, as a replica looks. */
async function found(look: FileLook): Promise<string> {
  const findings = [await look.look(), await look.look()];
  return findings.map((finding) => ('reason' in finding ? finding.reason : finding.code)).join('; ');
}

/** What is remembered is on disk, too: that is not written at each look. */
async function saved({ look }: Running): Promise<void> {
  expect(await found(look)).toBe('whole; whole');
  await setTimeout(700);
  expect(await found(look)).toBe('whole; whole');
}

async function overwrite({ instance }: Running, file: string, page: number, byte: number): Promise<void> {
  const handle = await open(join(instance.dataDir, file), 'r+');
  await handle.write(Buffer.alloc(8192, byte), 0, 8192, page * 8192);
  await handle.close();
}

const lost = (file: string, page: number): string => {
  const reason = `page ${page} of the file ${file} is not what it was, and its transactions have ended`;
  return `${reason}; ${reason}`;
};

describe('a page of pg_xact that is overwritten', () => {
  it.each([
    ['zeros', 0],
    ['rollbacks', 0b10101010],
    ['letters', 0x78],
  ])('with %s is found while PostgreSQL runs', async (_with, byte) => {
    const running = await startNew();
    await running.client.query('CHECKPOINT');
    expect(await found(running.look)).toBe('whole; whole');
    await overwrite(running, 'pg_xact/0000', 0, byte);
    expect(await found(running.look)).toBe(lost('pg_xact/0000', 0));
    // What PostgreSQL writes back makes it good.
    await running.client.query('INSERT INTO t VALUES (1)');
    await running.client.query('CHECKPOINT');
    expect(await found(running.look)).toBe('whole; whole');
    await end(running);
  });

  it('while PostgreSQL does not run is found at its next start, where no recovery makes the page anew', async () => {
    const first = await startNew();
    await first.client.query('CHECKPOINT');
    await saved(first);
    await end(first);
    await overwrite(first, 'pg_xact/0000', 0, 0);
    const second = await start(first.directory);
    expect(await found(second.look)).toBe(lost('pg_xact/0000', 0));
    await end(second);
  });

  it('is found among those that have long been full, and a file that is cut is, too', async () => {
    const running = await startNew();
    const { client, look, instance } = running;
    await client.query('CALL transactions(35000)');
    for (let made = 0; made < 3; made += 1) {
      await client.query('SELECT pg_current_xact_id()');
      await client.query('CHECKPOINT');
      expect(await found(look)).toBe('whole; whole');
    }
    await saved(running);
    await end(running);
    await overwrite(running, 'pg_xact/0000', 0, 0b01010101);
    const second = await start(running.directory);
    expect(await found(second.look)).toBe(lost('pg_xact/0000', 0));
    await end(second);
    expect((await stat(join(instance.dataDir, 'pg_xact/0000'))).size).toBe(2 * 8192);
  });
});

it('logs that PostgreSQL itself changes are whole: crashes of a primary and of its standby beside work, rollbacks, and prepared transactions', async () => {
  let primary = await startNew();
  await primary.client.query('CHECKPOINT');
  await end(primary);
  const copy = join(root, 'standby');
  await cp(primary.directory, copy, { recursive: true });
  await rm(join(copy, 'data', 'postmaster.pid'), { force: true });
  await handOver(await chooseLaunchUser(), copy);
  let looks = 0;
  for (let round = 0; round < 3; round += 1) {
    primary = await start(primary.directory);
    const { client, look, instance } = primary;
    const standby = await openTestInstance(copy, { settings });
    const connectionInfo = `host=${instance.socketDir} port=${instance.port} user=postgres`;
    await standby.start({ kind: 'standby', connectionInfo });
    const atStandby = lookOf(copy, standby);
    // It lets in nobody before it is consistent.
    await expect.poll(async () => (await atStandby.look()).code).not.toBe('unknown');
    const other = await connectAlone(instance);
    for (const session of [client, other]) session.on('error', () => undefined);
    // Its end is on no disk before its WAL is.
    await other.query('SET synchronous_commit = off');
    const work = other.query('CALL transactions(1000000)').catch(() => undefined);
    const until = performance.now() + 800 + 200 * round;
    for (let i = 0; i < 2 || performance.now() < until; i += 1) {
      await client.query('BEGIN; INSERT INTO t VALUES (1); ROLLBACK');
      await client.query('BEGIN; INSERT INTO t VALUES (1); SAVEPOINT s; INSERT INTO t VALUES (2); COMMIT');
      await client.query(`BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION '${round}-${i}'`);
      if (i % 3 > 0) await client.query(`${i % 3 > 1 ? 'COMMIT' : 'ROLLBACK'} PREPARED '${round}-${i}'`);
      if (round % 2 === 0 && i % 40 === 0) await client.query('CHECKPOINT');
      expect([round, await found(look), await found(atStandby)]).toEqual([round, ...whole]);
      looks += 1;
    }
    // The newest is written.
    await setTimeout(500);
    expect([round, await found(look), await found(atStandby)]).toEqual([round, ...whole]);
    await Promise.all([instance.stop('immediate'), standby.stop('immediate')]);
    await work;
    await Promise.all([look.settled(), atStandby.settled()]);
    await Promise.all([instance.close(), standby.close()]);
  }
  expect(looks).toBeGreaterThan(5);
});
