/**
 * One machine of a group in memory: a replica put together by main/assemble-replica.ts, with the product's log of segments on a simulated disk, its links and a model of PostgreSQL, all in simulated time. It can lose what a machine can.
 *
 * Responsible for: the lives of the replica's process, of PostgreSQL and of the machine, and what survives each. What a replica does is the product's own code.
 */
import { pino } from 'pino';
import type { IdleTimer } from '../../adapters/segment-log/group-writer.ts';
import {
  createSegmentLogOn,
  openSegmentLogOn,
  type SegmentLogOptions,
} from '../../adapters/segment-log/segment-log.ts';
import { SimulatedDisk } from '../../adapters/segment-log/testing/simulated-disk.ts';
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
import { LogStoreError, type LogStore, type NewLog } from '../../ports/log-store.ts';
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
  log: LogStore | null;
}

/** So small that a short run fills many. */
const segmentBytes = 16 * 1024;

export class MemoryMember {
  readonly id: ReplicaId;
  readonly postgres: ModelPostgres;
  process: MemberProcess | null = null;
  readonly logDisk: SimulatedDisk;
  private readonly options: MemberOptions;
  /** The log says that it has this many bytes; null: as it is. */
  logBytesSaid: number | null = null;

  constructor(options: MemberOptions) {
    this.options = options;
    const { config, time, random, postgres } = options;
    this.id = config.id;
    this.postgres = new ModelPostgres({ ...postgres, time, random: random.fork() });
    this.logDisk = new SimulatedDisk({ random: random.fork() });
  }

  get replica(): Replica | null {
    return this.process?.assembled?.replica ?? null;
  }

  /** What its log may come to before it lets go of what others want. */
  get logBytesMax(): number {
    return this.options.config.bounds.logBytesMax;
  }

  get isRunning(): boolean {
    return this.process !== null;
  }

  async found(configuration: Configuration): Promise<void> {
    const identity = { cluster: testCluster, member: memberName(this.id, 1) };
    const newLog = { identity, configuration, base: 0 as Slot, promised: ballotNone };
    await (await this.openLog(new ProcessTime(this.options.time), { newLog })).close();
  }

  /** Makes a new one first, if that is given. Opening takes time only if `isSlow`; what is done with the log always does. */
  private async openLog(
    timers: ProcessTime,
    { newLog, isSlow = false }: { readonly newLog?: NewLog; readonly isSlow?: boolean },
  ): Promise<LogStore> {
    let takesTime = isSlow;
    const directory = this.logDisk.open(timers, () => takesTime);
    const options: SegmentLogOptions = {
      group: testGroup,
      segmentBytes,
      startIdleTimer: (ms, work) => idleTimer(timers, ms, work),
      logId: String(this.options.random.below(2 ** 30)),
    };
    const log = await (newLog === undefined
      ? openSegmentLogOn(directory, options)
      : createSegmentLogOn(directory, options, newLog));
    takesTime = true;
    return log;
  }

  // -------------------------------------------------------------------------------------------------- its lives

  /** `isSlow`: it is up some time after this resolves, when its log is open; else at once. */
  async start({ isSlow = false } = {}): Promise<void> {
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
      log: null,
    };
    this.process = process;
    const opening = this.enter(process, isSlow).catch((error: Error) => this.fail(process, error));
    if (!isSlow) await opening;
  }

  private async enter(process: MemberProcess, isSlow: boolean): Promise<void> {
    const events = new ReplicaEvents(memberName(this.id, 0));
    events.subscribe(this.options.onEvent, 'all');
    try {
      const log = await this.openLog(process.timers, { isSlow });
      this.begin(process, log, null, events);
    } catch (error) {
      if (!(error instanceof LogStoreError) || error.code !== 'logMissing') throw error;
      void this.join(process, events);
    }
  }

  /** What the product ends its process for. */
  private fail(process: MemberProcess, error: Error): void {
    if (process.timers.dead) return;
    this.options.onFatal(error);
    if (this.process === process) this.crash();
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
    const identity = { cluster, member };
    const newLog = { identity, configuration, base: 0 as Slot, promised: ballotNone };
    const log = await this.openLog(timers, { newLog, isSlow: true });
    process.joining = null;
    this.begin(process, log, { cause, purgedTo }, events);
  }

  private get hasDatabase(): boolean {
    return this.postgres.disk.control !== null;
  }

  private begin(process: MemberProcess, log: LogStore, joined: Joined | null, events: ReplicaEvents): void {
    const { config, random, logLevel = 'silent' } = this.options;
    process.log = log;
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
        log: this.told(log),
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
        // Not in the middle of what has come to it.
        onFatal: (error) => timers.soon(() => this.fail(process, error)),
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
    this.logDisk.crashProcess();
    this.postgres.orphaned();
  }

  /** kill -9; all that its log has is there, and sealed, when this resolves. */
  async crashSealed(): Promise<void> {
    this.crash();
    await (await this.openLog(new ProcessTime(this.options.time), {})).close();
  }

  /** The power fails. */
  crashMachine(): void {
    this.crash();
    this.logDisk.crashMachine();
    this.postgres.die(null);
    this.postgres.disk.crash(this.options.random);
  }

  /** What is lost of a replica that does not run. */
  lose(what: 'log' | 'database' | 'both'): void {
    if (what !== 'database') this.logDisk.wipe();
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

function idleTimer(timers: ProcessTime, ms: number, work: () => void): IdleTimer {
  let stop = timers.after(ms, work);
  return {
    refresh() {
      stop();
      stop = timers.after(ms, work);
    },
    stop: () => stop(),
  };
}
