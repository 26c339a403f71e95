/**
 * One machine of a group in memory: a replica put together by main/assemble-replica.ts, with its log, its links and a model of PostgreSQL, all in simulated time. It can lose what a machine can.
 *
 * Responsible for: the lives of the replica's process, of PostgreSQL and of the machine, and what survives each. What a replica does is the product's own code.
 */
import { pino } from 'pino';
import {
  createMemoryDisk,
  createMemoryLog,
  crashMemoryDisk,
  openMemoryLog,
} from '../../adapters/memory-log/memory-log.ts';
import type { TraceEvent } from '../../api/events.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import { assembleReplica, type AssembledReplica } from '../../main/assemble-replica.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import { memberName } from '../../multipaxos/configuration.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { ModelCopySource } from '../../payload/wal/testing/model-copy-source.ts';
import { receiveModelCopy } from '../../payload/wal/testing/model-copy-target.ts';
import { ModelDigests } from '../../payload/wal/testing/model-digest.ts';
import { ModelDirectory } from '../../payload/wal/testing/model-directory.ts';
import { ModelPostgres, type ModelPostgresOptions } from '../../payload/wal/testing/model-postgres.ts';
import { ModelServer } from '../../payload/wal/testing/model-server.ts';
import { CopyError } from '../../ports/copy.ts';
import { LogStoreError, type LogStore } from '../../ports/log-store.ts';
import type { Random } from '../../ports/testing/random.ts';
import { ProcessTime, type SimulatedTime } from '../../ports/testing/simulated-time.ts';
import type { Joined } from '../database/missing-database.ts';
import { RecoveryTracker } from '../database/recovery-progress.ts';
import { replaceDatabase } from '../database/replace-database.ts';
import { causeBeforeAdmission, causeOf, Joining } from '../members/joining.ts';
import type { Replica } from '../replica.ts';
import { ReplicaEvents } from '../status/events.ts';
import { addressOf, testGroup } from './configurations.ts';
import type { MemoryNetwork, MemoryTransport } from './memory-network.ts';
import { takesTime } from './slow-log.ts';

export const testCluster = 'c';

export interface MemberOptions {
  readonly config: ReplicaConfig;
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly network: MemoryNetwork;
  readonly postgres: Omit<ModelPostgresOptions, 'time' | 'random'>;
  readonly onFatal: (error: Error) => void;
  readonly onEvent: (event: TraceEvent) => void;
  /** Set to see what replicas say. */
  readonly logLevel?: string;
}

/** One life of the replica's process. */
export interface MemberProcess {
  readonly timers: ProcessTime;
  readonly server: ModelServer;
  readonly directory: ModelDirectory;
  readonly transport: MemoryTransport;
  assembled: AssembledReplica | null;
  joining: Joining | null;
}

export class MemoryMember {
  readonly id: ReplicaId;
  readonly postgres: ModelPostgres;
  process: MemberProcess | null = null;
  private disk = createMemoryDisk(testGroup);
  private readonly options: MemberOptions;
  /** The log says that it has this many bytes; null: as it is. */
  logBytesSaid: number | null = null;

  constructor(options: MemberOptions) {
    this.options = options;
    const { config, time, random, postgres } = options;
    this.id = config.id;
    this.postgres = new ModelPostgres({ ...postgres, time, random: random.fork() });
  }

  get replica(): Replica | null {
    return this.process?.assembled?.replica ?? null;
  }

  get isRunning(): boolean {
    return this.process !== null;
  }

  /** What its log holds, for judges. */
  get logDisk(): Readonly<typeof this.disk> {
    return this.disk;
  }

  async found(configuration: Configuration): Promise<void> {
    const identity = { cluster: testCluster, member: memberName(this.id, 1) };
    const newLog = { identity, configuration, base: 0 as Slot, promised: ballotNone };
    await (await createMemoryLog(this.disk, newLog)).close();
  }

  // -------------------------------------------------------------------------------------------------- its lives

  async start(): Promise<void> {
    if (this.process !== null) throw new Error(`${this.id} runs already`);
    const { time, random, network, config } = this.options;
    // As exact as the lease allows for.
    const { clockDriftMax } = config.timings;
    const timers = new ProcessTime(time, 1 + (random.next() - 0.5) * clockDriftMax);
    const process: MemberProcess = {
      timers,
      server: new ModelServer(this.postgres, timers),
      directory: new ModelDirectory(this.postgres.disk, timers, random),
      transport: network.transport(this.id, timers),
      assembled: null,
      joining: null,
    };
    this.process = process;
    const events = new ReplicaEvents(memberName(this.id, 0));
    events.subscribe(this.options.onEvent, 'all');
    try {
      const log = await openMemoryLog(this.disk);
      this.begin(process, log, null, events);
    } catch (error) {
      if (!(error instanceof LogStoreError) || error.code !== 'logMissing') throw error;
      void this.join(process, events);
    }
  }

  private async join(process: MemberProcess, events: ReplicaEvents): Promise<void> {
    const { config } = this.options;
    const { timers, transport } = process;
    const joining = new Joining({
      self: this.id,
      address: addressOf(this.id),
      peers: config.peers.map(({ id }) => id).filter((id) => id !== this.id),
      transport,
      timers,
      onMessage: () => undefined,
    });
    process.joining = joining;
    transport.onControl((from, message) => joining.onControl(from, message));
    const admission = await joining.run();
    if (admission === null || timers.dead) return;
    const { cluster, member, configuration, purgedTo } = admission;
    const cause = causeOf(admission, this.hasDatabase);
    const log = await createMemoryLog(this.disk, {
      identity: { cluster, member },
      configuration,
      base: 0 as Slot,
      promised: ballotNone,
    });
    process.joining = null;
    this.begin(process, log, { cause, purgedTo }, events);
  }

  private get hasDatabase(): boolean {
    return this.postgres.disk.control !== null;
  }

  private begin(process: MemberProcess, log: LogStore, joined: Joined | null, events: ReplicaEvents): void {
    const { config, random, onFatal, logLevel = 'silent' } = this.options;
    const { timers, server, directory, transport } = process;
    const logger = pino({ level: logLevel, name: this.id, base: null });
    const tracker = new RecoveryTracker({
      nowMs: () => timers.nowMs(),
      logger,
      onEvent: (event) => events.operation(event),
    });
    if (joined !== null) tracker.begin(causeBeforeAdmission(this.hasDatabase), 'joining');
    transport.become(log.identity.member, log.identity.cluster);
    const { postgres } = this;
    const assembled = assembleReplica(
      config,
      {
        log: this.told(takesTime(log, timers, random)),
        transport,
        server,
        socketPath: '/nowhere/.s.PGSQL.5432',
        directory,
        digests: new ModelDigests(postgres, timers),
        timers,
        random: () => random.next(),
        prepare: () => this.prepare(server),
        installRequests: () => Promise.resolve(),
        lookAtCommits: () => () => Promise.resolve({ code: 'clean' }),
        openArchive: null,
        replace: (loss, sources, logReaches, ended) =>
          replaceDatabase(
            {
              fetcher: transport,
              sources,
              tracker,
              logger,
              timers,
              directory,
              onEvent: (event) => events.apply(event),
              receive: (channel, from, onProgress, signal) => {
                const isOfUse = ({ slot }: { readonly slot: Slot }): boolean => logReaches(slot);
                return receiveModelCopy({
                  channel,
                  from,
                  onProgress,
                  signal,
                  isOfUse,
                  disk: postgres.disk,
                  directory,
                });
              },
            },
            loss,
            ended,
          ),
      },
      {
        events,
        tracker,
        logger,
        joined,
        onAgreed: () => undefined,
        onFatal: (error) => {
          if (!timers.dead) onFatal(error);
        },
      },
    );
    const { replica, payload } = assembled;
    transport.offerCopies(
      new ModelCopySource({
        postgres,
        timers,
        random,
        position: () => {
          const why = replica.whyNoCopy();
          if (why !== null) throw new CopyError('sourceUnavailable', why);
          return payload.durableState();
        },
        awaitChosen: (lsn, signal) => payload.awaitChosen(lsn, signal),
      }),
    );
    process.assembled = assembled;
    replica.start();
  }

  private told(log: LogStore): LogStore {
    return { ...log, stats: () => ({ ...log.stats(), bytes: this.logBytesSaid ?? log.stats().bytes }) };
  }

  /** Of a group that is being founded: a row that is in no log. */
  private async prepare(server: ModelServer): Promise<void> {
    const client = await server.connect();
    await client.ask({ kind: 'mode', mode: 'local' });
    await client.ask({ kind: 'append', key: 'founded', value: this.id });
    await client.ask({ kind: 'commit' });
    client.close();
  }

  /** kill -9 of the replica's process. Its PostgreSQL is stopped a little later, by what watches over both. */
  crash(): void {
    const { process } = this;
    if (process === null) return;
    this.process = null;
    process.timers.die();
    this.options.network.died(this.id);
    this.disk = crashMemoryDisk(this.disk);
    this.postgres.orphaned();
  }

  /** The power fails. */
  crashMachine(): void {
    this.crash();
    this.postgres.die(null);
    this.postgres.disk.crash(this.options.random);
  }

  /** What is lost of a replica that does not run. */
  lose(what: 'log' | 'database' | 'both'): void {
    if (what !== 'database') this.disk = createMemoryDisk(testGroup);
    if (what === 'log') return;
    this.postgres.die(null);
    this.postgres.disk.wipe();
  }

  /** In order. Resolves when it has ended. */
  async stop(): Promise<void> {
    const { process } = this;
    if (process === null) return;
    process.joining?.stop();
    if (process.assembled === null) await process.transport.close();
    else await process.assembled.replica.stop();
    if (this.process !== process) return;
    this.process = null;
    process.timers.die();
  }
}
