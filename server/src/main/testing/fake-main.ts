/**
 * The `barista` command around replicas without PostgreSQL: each says that it serves, the first that it leads.
 *
 * For tests of the command line and the supervisor: real processes, signals, ports and files. `FAKE_REPLICA=fails` makes a replica end
 * while it starts. A real `sleep` stands in for its PostgreSQL, and like PostgreSQL it outlives a replica that is killed.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fakeReplica } from '../../gateways/http/testing/fake-replica.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import { CliError, exitCodes } from '../errors.ts';
import type { Founded, Founding } from '../found-replica.ts';
import { runCli } from '../../cli/run-cli.ts';
import type { StartReplica } from '../serve.ts';

const start: StartReplica = async (config, { logger, latencies }) => {
  if (process.env['FAKE_REPLICA'] === 'fails') throw new Error('the fake replica fails as it was told');
  const database = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  database.unref();
  mkdirSync(config.dataDir, { recursive: true });
  mkdirSync(join(config.dataDir, 'postgres', 'data'), { recursive: true });
  writeFileSync(join(config.dataDir, 'postgres', 'data', 'postmaster.pid'), `${database.pid}\n`);
  const replica = fakeReplica(config.id, config.http.port, config.pgwire.port);
  const leader = config.peers[0]?.id ?? config.id;
  // What is left of its log tells how often it was wiped.
  const lives = join(config.dataDir, '..', `${config.id}.lives`);
  const log = join(config.dataDir, 'log', 'cluster');
  if (!existsSync(log)) {
    appendFileSync(lives, '+');
    mkdirSync(join(config.dataDir, 'log'), { recursive: true });
    writeFileSync(log, 'joined');
  }
  const incarnation = existsSync(lives) ? readFileSync(lives).byteLength : 1;
  replica.change({
    incarnation,
    recovery: null,
    membership: {
      version: 1,
      members: config.peers.map(({ id, host, port, pgwire }) => ({
        replica: id,
        incarnation: id === config.id ? incarnation : 1,
        role: 'voter',
        address: { host, port, pgwire },
      })),
    },
    role: config.id === leader ? 'leader' : 'follower',
    leader,
    postgres: { pid: database.pid ?? null, socketDir: config.dataDir, port: 5432, up: true, version: '18.4' },
  });
  const timer = setInterval(() => {
    const { counters } = replica.status();
    replica.change({ counters: { ...counters, transactions: counters.transactions + 10 } });
    latencies.agreement(5);
    latencies.logWrite({ ms: 1, records: 2, bytes: 100 });
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

/** Its log is a file with the name of the cluster. */
function found({ dataDir }: ReplicaConfig): Promise<Founded> {
  const file = join(dataDir, 'log', 'cluster');
  if (existsSync(file)) throw new CliError(`${dataDir} has a log already`, exitCodes.refused);
  mkdirSync(join(dataDir, 'log'), { recursive: true });
  writeFileSync(file, 'fa4e');
  return Promise.resolve({ cluster: 'fa4e' });
}

const restore: Founding['restore'] = async (config, { file }, { onBackup, onStep, onProgress }) => {
  const { cluster } = await found(config);
  onBackup(file);
  onStep('unpacking');
  onProgress(readFileSync(file).byteLength);
  const takenAt = '2026-11-20T12:00:00Z';
  return {
    file,
    cluster,
    pointer: 7 as Slot,
    backupOf: 'c0ffee',
    takenAt,
    lastCommit: null,
    subscriptions: ['drinks in shop'],
  };
};

const databaseToKeep: Founding['databaseToKeep'] = () =>
  Promise.resolve({ dataOf: 'c0ffee', pointer: 7 as Slot });

const keepDatabase: Founding['keepDatabase'] = async (config) => ({
  ...(await found(config)),
  ...(await databaseToKeep(config)),
});

process.exit(await runCli(process.argv, { start, found, restore, databaseToKeep, keepDatabase }));
