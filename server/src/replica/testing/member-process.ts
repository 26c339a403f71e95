/**
 * One life of a replica's process in memory: it opens its log, or joins its group without one, and is put together by main/assemble-replica.ts, with models for its adapters.
 *
 * Responsible for: what main/start-replica.ts is responsible for. When it begins and ends, and what it leaves behind, is its machine's (memory-member.ts).
 */
import { pino } from 'pino';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import { assembleReplica, type AssembledReplica } from '../../main/assemble-replica.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import { memberName } from '../../multipaxos/configuration.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import { openModelArchive, type ModelArchiveDisk } from '../../payload/wal/testing/model-archive.ts';
import { ModelCopySource } from '../../payload/wal/testing/model-copy-source.ts';
import { receiveModelCopy } from '../../payload/wal/testing/model-copy-target.ts';
import { ModelDigests } from '../../payload/wal/testing/model-digest.ts';
import { ModelDirectory } from '../../payload/wal/testing/model-directory.ts';
import type { ModelPostgres } from '../../payload/wal/testing/model-postgres.ts';
import { ModelServer } from '../../payload/wal/testing/model-server.ts';
import { CopyError } from '../../ports/copy.ts';
import { LogStoreError, type LogStore, type NewLog } from '../../ports/log-store.ts';
import type { Random } from '../../ports/testing/random.ts';
import { ProcessTime, type SimulatedTime } from '../../ports/testing/simulated-time.ts';
import type { Joined } from '../database/missing-database.ts';
import { RecoveryTracker } from '../database/recovery-progress.ts';
import { replaceDatabase } from '../database/replace-database.ts';
import { causeBeforeAdmission, causeOf, Joining } from '../members/joining.ts';
import { type EventStamp, ReplicaEvents } from '../status/events.ts';
import { addressOf } from './configurations.ts';
import type { MemoryNetwork, MemoryTransport } from './memory-network.ts';

/** What a process finds on its machine. */
export interface ProcessMachine {
  readonly config: ReplicaConfig;
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly network: MemoryNetwork;
  readonly postgres: ModelPostgres;
  /** Null: no WAL is archived. */
  readonly archive: { readonly disk: ModelArchiveDisk; readonly random: Random } | null;
  /** Makes a new log first, if that is given. @throws LogStoreError */
  openLog(
    timers: ProcessTime,
    options: { readonly newLog?: NewLog; readonly isSlow?: boolean },
  ): Promise<LogStore>;
  /** The log as the replica is told of it. */
  told(log: LogStore): LogStore;
  /** What the product ends its process for. */
  fail(process: MemberProcess, error: Error): void;
  readonly logLevel: string;
}

/** The clocks of any two processes began so far apart, at most. */
const clockSkewMsMax = 10_000;

export class MemberProcess {
  readonly timers: ProcessTime;
  readonly server: ModelServer;
  readonly directory: ModelDirectory;
  readonly transport: MemoryTransport;
  readonly events: ReplicaEvents;
  readonly tracker: RecoveryTracker;
  assembled: AssembledReplica | null = null;
  joining: Joining | null = null;
  log: LogStore | null = null;
  /** Whoever watches over this life may want to know: of each range of the leader's, how long its agreement took, and that it was proposed. */
  onAgreed: (ms: number) => void = () => undefined;
  onProposed: () => void = () => undefined;
  private readonly machine: ProcessMachine;
  private readonly logger;
  /** As long as one that is drawn. */
  private readonly nonce: string;

  constructor(machine: ProcessMachine, stamp: EventStamp) {
    this.machine = machine;
    const { config, time, random, network, postgres, logLevel } = machine;
    this.timers = new ProcessTime(time, this.clockRate(), random.next() * clockSkewMsMax);
    this.server = new ModelServer(postgres, this.timers);
    this.directory = new ModelDirectory(postgres.disk, this.timers, random);
    this.transport = network.transport(config.id, this.timers);
    this.nonce = stamp.run.repeat(2);
    this.events = new ReplicaEvents(memberName(config.id, 0), stamp);
    this.logger = pino({ level: logLevel, name: config.id, base: null });
    this.tracker = new RecoveryTracker({
      nowMs: () => this.timers.nowMs(),
      logger: this.logger,
      onEvent: (event) => this.events.operation(event),
    });
  }

  /** As exact as the lease allows for. */
  private clockRate(): number {
    const { config, random } = this.machine;
    return 1 + (random.next() - 0.5) * config.timings.clockDriftMax;
  }

  /** Its clock goes faster or slower from now on. */
  drift(): void {
    this.timers.goAt(this.clockRate());
  }

  /** @throws LogStoreError if it has a log that it cannot open */
  async enter(isSlow: boolean): Promise<void> {
    try {
      this.begin(await this.machine.openLog(this.timers, { isSlow }), null);
    } catch (error) {
      if (!(error instanceof LogStoreError) || error.code !== 'logMissing') throw error;
      void this.join().catch((joinError: Error) => this.machine.fail(this, joinError));
    }
  }

  private async join(): Promise<void> {
    const { machine } = this;
    const { config } = machine;
    const { timers, transport } = this;
    const { id } = config;
    const joining = new Joining({
      self: id,
      address: addressOf(id),
      peers: config.peers.map((peer) => peer.id).filter((peer) => peer !== id),
      transport,
      timers,
      onMessage: () => undefined,
      nonce: this.nonce,
    });
    this.joining = joining;
    transport.onControl((from, message) => joining.onControl(from, message));
    this.tracker.begin(causeBeforeAdmission(this.hasDatabase), 'joining');
    const admission = await joining.run();
    if (admission === null || timers.dead) return;
    const { cluster, member, configuration, purgedTo } = admission;
    const cause = causeOf(admission, this.hasDatabase);
    const identity = { cluster, member };
    const newLog = { identity, configuration, base: 0 as Slot, promised: ballotNone };
    const log = await machine.openLog(timers, { newLog, isSlow: true });
    this.joining = null;
    this.begin(log, { cause, purgedTo });
  }

  private get hasDatabase(): boolean {
    return this.machine.postgres.disk.control !== null;
  }

  private begin(log: LogStore, joined: Joined | null): void {
    const { machine, timers, server, directory, transport, events, tracker, logger } = this;
    const { config, random, postgres, archive } = machine;
    this.log = log;
    transport.become(log.identity.member, log.identity.cluster);
    const assembled = assembleReplica(
      config,
      {
        log: machine.told(log),
        transport,
        server,
        socketPath: '/nowhere/.s.PGSQL.5432',
        findLogin: () => Promise.reject(new Error('nobody logs in')),
        lookAtLeft: () => Promise.resolve({ ended: 0, living: [] }),
        directory,
        digests: new ModelDigests(postgres, timers),
        timers,
        random: () => random.next(),
        prepare: () => this.prepare(),
        installRequests: () => Promise.resolve(),
        lookAtCommits: () => () => Promise.resolve({ code: 'clean' }),
        openArchive:
          archive === null ? null : async (source) => openModelArchive({ ...source, ...archive, timers }),
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
              receive: (channel, from, onProgress, signal, clear) => {
                const isOfUse = ({ slot }: { readonly slot: Slot }): boolean => logReaches(slot);
                return receiveModelCopy({
                  channel,
                  from,
                  onProgress,
                  signal,
                  clear,
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
        onAgreed: (ms) => this.onAgreed(ms),
        onProposed: () => this.onProposed(),
        // Not in the middle of what has come to it.
        onFatal: (error) => timers.soon(() => machine.fail(this, error)),
      },
    );
    transport.offerCopies(this.copySource(assembled));
    this.assembled = assembled;
    assembled.replica.start();
  }

  private copySource({ replica, payload }: AssembledReplica): ModelCopySource {
    const { postgres, random } = this.machine;
    return new ModelCopySource({
      postgres,
      timers: this.timers,
      random,
      position: () => {
        const why = replica.whyNoCopy();
        if (why !== null) throw new CopyError('sourceUnavailable', why);
        return payload.durableState();
      },
      awaitChosen: (lsn, signal) => payload.awaitChosen(lsn, signal),
    });
  }

  /** Of a group that is being founded: a row that is in no log. */
  private async prepare(): Promise<void> {
    const client = await this.server.connect();
    await client.ask({ kind: 'mode', mode: 'local' });
    await client.ask({ kind: 'append', key: 'founded', value: this.machine.config.id });
    await client.ask({ kind: 'commit' });
    client.close();
  }

  /** In order. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.joining?.stop();
    if (this.assembled === null) await this.transport.close();
    else await this.assembled.replica.stop();
  }
}
