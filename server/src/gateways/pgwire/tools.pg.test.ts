/** The tools that people use, where they are installed. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, startTestDatabase, type TestDatabase, type TestGateway } from './testing/gateway.ts';

let pg: TestDatabase;
let gateway: TestGateway;
beforeAll(async () => {
  pg = await startTestDatabase();
  gateway = await startGateway(pg);
});
afterAll(async () => {
  await gateway.listener.close();
  await pg.stop();
});

const run = promisify(execFile);
const missing = async (tool: string): Promise<boolean> => {
  try {
    await run(tool, ['--version']);
    return false;
  } catch {
    console.warn(`${tool} is not installed: what needs it is not tried`);
    return true;
  }
};

describe('tools', () => {
  const env = (): NodeJS.ProcessEnv => ({
    ...process.env,
    PGHOST: '127.0.0.1',
    PGPORT: String(gateway.connection.port),
    PGUSER: 'barista',
    PGPASSWORD: 'barista',
    PGDATABASE: 'barista',
    PSQLRC: '/dev/null',
  });

  it('psql', async () => {
    if (await missing('psql')) return;
    const sql = 'CREATE TABLE t (a int); INSERT INTO t VALUES (1); SELECT * FROM t;';
    const { stdout } = await run('psql', ['-At', '-c', sql, '-c', 'SELECT 2', '-c', '\\d t'], { env: env() });
    expect(stdout).toBe('CREATE TABLE\nINSERT 0 1\n1\n2\na|integer|||\n');
  });

  it.each(['simple', 'extended', 'prepared'])('pgbench, %s protocol', async (mode) => {
    if (await missing('pgbench')) return;
    await run('pgbench', ['-i', '-q'], { env: env() });
    gateway.agreement.chosen.length = 0;
    const { stdout } = await run('pgbench', ['-n', '-M', mode, '-c', '4', '-t', '25'], { env: env() });
    expect(stdout).toContain('transactions actually processed: 100/100');
    expect(gateway.agreement.chosen).toHaveLength(100);
    expect(gateway.agreement.failed).toEqual([]);
    const { rows } = await pg.superuser.query(
      'SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history) AS same',
    );
    expect(rows).toEqual([{ same: true }]);
  });
});
