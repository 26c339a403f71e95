/** The tools that people use, where they are installed. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
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

async function skipWithout(tool: string, context: TestContext): Promise<void> {
  const isHere = await run(tool, ['--version']).then(
    () => true,
    () => false,
  );
  context.skip(!isHere, `${tool} is not installed`);
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

  it('psql', async (context) => {
    await skipWithout('psql', context);
    const sql = 'CREATE TABLE t (a int); INSERT INTO t VALUES (1); SELECT * FROM t;';
    const { stdout } = await run('psql', ['-At', '-c', sql, '-c', 'SELECT 2', '-c', '\\d t'], { env: env() });
    expect(stdout).toBe('CREATE TABLE\nINSERT 0 1\n1\n2\na|integer|||\n');
  });

  it('psql shows nothing of named transactions, though they are in use', async (context) => {
    await skipWithout('psql', context);
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

  it.for(['simple', 'extended', 'prepared'])('pgbench, %s protocol', async (mode, context) => {
    await skipWithout('pgbench', context);
    await run('pgbench', ['-i', '-q'], { env: env() });
    const { stdout } = await run('pgbench', ['-n', '-M', mode, '-c', '4', '-t', '100'], { env: env() });
    expect(stdout).toContain('transactions actually processed: 400/400');
    const { rows } = await pg.superuser.query(
      'SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history) AS same',
    );
    expect(rows).toEqual([{ same: true }]);
  });
});
