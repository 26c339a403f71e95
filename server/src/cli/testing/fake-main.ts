/**
 * The `barista` command around replicas without PostgreSQL: each says that it serves, the first that it leads.
 *
 * For tests of the command line and the supervisor: real processes, signals, ports and files. `FAKE_REPLICA=fails` makes a replica end
 * while it starts. A real `sleep` stands in for its PostgreSQL, and like PostgreSQL it outlives a replica that is killed.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fakeReplica } from '../../gateways/http/testing/fake-replica.ts';
import { runCli } from '../run-cli.ts';
import type { StartReplica } from '../serve.ts';

const start: StartReplica = async (config, { logger, latencies }) => {
  if (process.env['FAKE_REPLICA'] === 'fails') throw new Error('the fake replica fails as it was told');
  const database = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  database.unref();
  mkdirSync(config.dataDir, { recursive: true });
  writeFileSync(join(config.dataDir, 'postgres.pid'), String(database.pid));
  const replica = fakeReplica(config.id, config.http.port, config.pgwire.port);
  const leader = config.peers[0]?.id ?? config.id;
  replica.change({
    role: config.id === leader ? 'leader' : 'follower',
    leader,
    postgres: { pid: database.pid ?? null, socketDir: config.dataDir, port: 5432, up: true, version: '18.4' },
  });
  const timer = setInterval(() => {
    const { counters } = replica.status();
    replica.change({ counters: { ...counters, transactions: counters.transactions + 10 } });
    latencies.transaction(5);
  }, 100);
  logger.info('fake replica');
  return {
    ...replica,
    async stop() {
      clearInterval(timer);
      database.kill('SIGKILL');
    },
  };
};

process.exit(await runCli(process.argv, start));
