/** The tools that people use, where they are installed. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareRequests } from '../../adapters/postgres/requests/request-schema.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';

let pg: TestPostgres;
let gateway: TestGateway;
beforeAll(async () => {
  pg = await startTestPostgres();
  gateway = await startGateway(pg);
});
afterAll(async () => {
  await gateway.listener.close();
  await pg.stop();
});

const run = promisify(execFile);

async function missing(tool: string): Promise<boolean> {
  try {
    await run(tool, ['--version']);
    return false;
  } catch {
    console.warn(`${tool} is not installed: what needs it is not tried`);
    return true;
  }
}

describe('tools', () => {
  function env(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      PGHOST: '127.0.0.1',
      PGPORT: String(gateway.connection.port),
      PGUSER: 'barista',
      PGPASSWORD: 'barista',
      PGDATABASE: 'barista',
      PSQLRC: '/dev/null',
    };
  }

  it('psql', async () => {
    if (await missing('psql')) return;
    const sql = 'CREATE TABLE t (a int); INSERT INTO t VALUES (1); SELECT * FROM t;';
    const { stdout } = await run('psql', ['-At', '-c', sql, '-c', 'SELECT 2', '-c', '\\d t'], { env: env() });
    expect(stdout).toBe('CREATE TABLE\nINSERT 0 1\n1\n2\na|integer|||\n');
  });

  it('psql shows nothing of named transactions, though they are in use', async () => {
    if (await missing('psql')) return;
    const operator = await pg.connect();
    await prepareRequests(operator);
    const shown = await run('psql', ['-At', '-c', '\\dn', '-c', '\\d', '-c', '\\df', '-c', '\\dt'], {
      env: env(),
    });
    expect(shown.stdout).not.toContain('pg_barista');
    expect(shown.stdout).not.toContain('request');
    // pg_dump leaves out every schema whose name begins so.
    const { rows } = await pg.superuser.query(
      "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public')",
    );
    expect(rows).toEqual([]);
  });

  it.each(['simple', 'extended', 'prepared'])('pgbench, %s protocol', async (mode) => {
    if (await missing('pgbench')) return;
    await run('pgbench', ['-i', '-q'], { env: env() });
    const { stdout } = await run('pgbench', ['-n', '-M', mode, '-c', '4', '-t', '100'], { env: env() });
    expect(stdout).toContain('transactions actually processed: 400/400');
    const { rows } = await pg.superuser.query(
      'SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history) AS same',
    );
    expect(rows).toEqual([{ same: true }]);
  });
});
