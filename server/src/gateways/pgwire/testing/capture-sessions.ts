/** Records sessions of real clients with a real PostgreSQL behind a gateway: `npx tsx server/src/gateways/pgwire/testing/capture-sessions.ts`. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { capturedFile } from './captured-sessions.ts';
import { startGateway } from './gateway.ts';
import { startTestPostgres } from './postgres.ts';

const run = promisify(execFile);
const pg = await startTestPostgres();
const gateway = await startGateway(pg);
const recorded: Record<string, Record<'front' | 'back', string>> = {};

/** Has a client come to a port of its own, and keeps what passes on its last connection. */
async function record(name: string, client: (port: number) => Promise<unknown>): Promise<void> {
  let [front, back]: Buffer[][] = [[], []];
  const server = createServer((socket) => {
    [front, back] = [[], []];
    const [said, told] = [front, back];
    const upstream = connect(gateway.connection.port, '127.0.0.1');
    socket.on('data', (chunk: Buffer) => said.push(chunk)).pipe(upstream);
    upstream.on('data', (chunk: Buffer) => told.push(chunk)).pipe(socket);
    for (const each of [socket, upstream]) each.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await client((server.address() as AddressInfo).port);
  recorded[name] = {
    front: Buffer.concat(front!).toString('hex'),
    back: Buffer.concat(back!).toString('hex'),
  };
  server.close();
}

const env = (port: number) => ({
  ...process.env,
  PGHOST: '127.0.0.1',
  PGPORT: String(port),
  PGUSER: 'barista',
  PGPASSWORD: 'barista',
  PGDATABASE: pg.database,
  PGSSLMODE: 'disable',
  PGGSSENCMODE: 'disable',
});

async function psql(port: number, ...scripts: readonly string[]): Promise<void> {
  await run('psql', ['-X', '-q', ...scripts.flatMap((script) => ['-c', script])], { env: env(port) }).catch(
    () => {},
  );
}

await record('psql, many statements', (port) =>
  psql(
    port,
    "CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, E'it\\'s'); SELECT * FROM t -- all",
    'BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH 1 FROM c; SAVEPOINT s; SELECT 1/0; ROLLBACK',
    "BEGIN; UPDATE t SET b = $q$; COMMIT; $q$ || '/* no comment'; COMMIT AND CHAIN; ROLLBACK",
    "DO $$ BEGIN RAISE NOTICE 'hear'; END $$; LISTEN x; NOTIFY x, 'self'; SET application_name = 'é'; RESET ALL",
    "SET barista.request_id = 'one'; VACUUM t; PREPARE p AS SELECT 1; EXECUTE p; DEALLOCATE p",
  ),
);
await record('psql, COPY', (port) =>
  psql(
    port,
    'COPY t TO STDOUT',
    '\\copy t FROM PROGRAM \'printf "3\\tthree\\n4\\tfour\\n"\'',
    "\\copy t FROM PROGRAM 'echo no number'",
    'TABLE t',
  ),
);
await record('node-postgres', async (port) => {
  const client = new Client({ ...gateway.connection, port });
  await client.connect();
  await client.query('SELECT $1::int AS n, $2::text AS word', [7, 'word']);
  await client.query({ name: 'own', text: 'INSERT INTO t VALUES ($1, $2) RETURNING a', values: [5, null] });
  await client.query({
    name: 'own',
    text: 'INSERT INTO t VALUES ($1, $2) RETURNING a',
    values: [6, 'y'.repeat(300)],
  });
  await client.query('SELECT no_such_column FROM t WHERE a = $1', [1]).catch(() => {});
  await client.query("SELECT repeat('z', 20000)");
  await client.end();
});
for (const mode of ['simple', 'extended', 'prepared'])
  await record(`pgbench, ${mode}`, async (port) => {
    if (mode === 'simple')
      await run('pgbench', ['-i', '-q', '-s', '1'], { env: { ...env(gateway.connection.port) } });
    await run('pgbench', ['-n', '-t', '2', '-c', '1', '-M', mode], { env: env(port) });
  });

mkdirSync(dirname(capturedFile), { recursive: true });
writeFileSync(capturedFile, `${JSON.stringify(recorded, null, 2)}\n`);
await gateway.listener.close();
await pg.stop();
