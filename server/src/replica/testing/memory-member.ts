/** A replica of the shell's tests: real parts of this folder around logs, databases and links in memory. It can lose what a disk can. */
import { Readable } from 'node:stream';
import { pino } from 'pino';
import { createMemoryDisk, createMemoryLog, openMemoryLog } from '../../adapters/memory-log/memory-log.ts';
import { systemClock } from '../../adapters/system-clock.ts';
import type { TraceEvent } from '../../api/events.ts';
import { MemoryDatabase } from '../../apply/testing/memory-database.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import { memberName } from '../../multipaxos/configuration.ts';
import type { Configuration, GroupId, MemberAddress, ReplicaId, Slot } from '../../multipaxos/types.ts';
import { DatabaseError } from '../../ports/database.ts';
import { LogStoreError, type LogStore } from '../../ports/log-store.ts';
import type { SessionSql } from '../../ports/session-sql.ts';
import { parseReplicaConfig, type ReplicaConfig } from '../../config/replica-config.ts';
import { DatabaseKeeper, type DatabaseDirectory, type Loss } from '../database-keeper.ts';
import type { Joined } from '../database-side.ts';
import { ReplicaEvents } from '../status/events.ts';
import { causeBeforeAdmission, causeOf, Joining } from '../members/joining.ts';
import { RecoveryTracker } from '../database/recovery-progress.ts';
import { Replica } from '../replica.ts';
import { transferState } from '../database/state-transfer.ts';
import type { MemoryNetwork, MemoryTransport } from './memory-network.ts';

const logger = pino({ level: 'silent' });
const group = 'g' as GroupId;

export function addressOf(id: ReplicaId): MemberAddress {
  const n = Number(id.slice(1));
  return { host: id, port: 7000 + n, pgwire: { host: id, port: 7100 + n } };
}

export function configOf(id: ReplicaId, ids: readonly ReplicaId[]): ReplicaConfig {
  return parseReplicaConfig(
    {
      group,
      id,
      dataDir: '/nowhere',
      peers: ids.map((peer) => ({ id: peer, ...addressOf(peer) })),
      peerListen: { port: 7000 },
      clusterSecret: 'a secret of some length',
      pgwire: { port: 7100 },
      http: { port: 7200 },
      timings: { heartbeatMs: 20, leaseMs: 100, electionTimeoutMinMs: 150, electionTimeoutMaxMs: 300 },
    },
    '/',
  );
}

export function foundedBy(voters: readonly ReplicaId[], expected: readonly ReplicaId[] = []): Configuration {
  const member = (replica: ReplicaId, role: 'voter' | 'learner') => ({
    replica,
    incarnation: role === 'voter' ? 1 : 0,
    role,
    nonce: role === 'voter' ? 'founded' : '',
    address: addressOf(replica),
  });
  const members = [
    ...voters.map((id) => member(id, 'voter')),
    ...expected.map((id) => member(id, 'learner')),
  ];
  return { version: 1, slot: 0 as Slot, members };
}

export class MemoryMember {
  readonly id: ReplicaId;
  readonly events: TraceEvent[] = [];
  readonly fatal: Error[] = [];
  database: MemoryDatabase | null = null;
  /** PostgreSQL lets nobody in. */
  hangs = false;
  launches = 0;
  /** Copies of its database end midway. */
  copiesBreak = false;
  private pressed = false;
  setAside = 0;
  replica: Replica | null = null;
  joining: Joining | null = null;
  private disk = createMemoryDisk(group);
  private condemned: Loss | null = null;
  private incoming: MemoryDatabase | null = null;
  private readonly config: ReplicaConfig;
  private readonly network: MemoryNetwork;
  private transport: MemoryTransport | null = null;
  private exitListener: (reason: string) => void = () => {};

  constructor(id: ReplicaId, ids: readonly ReplicaId[], network: MemoryNetwork) {
    this.id = id;
    this.config = configOf(id, ids);
    this.network = network;
  }

  async found(configuration: Configuration): Promise<void> {
    const identity = { cluster: 'c', member: memberName(this.id, 1) };
    const newLog = { identity, configuration, base: 0 as Slot, promised: ballotNone };
    await (await createMemoryLog(this.disk, newLog)).close();
  }

  exit(reason: string): void {
    this.exitListener(reason);
  }

  lose(what: 'log' | 'database' | 'both'): void {
    if (what !== 'database') this.disk = createMemoryDisk(group);
    if (what !== 'log') this.database = null;
  }

  async start(): Promise<void> {
    const transport = this.network.transport(this.id);
    this.transport = transport;
    const events = new ReplicaEvents(memberName(this.id, 0));
    events.subscribe((event) => this.events.push(event), 'all');
    const tracker = new RecoveryTracker({
      nowMs: () => systemClock.nowMs(),
      logger,
      onEvent: (event) => events.operation(event),
    });
    try {
      this.begin(await openMemoryLog(this.disk), null, events, tracker, transport);
    } catch (error) {
      if (!(error instanceof LogStoreError) || error.code !== 'logMissing') throw error;
      void this.join(events, tracker, transport);
    }
  }

  private async join(
    events: ReplicaEvents,
    tracker: RecoveryTracker,
    transport: MemoryTransport,
  ): Promise<void> {
    const joining = new Joining({
      self: this.id,
      address: addressOf(this.id),
      peers: this.config.peers.map(({ id }) => id).filter((id) => id !== this.id),
      transport,
      nowMs: () => systemClock.nowMs(),
      periodMs: 20,
      onMessage: () => {},
    });
    this.joining = joining;
    transport.onControl((from, message) => joining.onControl(from, message));
    tracker.begin(causeBeforeAdmission(this.database !== null), 'joining');
    const admission = await joining.run();
    if (admission === null) return;
    const { cluster, member, configuration, purgedTo } = admission;
    const cause = causeOf(admission, this.database !== null);
    const log = await createMemoryLog(this.disk, {
      identity: { cluster, member },
      configuration,
      base: 0 as Slot,
      promised: ballotNone,
    });
    this.begin(log, { cause, purgedTo }, events, tracker, transport);
  }

  private begin(
    log: LogStore,
    joined: Joined | null,
    events: ReplicaEvents,
    tracker: RecoveryTracker,
    transport: MemoryTransport,
  ): void {
    transport.become(log.identity.member, log.identity.cluster);
    const directory = this.directory();
    const keeper = new DatabaseKeeper({
      launch: () => this.launch(),
      directory,
      transfer: (loss, request, signal) =>
        transferState(
          {
            fetcher: transport,
            target: directory,
            sources: () => this.replica?.database.sources(loss) ?? [],
            tracker,
            logger,
            retryMs: 20,
            retryMsMax: 100,
            failedMsMax: 100,
            silenceMs: 500,
          },
          request,
          signal,
        ),
      tracker,
      logger,
      retryMinMs: 10,
      retryMaxMs: 50,
      probeMs: 50,
      probeTimeoutMs: 100,
    });
    const replica = new Replica(this.config, {
      log: {
        ...log,
        stats: () => ({ ...log.stats(), ...(this.pressed ? { bytes: this.config.bounds.logBytesMax } : {}) }),
      },
      transport,
      keeper,
      digests: () => null,
      events,
      tracker,
      joined,
      clock: systemClock,
      logger,
      random: Math.random,
      onFatal: (error) => this.fatal.push(error),
      databaseStallMs: 400,
    });
    this.replica = replica;
    transport.offerSnapshots({
      open: () => {
        if (this.copiesBreak) {
          const begun = Readable.from(
            (async function* broken() {
              yield Buffer.from('{');
              throw new Error('it died midway');
            })(),
          );
          return Promise.resolve({ bytesTotal: 100, stream: begun });
        }
        const { contents } = this.database!;
        const bytes = Buffer.from(JSON.stringify(contents));
        const { pointer } = contents;
        return Promise.resolve({ bytesTotal: bytes.byteLength, pointer, stream: Readable.from([bytes]) });
      },
    });
    replica.start();
  }

  private directory(): DatabaseDirectory {
    return {
      inspect: () => Promise.resolve(this.database === null ? { kind: 'missing' } : { kind: 'usable' }),
      receive: async ({ stream }, onBytes) => {
        const chunks: Buffer[] = [];
        for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
        const bytes = Buffer.concat(chunks);
        onBytes(bytes.byteLength);
        this.incoming = new MemoryDatabase();
        this.incoming.contents = JSON.parse(bytes.toString()) as MemoryDatabase['contents'];
      },
      install: (old) => {
        if (this.database !== null && old === 'setAside') this.setAside++;
        this.database = this.incoming;
        this.condemned = null;
        return Promise.resolve();
      },
      condemn: (loss) => {
        this.condemned = loss;
        return Promise.resolve();
      },
      condemned: () => Promise.resolve(this.condemned),
      freeSpace: () => Promise.resolve({ bytes: 1e9, path: '/nowhere' }),
      setAside: () => {
        if (this.database !== null) this.setAside++;
        this.database = null;
        return Promise.resolve();
      },
      acquit: () => {
        this.condemned = null;
        return Promise.resolve();
      },
    };
  }

  private launch() {
    this.launches++;
    this.database ??= new MemoryDatabase();
    const { database } = this;
    return Promise.resolve({
      database,
      sessionSql: {} as SessionSql,
      info: () => ({ pid: 1, socketDir: '', port: 5432, version: 'test' }),
      onExit: (listener: (reason: string) => void) => {
        this.exitListener = listener;
      },
      probe: () => (this.hangs ? new Promise<void>(() => {}) : Promise.resolve()),
      restart: () => {
        this.launches++;
        this.hangs = false;
        return Promise.resolve(database.crash());
      },
      stop: () => Promise.resolve(),
    });
  }

  /** The disk under its PostgreSQL has no space. */
  failFull(): void {
    this.database!.failNextApply = new DatabaseError('databaseFull', 'no space left on device');
  }

  /** As when its log outgrows its bound. */
  pressLog(on: boolean): void {
    this.pressed = on;
  }

  status() {
    return this.replica?.status(0, 0) ?? null;
  }

  async stop(): Promise<void> {
    this.joining?.stop();
    this.joining = null;
    if (this.replica === null) await this.transport?.close();
    else await this.replica.stop();
    this.replica = null;
  }
}
