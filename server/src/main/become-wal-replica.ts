/**
 * Puts one replica together that has a log, where WAL is what travels, around the parts of assemble-replica.ts: its PostgreSQL, its archive, its copies and backups.
 *
 * What it begins is the replica's own `start`.
 */
import type { Logger } from 'pino';
import { openWalArchive } from '../adapters/postgres/archive/wal-archive.ts';
import { createDigestSource } from '../adapters/postgres/digest/digest-source.ts';
import { createLoginFinder } from '../adapters/postgres/find-login.ts';
import { HeldResourceWatch } from '../adapters/postgres/inspection/held-resources.ts';
import { lookAtCommits } from '../adapters/postgres/requests/look-at-commits.ts';
import { installRequestsIn } from '../adapters/postgres/requests/install-requests.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { ApplyTraceEvent } from '../api/events.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { Joined } from '../replica/database/missing-database.ts';
import { assembleReplica, type ReplicaAdapters } from './assemble-replica.ts';
import type { Frame, RunningReplica } from './frame.ts';
import { inspectedPostgres } from './inspected-postgres.ts';
import { measuredLog } from './measured-log.ts';
import { headerOf, replicaAdmin } from './replica-admin.ts';
import {
  offeredBackups,
  offeredCopies,
  openReplicaDatabase,
  prepareDatabase,
  replaceDatabase,
} from './replica-database.ts';
import { scheduleBackups } from './scheduled-backups.ts';
import { showReplica, type ShownReplica } from './show-replica.ts';

export async function becomeWalReplica(frame: Frame, store: LogStore, joined: Joined | null): Promise<void> {
  const { config, context, transport, events, tracker } = frame;
  const { logger, latencies, onFatal } = context;
  const log = measuredLog(
    store,
    (write) => latencies.logWrite(write),
    () => performance.now(),
  );
  const { cluster, member } = log.identity;
  transport.become(member, cluster);
  const database = await openReplicaDatabase(config, cluster, logger);
  const onEvent = (event: ApplyTraceEvent): void => events.apply(event);
  const replacing = { config, cluster, fetcher: transport, tracker, logger, onEvent };
  const assembled = assembleReplica(
    config,
    {
      ...database,
      log,
      transport,
      digests: createDigestSource(database.server.instance),
      timers: systemClock,
      random: Math.random,
      socketPath: database.server.instance.socketPath,
      findLogin: createLoginFinder(database.server.instance),
      prepare: () => prepareDatabase(config, database),
      lookAtCommits: () => lookAtCommits(database.server.instance),
      installRequests: (name) => installRequestsIn(database.server.instance, name),
      openArchive: archiveOf(config, cluster, logger),
      replace: (...loss) => replaceDatabase(database, replacing, ...loss),
    },
    {
      events,
      tracker,
      logger,
      joined,
      onFatal,
      onAgreed: (ms) => latencies.agreement(ms),
      onProposed: () => shown.nudge(),
    },
  );
  const shown: ShownReplica = showReplica(assembled, {
    database: inspectedPostgres(database.server.instance.socketDir, config.http.statements),
    log,
    events,
    timers: systemClock,
  });
  transport.offerCopies(offeredCopies(config, cluster, database, assembled));
  const backups = offeredBackups(config, database, assembled);
  const held = new HeldResourceWatch(database.server.instance, logger);
  const parts = { replica: assembled.replica, database, backups, identity: log.identity, held };
  const header = (): ReturnType<typeof headerOf> => headerOf(config, parts);
  const schedule = scheduleBackups({ config, cluster, assembled, source: backups, header, logger });
  const { replica } = assembled;
  const running: RunningReplica = {
    status: (clients) => ({
      ...replica.status(clients),
      backup: schedule?.report() ?? null,
      held: held.report,
    }),
    measures: () => replica.measures(),
    admin: replicaAdmin(config, parts),
    readSlot: (slot) => shown.readSlot(slot),
    beforeStop: async () => {
      const handedOver = await replica.handOverToStop();
      if (handedOver.code !== 'notLeader') logger.info({ outcome: handedOver }, 'before the replica stops');
    },
    stop: async () => {
      shown.stop();
      held.stop();
      await schedule?.stop();
      await replica.stop();
    },
  };
  frame.running = running;
  frame.joining = null;
  frame.door.lead(assembled.replica.service);
  assembled.replica.start();
  schedule?.start();
}

function archiveOf(
  { archive }: ReplicaConfig,
  cluster: string,
  logger: Logger,
): ReplicaAdapters['openArchive'] {
  if (archive === undefined) return null;
  const onProblem = (problem: string | null): void => {
    if (problem === null) logger.info('WAL is archived again');
    else logger.error({ problem, directory: archive.directory }, 'the archive of WAL is in trouble');
  };
  return (source) => openWalArchive({ ...archive, ...source, cluster, onProblem });
}
