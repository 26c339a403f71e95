/**
 * Software that nobody here wrote, against one cluster, at every port of it: PostgreSQL's own tools, PgBouncer, and programs of client-program.ts that need nothing but this repository's packages.
 *
 * The replicas run the PostgreSQL whose tools are installed, where there is one: pg_dump takes none that is newer than itself.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as send from '../../server/src/pgwire/frontend-messages.ts';
import { q, run } from '../../server/src/gateways/pgwire/testing/helpers.ts';
import { connectWire } from '../../server/src/gateways/pgwire/testing/wire-client.ts';
import { querySql } from '../bench/sql.ts';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { pgTool, psql } from '../cluster/pg-tools.ts';
import { changeLeader } from './change-leader.ts';
import { clientPrograms } from './client-program.ts';
import { installedPostgres } from '../../server/src/adapters/postgres/testing/installed-postgres.ts';
import { startPgBouncer } from './pgbouncer.ts';
import { runProgram } from './run-program.ts';

const account = { host: '127.0.0.1', user: 'barista', password: 'barista', database: 'barista' } as const;

let cluster: LocalCluster;
let pgBin: string | null;
beforeAll(async () => {
  pgBin = await installedPostgres();
  if (pgBin === null)
    console.warn('No PostgreSQL 15 or later is installed with its server: pg_dump is not tried');
  cluster = await startCluster({ args: pgBin === null ? [] : ['--pg-bin', pgBin] });
});
afterAll(async () => {
  await cluster?.stop();
});

/** The leader's, and a follower's. */
async function ports(): Promise<readonly [leader: number, follower: number]> {
  const leader = (await cluster.leader()).pgwire.port;
  const follower = cluster.pgwirePorts.find((port) => port !== leader);
  return [leader, follower ?? 0];
}

/** Idle sessions end with the leader that they are on; whoever is told so tries again. */
async function insistently<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

describe('programs that move money while the leader changes', () => {
  it.each(clientPrograms.filter(({ install }) => install.length === 0))('$name', async (program) => {
    const report = await runProgram(
      program,
      { ports: cluster.pgwirePorts, changeLeader: () => changeLeader(cluster) },
      new AbortController().signal,
    );
    console.log(`${program.name}: ${report.retries} retries, ${report.seconds.toFixed(1)} s`);
    // As one text, so that what is printed of a failure tells them.
    expect(report.complaints.join('\n')).toBe('');
  });
});

describe('pgbench', () => {
  it('runs each of its scripts in each of its modes, at both kinds of ports', async () => {
    const both = await ports();
    expect(await pgTool('pgbench', both[1], ['-i', '-q'])).toMatchObject({ code: 0 });
    for (const port of both) {
      for (const script of ['tpcb-like', 'simple-update', 'select-only']) {
        for (const mode of ['simple', 'extended', 'prepared']) {
          const args = ['-n', '-b', script, '-M', mode, '-c', '4', '-t', '25'];
          const { stdout, stderr, code } = await pgTool('pgbench', port, args);
          const seen = { script, mode, code, stderr: stderr.replace(/^pgbench \(.*\n/, '') };
          expect(seen).toEqual({ script, mode, code: 0, stderr: '' });
          expect(stdout).toContain('actually processed: 100/100');
        }
      }
    }
    const same =
      'SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history), (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers)';
    expect((await psql(both[1], same)).stdout).toBe('t|t\n');
  });
});

describe('pg_dump and pg_restore', () => {
  it('a dump that is taken at one port and restored at another holds the same', async () => {
    if (pgBin === null) return;
    const [leader, follower] = await ports();
    const directory = await mkdtemp(join(tmpdir(), 'barista-dump-'));
    try {
      await psql(
        leader,
        `CREATE SCHEMA kept; CREATE TYPE kept.mood AS ENUM ('sad', 'happy');
         CREATE TABLE kept.t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, m kept.mood, p point, b bytea);
         INSERT INTO kept.t (m, p, b) SELECT 'happy', point(n, n), decode(md5(n::text), 'hex') FROM generate_series(1, 500) n;
         CREATE VIEW kept.v AS SELECT count(*) FROM kept.t; SELECT lo_from_bytea(4713, 'large');
         CREATE FUNCTION kept.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
         CREATE TRIGGER g BEFORE INSERT ON kept.t FOR EACH ROW EXECUTE FUNCTION kept.f()`,
      );
      const file = join(directory, 'dump');
      const dumped = await pgTool('pg_dump', follower, ['-Fd', '-j', '2', '-f', file]);
      expect(dumped).toEqual({ code: 0, stdout: '', stderr: '' });
      await querySql({ ...account, port: leader }, 'CREATE DATABASE restored TEMPLATE template0');
      const restored = await pgTool('pg_restore', leader, [
        '-d',
        'restored',
        '-j',
        '2',
        '--exit-on-error',
        file,
      ]);
      expect(restored).toEqual({ code: 0, stdout: '', stderr: '' });
      const text = async (database: string, port: number): Promise<string> => {
        const { stdout } = await pgTool('pg_dump', port, [], { PGDATABASE: database });
        return stdout.replaceAll(/^(--.*|\\(un)?restrict .*)\n/gm, '');
      };
      const before = await text('barista', leader);
      expect(before).toContain('pgbench_accounts');
      expect(await text('restored', follower)).toBe(before);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe('what libpq asks of a server', () => {
  const attributes = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'];

  async function accepted(port: number, options: string): Promise<readonly string[]> {
    const answers = attributes.map(async (attribute) => {
      const place = `port=${port} target_session_attrs=${attribute} options='${options}'`;
      const { code } = await pgTool('psql', port, ['-X', '-d', place, '-c', 'SELECT 1']);
      return code === 0 ? attribute : null;
    });
    return (await Promise.all(answers)).filter((each) => each !== null);
  }

  it('every port is that of a primary, which may be written to', async () => {
    for (const port of await ports()) {
      expect(await accepted(port, '')).toEqual(['any', 'read-write', 'primary', 'prefer-standby']);
    }
  });

  it('a session that reads at its replica is on a standby at a follower, and on a primary that it only reads at the leader', async () => {
    const [leader, follower] = await ports();
    const options = '-c barista.read_consistency=snapshot';
    expect(await accepted(follower, options)).toEqual(['any', 'read-only', 'standby', 'prefer-standby']);
    expect(await accepted(leader, options)).toEqual(['any', 'read-only', 'primary', 'prefer-standby']);
  });

  it('a list of hosts is gone through until one serves', async () => {
    const [, follower] = await ports();
    const list = `host=127.0.0.1,127.0.0.1 port=1,${follower} target_session_attrs=read-write`;
    const { code, stdout } = await pgTool('psql', follower, [
      '-X',
      '-A',
      '-t',
      '-d',
      list,
      '-c',
      'SHOW in_hot_standby',
    ]);
    expect([code, stdout]).toEqual([0, 'off\n']);
  });
});

describe('LISTEN, and transactions that are prepared', () => {
  it('NOTIFY arrives from every port, in the order of the commits', async () => {
    const [leader, follower] = await ports();
    const listener = new pg.Client({ ...account, port: follower });
    const heard: string[] = [];
    listener.on('notification', ({ payload }) => heard.push(payload ?? ''));
    await listener.connect();
    await listener.query('LISTEN work');
    const sent = [...Array(30).keys()].map(String);
    for (const n of sent) await psql(Number(n) % 2 === 0 ? leader : follower, `NOTIFY work, '${n}'`);
    await expect.poll(() => heard).toEqual(sent);
    await listener.end();
  });

  it('what was prepared through one leader is committed through the next', async () => {
    const [, follower] = await ports();
    const target = { ...account, port: follower };
    await querySql(target, 'CREATE TABLE xa (n int)');
    await querySql(target, 'BEGIN', 'INSERT INTO xa VALUES (1)', "PREPARE TRANSACTION 'branch-1'");
    await querySql(target, 'BEGIN', 'INSERT INTO xa VALUES (2)', "PREPARE TRANSACTION 'branch-2'");
    await changeLeader(cluster);
    await insistently(() => querySql(target, "COMMIT PREPARED 'branch-1'"));
    await insistently(() => querySql(target, "ROLLBACK PREPARED 'branch-2'"));
    expect(await querySql(target, 'SELECT n FROM xa')).toEqual([{ n: 1 }]);
  });
});

describe('a pipeline of 100,000 statements beside other load', () => {
  it('is answered, and the leader stays', async () => {
    const [leader, follower] = await ports();
    const before = (await cluster.leader()).id;
    const load = pgTool('pgbench', leader, ['-n', '-c', '4', '-T', '8']);
    const wire = await connectWire({ ...account, port: follower });
    wire.send(q('CREATE TABLE piped (n int)'));
    await wire.until('Z');
    const numbers = [...Array(100_000).keys()];
    wire.send(...numbers.map((n) => run('INSERT INTO piped VALUES ($1)', String(n))), send.sync);
    const frames = await wire.until('Z');
    wire.close();
    expect(frames.filter(({ type }) => type === 'C')).toHaveLength(numbers.length);
    expect(await load).toMatchObject({ code: 0 });
    expect((await cluster.leader()).id).toBe(before);
  });
});

describe('PgBouncer in front of a follower', () => {
  it('keeps its clients through a change of the leader in transaction mode, and serves them again in session mode', async ({
    skip,
  }) => {
    skip(spawnSync('pgbouncer', ['--version']).error !== undefined, 'PgBouncer is not installed');
    const [, follower] = await ports();
    const bouncer = await startPgBouncer(follower);
    try {
      const open = async (database: string): Promise<pg.Client> => {
        const client = new pg.Client({ ...account, port: bouncer.port, database });
        client.on('error', () => undefined);
        await client.connect();
        return client;
      };
      const lasting = await open('by_transaction');
      await lasting.query('CREATE TABLE bounced (n int PRIMARY KEY)');
      await (await open('by_session')).query('INSERT INTO bounced VALUES (0)');
      await lasting.query('CREATE TABLE named (n int)');
      for (const statement of ['INSERT INTO named VALUES (1)', 'INSERT INTO named VALUES (1)']) {
        // The same transaction, sent twice.
        for (const each of ['BEGIN', "SET barista.request_id = 'bounced-1'", statement, 'COMMIT']) {
          await lasting.query(each);
        }
      }
      expect((await lasting.query('SELECT n FROM named')).rows).toEqual([{ n: 1 }]);
      await changeLeader(cluster);
      await insistently(() => lasting.query('INSERT INTO bounced VALUES (1) ON CONFLICT DO NOTHING'));
      const again = await insistently(() => open('by_session'));
      await insistently(() => again.query('INSERT INTO bounced VALUES (2) ON CONFLICT DO NOTHING'));
      expect((await lasting.query('SELECT n FROM bounced ORDER BY n')).rows).toEqual([
        { n: 0 },
        { n: 1 },
        { n: 2 },
      ]);
      await Promise.all([lasting.end(), again.end()]);
    } finally {
      await bouncer.stop();
    }
  });
});
