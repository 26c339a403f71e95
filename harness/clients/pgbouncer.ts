/** PgBouncer in front of one port of a cluster: the database `by_session` in its session mode, `by_transaction` in its transaction mode. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chooseLaunchUser, launchAs } from '../../server/src/adapters/postgres/launch-user.ts';
import { prepareDirectory } from '../../server/src/adapters/postgres/owners.ts';
import { freePorts } from '../../server/src/adapters/testing/ports.ts';

export interface RunningPgBouncer {
  readonly port: number;
  stop(): Promise<void>;
}

const startMsMax = 20_000;

/** @throws Error with what it said, if it does not listen in time */
export async function startPgBouncer(replicaPort: number): Promise<RunningPgBouncer> {
  const root = await mkdtemp(join(tmpdir(), 'barista-pgbouncer-'));
  const user = await chooseLaunchUser();
  await prepareDirectory(user, root);
  const port = await freePorts(1);
  const server = `host=127.0.0.1 port=${replicaPort} dbname=barista`;
  await writeFile(join(root, 'users.txt'), '"barista" "barista"\n', { mode: 0o644 });
  await writeFile(
    join(root, 'pgbouncer.ini'),
    `[databases]
by_session = ${server} pool_mode=session
by_transaction = ${server} pool_mode=transaction
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(root, 'users.txt')}
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
`,
    { mode: 0o644 },
  );
  const launch = launchAs(user, 'pgbouncer', [join(root, 'pgbouncer.ini')]);
  const child = spawn(launch.command, launch.args, { ...launch.ids, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
    await rm(root, { recursive: true, force: true });
  };
  const deadline = performance.now() + startMsMax;
  while (!(await listens(port))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await stop();
      throw new Error(`PgBouncer does not listen:\n${output}`);
    }
    await sleep(50);
  }
  return { port, stop };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
