/**
 * `barista init` and `barista restore`: a group's beginning on one replica, from nothing, from a backup, or from a database whose log is lost.
 *
 * How a log is created is handed in (found-replica.ts); this says what was done, and what went wrong in words that help.
 */
import { LogStoreError } from '../../ports/log-store.ts';
import { loadReplicaConfig, type ReplicaConfig } from '../../config/replica-config.ts';
import { wordsOf } from '../../main/failure-words.ts';
import { CliError, exitCodes } from '../../main/errors.ts';
import type { Founding, Kept, RestoreFrom, RestoreProgress } from '../../main/found-replica.ts';
import type { ProgressLine } from './progress-line.ts';

type Say = (line: string) => void;

const clocksDifferMs = 5 * 60_000;

/** @throws ConfigError, CliError */
export async function runInit(
  configFile: string,
  ofCluster: string | null,
  { found }: Founding,
  say: Say,
): Promise<void> {
  const config = loadReplicaConfig(configFile);
  const { cluster } = await orExplain(() => found(config, ofCluster));
  say(`Group ${config.group} is founded on ${config.id} (cluster ${cluster}).`);
  say(config.protocol === 'multi-paxos' ? nextSteps(config, configFile) : fixedSteps(config, cluster));
}

/**
 * Unless `sure`, only says what there is: of several replicas that have lost their logs it must be the one whose data goes furthest.
 * @throws ConfigError, CliError
 */
export async function runInitOnDatabase(
  configFile: string,
  sure: boolean,
  { databaseToKeep, keepDatabase }: Founding,
  say: Say,
): Promise<void> {
  const config = loadReplicaConfig(configFile);
  if (sure) {
    const { cluster, ...kept } = await orExplain(() => keepDatabase(config));
    say(`Group ${config.group} is founded on ${config.id} (cluster ${cluster}), with ${dataOf(kept)}.`);
    say(nextSteps(config, configFile));
    return;
  }
  say(`${config.id} has ${dataOf(await orExplain(() => databaseToKeep(config)))}. Nothing was changed.`);
  say(
    'Only if the logs of a majority of its group are lost for good: found a new group on the replica whose data goes furthest, with the same command and --yes. ' +
      'Acknowledged writes that this data lacks are lost, and the data of the other replicas is no longer used.',
  );
}

function dataOf({ dataOf: cluster, pointer }: Kept): string {
  return `the data of ${cluster === '' ? 'a cluster that it does not name' : `cluster ${cluster}`} as of slot ${pointer}`;
}

/** @throws ConfigError, CliError */
export async function runRestore(
  configFile: string,
  from: RestoreFrom,
  { restore }: Founding,
  say: Say,
  progress: ProgressLine,
): Promise<void> {
  const config = loadReplicaConfig(configFile);
  refuseFuture(from);
  const told: RestoreProgress = {
    onBackup: (file) => {
      progress.clear();
      if (file !== from.file) say(`${file} is taken.`);
    },
    onProgress: (bytes) => progress.update(bytes, null),
    onStep: (step) => {
      if (step !== 'replaying') return;
      progress.clear();
      say('The backup is unpacked; PostgreSQL replays WAL up to what was asked for ...');
    },
  };
  const restored = await orExplain(() => restore(config, from, told)).finally(() => progress.clear());
  const { file, cluster, pointer, backupOf, takenAt, lastCommit, subscriptions } = restored;
  const upTo =
    lastCommit === null ? '' : ` Its last transaction was committed at ${lastCommit.toISOString()}.`;
  say(
    `Group ${config.group} is founded on ${config.id} (cluster ${cluster}), with the data of ${file}: ` +
      `slot ${pointer} of cluster ${backupOf} or later, taken at ${takenAt}.${upTo}`,
  );
  if (subscriptions.length > 0) {
    say(
      `Subscriptions that were enabled are disabled: ${subscriptions.join(', ')}. Each would take changes that the old group is to have: ` +
        'ALTER SUBSCRIPTION ... ENABLE once that one is gone for good.',
    );
  }
  say(nextSteps(config, configFile));
}

/** Before hours are spent on it. Clocks of machines differ a little. */
function refuseFuture({ target }: RestoreFrom): void {
  if (target.kind !== 'time' || target.at.getTime() < Date.now() + clocksDifferMs) return;
  const now = `it is ${new Date().toISOString()} by the clock of this machine`;
  throw new CliError(
    `${target.at.toISOString()} has not come yet: ${now}. For all that there is leave --time out.`,
    exitCodes.usage,
  );
}

function fixedSteps({ id, peers }: ReplicaConfig, cluster: string): string {
  const others = peers.map((peer) => peer.id).filter((peer) => peer !== id);
  return (
    `Its members are fixed: run "barista init --cluster ${cluster}" with the configuration of each of ${others.join(', ')}, once, and start all. ` +
    'Never run it again for one that has lost its log.'
  );
}

function nextSteps({ id, peers }: ReplicaConfig, configFile: string): string {
  const others = peers.map((peer) => peer.id).filter((peer) => peer !== id);
  const start = `Start it with: barista serve --config ${configFile}`;
  return others.length === 0
    ? start
    : `${start}\nThen start ${others.join(', ')} the same way, with empty data directories: they join by themselves.`;
}

async function orExplain<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LogStoreError)) throw error;
    throw new CliError(`Nothing was founded: ${wordsOf(error).text}`, exitCodes.failed, { cause: error });
  }
}
