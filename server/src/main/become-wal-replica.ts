/**
 * Puts one replica together that has a log, where WAL is what travels, around the parts of assemble-replica.ts: its PostgreSQL, its archive, its copies and backups.
 *
 * What it begins is the replica's own `start`.
 */
import type { Logger } from 'pino';
import { openWalArchive } from '../adapters/postgres/archive/wal-archive.ts';
import { createDigestSource } from '../adapters/postgres/digest/digest-source.ts';
import { createLeftLook } from '../adapters/postgres/left-processes.ts';
import { createLoginFinder } from '../adapters/postgres/find-login.ts';
import { HeldResourceWatch } from '../adapters/postgres/inspection/held-resources.ts';
import { PreparedAgeLimit } from '../adapters/postgres/inspection/old-prepared.ts';
import { lookAtCommits } from '../adapters/postgres/requests/look-at-commits.ts';
import { installRequestsIn } from '../adapters/postgres/requests/install-requests.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { ApplyTraceEvent } from '../api/events.ts';
import type { ReplicaStatus } from '../api/status.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { Joined } from '../replica/database/missing-database.ts';
import { assembleReplica, type AssembledReplica, type ReplicaAdapters } from './assemble-replica.ts';
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
  type ReplicaDatabase,
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
      lookAtLeft: createLeftLook(database.server.instance),
      prepare: () => prepareDatabase(config, database),
      lookAtCommits: () => lookAtCommits(database.server.instance),
      installRequests: (name) =>
        database.server
          .withRoom(() => installRequestsIn(database.server.instance, name))
          .catch((error: unknown) => {
            logger.warn({ err: error, database: name }, 'transactions cannot be named in this database now');
            throw error;
          }),
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
  const oldPrepared = ageLimitOf(frame, { assembled, database, held });
  const parts = { replica: assembled.replica, database, backups, identity: log.identity, held };
  const header = (): ReturnType<typeof headerOf> => headerOf(config, parts);
  const schedule = scheduleBackups({ config, cluster, assembled, source: backups, header, logger });
  const { replica } = assembled;
  const running: RunningReplica = {
    status: (clients) =>
      withAgeLimit(config, oldPrepared, {
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
      oldPrepared?.stop();
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

interface Watched {
  readonly assembled: AssembledReplica;
  readonly database: ReplicaDatabase;
  readonly held: HeldResourceWatch;
}

/** Null: prepared transactions may be as old as they like. */
function ageLimitOf(
  { config, context: { logger }, events }: Frame,
  { assembled, database, held }: Watched,
): PreparedAgeLimit | null {
  const minutes = config.bounds.preparedTransactionMinutesMax;
  if (minutes === undefined) return null;
  return new PreparedAgeLimit(database.server.instance, {
    ageMsMax: minutes * 60_000,
    withRoom: (work) => database.server.withRoom(work),
    leads: () => assembled.replica.service.service().kind === 'here',
    oldestMs: () => held.report?.prepared.oldest?.ageMs ?? null,
    onRolledBack: (what) => {
      logger.warn(what, 'a transaction was rolled back that was prepared too long ago');
      events.operation({ name: 'PreparedRolledBack', ...what });
    },
    onProblem: (problem) => {
      if (problem === null) logger.info('no prepared transaction is too old any more');
      else logger.warn({ problem }, 'a transaction that was prepared too long ago is not rolled back');
    },
  });
}

function withAgeLimit(
  { bounds: { preparedTransactionMinutesMax: minutes } }: ReplicaConfig,
  limit: PreparedAgeLimit | null,
  status: ReplicaStatus,
): ReplicaStatus {
  if (limit === null || minutes === undefined) return status;
  const { held, counters } = status;
  const { problem, rolledBack } = limit;
  return {
    ...status,
    counters: { ...counters, preparedRolledBack: rolledBack },
    held: held == null ? null : { ...held, prepared: { ...held.prepared, limit: { minutes, problem } } },
  };
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
