/**
 * The replica's PostgreSQL behind the port DatabaseServer: which role it is started in, and what is asked of it in each.
 *
 * Responsible for: putting instance, feed and sessions of the replica's own together. When it is started, promoted or stopped is the payload's decision.
 * Invariants: a standby has no other primary than the feed, and no replication slot, which would keep its WAL for ever.
 */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { readdir, rm } from './account-files.ts';
import { chooseLaunchUser } from './launch-user.ts';
import type { Client } from 'pg';
import { effectsOfSession } from '../../pgwire/effects-elsewhere.ts';
import { parseLsn, type Lsn } from '../../wal/lsn.ts';
import type { NamedRequest, SessionPlace } from '../../ports/client-service.ts';
import type { FunctionsLook } from '../../ports/client-functions.ts';
import type { SnapshotView } from '../../ports/digest.ts';
import type {
  Checkup,
  DatabaseServer,
  FeedSource,
  FileFinding,
  PrimaryDatabase,
  Promotion,
  StandbyDatabase,
  StandbyHandlers,
  TransactionStatus,
} from '../../ports/database-server.ts';
import { BarrierSessions } from './barrier-sessions.ts';
import { answerAnew } from './session-answer.ts';
import { sqlStateOf } from './database-error.ts';
import { lookAtFunctions } from './functions-look.ts';
import { FileLook } from './file-look.ts';
import { chooseSocketDirectory } from './data-directory.ts';
import { EndedWaits } from './ended-waits.ts';
import { openInstance, type InstanceOptions, type PostgresInstance } from './instance/postgres-instance.ts';
import { LockReserve } from './lock-reserve.ts';
import { LaunchError } from './launch-error.ts';
import { answerMs, connectPg } from './pg-client.ts';
import { nextXidSql } from './next-xid.ts';
import { OwnSession } from './own-session.ts';
import { openPrimary } from './primary-database.ts';
import { isStopped } from './process-identity.ts';
import { promoteStandby, type PromotedRun } from './promotion.ts';
import { shownAmong, takeSnapshot } from './shown-transactions.ts';
import { type RecordedRequest, readRequest } from './requests/request-outcome.ts';
import { makeRoomForHolders } from './lock-holders.ts';
import { type OnReaderEnded, ReaderLockWatch } from './reader-locks.ts';
import { ReceiverWords } from './replication/receiver-words.ts';
import { StandbyFlushes } from './replication/standby-flushes.ts';
import { openStandbyFeed, type StandbyFeed } from './replication/standby-feed.ts';
import { completeTimelineStarts } from './timeline-starts.ts';
import { workMarkOf } from './work-mark.ts';
import { ownSql } from '../../pgwire/own-sql.ts';

export interface DatabaseServerOptions extends InstanceOptions {
  /** How long small amounts of WAL wait for more before the standby is woken. */
  readonly gatherMs: number;
  /** A client that reads at a standby held too many locks, and its session was ended. */
  readonly onReaderEnded?: OnReaderEnded;
}

/** Also what only the adapters around need: the instance behind it. */
export interface PostgresDatabaseServer extends DatabaseServer {
  readonly instance: PostgresInstance;
  /** Does what opens a session of our own, or writes: where the lock table is full, with the room that is kept for that. @throws as `work` */
  withRoom<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Starts nothing. @throws LaunchError */
export async function createDatabaseServer(options: DatabaseServerOptions): Promise<PostgresDatabaseServer> {
  return new Server(options, await openInstance(options));
}

/** What is to be promoted, and nothing else. */
interface StandbyRun extends Pick<PromotedRun, 'receivedFrom'> {
  readonly feed: StandbyFeed;
  readonly run: number;
}

/** PostgreSQL has answered a moment ago that it lets sessions in: what takes longer hangs. */
const firstAnswerMs = 5_000;
/** Twice as long each time: where places lack it would only take more of them. */
const roomAgainMs = { first: 1_000, max: 60_000 } as const;
/** A primary waits no longer for it: it is made beside its first clients then. */
const roomMsMax = 1_000;

/** Of WAL by all processes but a walreceiver, and not of new segment files. The time is counted with `track_wal_io_timing`. */
const flushesSql = `(SELECT coalesce(pg_catalog.sum(fsyncs), 0)::pg_catalog.text FROM pg_catalog.pg_stat_io WHERE object OPERATOR(pg_catalog.=) 'wal' AND context OPERATOR(pg_catalog.=) 'normal') AS flushes,
              (SELECT coalesce(pg_catalog.sum(fsync_time), 0)::pg_catalog.text FROM pg_catalog.pg_stat_io WHERE object OPERATOR(pg_catalog.=) 'wal' AND context OPERATOR(pg_catalog.=) 'normal') AS took`;
const flushesBefore18Sql = `(SELECT wal_sync::pg_catalog.text FROM pg_catalog.pg_stat_wal) AS flushes, (SELECT wal_sync_time::pg_catalog.text FROM pg_catalog.pg_stat_wal) AS took`;

class Server implements PostgresDatabaseServer {
  readonly instance: PostgresInstance;
  private readonly options: DatabaseServerOptions;
  private feed: StandbyFeed | null = null;
  private readonly session: OwnSession;
  private readonly snapshots: OwnSession;
  /** Of a primary. */
  private reserve: LockReserve | null = null;
  /** Room for holders of locks. */
  private making: Promise<unknown> = Promise.resolve();
  private isPromoting = false;
  /** Of the last run as a standby. */
  private readers: ReaderLockWatch | null = null;
  private readonly files: FileLook;
  private readonly waits = new EndedWaits();
  private readonly receiver = new ReceiverWords();
  private readonly standbyFlushes = new StandbyFlushes();
  /** Counts its runs, and their ends: what was begun in one is nothing that another is asked. */
  private run = 0;

  constructor(options: DatabaseServerOptions, instance: PostgresInstance) {
    this.options = options;
    this.instance = instance;
    this.session = new OwnSession(instance);
    this.snapshots = new OwnSession(instance);
    const { dataDir, socketDir } = instance;
    const { directory } = options;
    this.files = new FileLook({ directory, dataDir, socketDir });
    instance.watchLog((text) => {
      this.waits.add(text);
      this.receiver.add(text);
    });
  }

  async startStandby(
    source: FeedSource,
    handlers: StandbyHandlers,
    ended: AbortSignal,
  ): Promise<StandbyDatabase> {
    await this.dropSlots();
    let receivedFrom = (await completeTimelineStarts(this.instance.dataDir)) ? Number.POSITIVE_INFINITY : 0;
    const user = await chooseLaunchUser();
    const run = (this.run += 1);
    const readers = this.watchReaders(run);
    this.readers = readers;
    const feed = await openStandbyFeed({
      socketDir: await chooseSocketDirectory(user, join(this.options.directory, 'feed')),
      postgresVersion: this.instance.version,
      source: { ...source, read: readWithRoom(source, readers) },
      gatherMs: this.options.gatherMs,
      onReport: (report) => {
        this.standbyFlushes.take(report, performance.now());
        handlers.onReport(report);
      },
      onStreaming: (from, timeline) => {
        this.standbyFlushes.begin();
        receivedFrom = Math.min(receivedFrom, timeline);
        handlers.onStreaming(from, timeline);
      },
      onEnded: (reason) => handlers.onStreamEnded(this.receiver.take() ?? reason),
    });
    this.feed = feed;
    await this.instance.start({ kind: 'standby', connectionInfo: feed.connectionInfo }, ended);
    void this.makeRoom(run);
    void readers.run();
    return {
      more: () => feed.more(),
      ask: () => feed.ask(),
      shut: () => feed.shut(),
      open: () => feed.open(),
      get streaming() {
        return feed.connected;
      },
      look: (givenUp) => this.session.ask(givenUp, look),
      answer: (wishes, givenUp) => answerAnew(this.instance, wishes, givenUp),
      promote: (promotion) => this.promote(promotion, { feed, run, receivedFrom }),
    };
  }

  /** Left by a time as primary. PostgreSQL looks for slots only when it starts. */
  private async dropSlots(): Promise<void> {
    const slots = join(this.instance.dataDir, 'pg_replslot');
    for (const name of await readdir(slots).catch(() => [])) {
      await rm(join(slots, name), { recursive: true, force: true });
    }
  }

  async startPrimary(ended: AbortSignal): Promise<PrimaryDatabase> {
    const run = (this.run += 1);
    await this.instance.start({ kind: 'primary' }, ended);
    await Promise.race([this.makeRoom(run), wait(roomMsMax, undefined, { ref: false })]);
    const { instance, session } = this;
    const isOver = (): boolean => this.run !== run;
    const barriers = new BarrierSessions(instance.socketDir);
    const reserve = this.reserveLocks(isOver);
    const opening = openPrimary({ instance, session, isOver, barriers, reserve });
    const isOpen = new AbortController();
    const late = wait(firstAnswerMs, null, { signal: isOpen.signal }).then(() => {
      throw new LaunchError('PostgreSQL has started, and answers nothing', { code: 'launchFailed' });
    });
    return Promise.race([opening, late]).finally(() => isOpen.abort());
  }

  private async promote(
    promotion: Promotion,
    { feed, run, receivedFrom }: StandbyRun,
  ): Promise<PrimaryDatabase> {
    const { instance, session } = this;
    const isOver = (): boolean => this.run !== run;
    feed.shut();
    const barriers = new BarrierSessions(instance.socketDir);
    // A session takes some time to begin, in which PostgreSQL is promoted.
    void barriers.warmUp();
    const reserve = this.reserveLocks(isOver);
    void reserve.warmUp();
    await this.stopMakingRoom();
    await promoteStandby({ instance, session, isOver, receivedFrom }, promotion).finally(() => {
      this.isPromoting = false;
    });
    await this.closeFeed(feed);
    return openPrimary({ instance, session, isOver, barriers, reserve });
  }

  /** A standby lets sessions in once it is consistent; promoted, it is the same PostgreSQL. Never rejects. */
  private async makeRoom(run: number, againMs: number = roomAgainMs.first): Promise<void> {
    const isOver = (): boolean => this.run !== run || !this.instance.isAlive();
    if (isOver()) return;
    const making = makeRoomForHolders(this.instance, () => isOver() || this.isPromoting).catch(() => false);
    this.making = making;
    if (await making) return;
    const nextMs = Math.min(2 * againMs, roomAgainMs.max);
    setTimeout(() => void this.makeRoom(run, nextMs), againMs).unref();
  }

  /** It holds locks for a moment, of which a promotion may need each. */
  private stopMakingRoom(): Promise<unknown> {
    this.isPromoting = true;
    return Promise.race([this.making, wait(roomMsMax, undefined, { ref: false })]);
  }

  /** A promotion ends the sessions of readers itself. */
  private watchReaders(run: number): ReaderLockWatch {
    const isOver = (): boolean => this.run !== run || !this.instance.isAlive() || this.reserve !== null;
    return new ReaderLockWatch(this.instance, isOver, (what) => this.options.onReaderEnded?.(what));
  }

  readerComes(): void {
    this.readers?.readerComes();
  }

  private reserveLocks(isOver: () => boolean): LockReserve {
    this.reserve = new LockReserve(this.instance, isOver);
    return this.reserve;
  }

  withRoom<T>(work: () => Promise<T>): Promise<T> {
    return this.reserve === null ? work() : this.reserve.withRoom(work);
  }

  async checkup(): Promise<Checkup> {
    const client = await this.session.get();
    const { rows } = await client.query<Record<'damaged' | 'ended' | 'next' | 'flushes' | 'took', string>>(
      ownSql(`SELECT coalesce(pg_catalog.sum(checksum_failures), 0)::pg_catalog.text AS damaged, coalesce(pg_catalog.sum(xact_commit + xact_rollback), 0)::pg_catalog.text AS ended,
              ${nextXidSql} AS next, ${Number.parseInt(this.instance.version, 10) >= 18 ? flushesSql : flushesBefore18Sql}
       FROM pg_catalog.pg_stat_database`),
    );
    const { damaged, ended, next, flushes, took } = rows[0]!;
    return {
      damagedPages: Number(damaged),
      ended: Number(ended),
      nextXid: BigInt(next),
      flushes: {
        count: Number(flushes) + this.standbyFlushes.count,
        ms: Number(took) + this.standbyFlushes.ms,
      },
    };
  }

  lookAtFiles(): Promise<FileFinding> {
    return this.files.look();
  }

  async statusOf(xid: bigint): Promise<TransactionStatus> {
    const client = await this.session.get();
    try {
      const { rows } = await client.query<{ status: string | null; prepared: boolean }>(
        ownSql(`SELECT pg_catalog.pg_xact_status($1::pg_catalog.text::pg_catalog.xid8) AS status,
                EXISTS (SELECT FROM pg_catalog.pg_prepared_xacts WHERE transaction = ($1::numeric % 4294967296)::pg_catalog.text::pg_catalog.xid) AS prepared`),
        [xid.toString()],
      );
      const { status, prepared } = rows[0]!;
      if (status === 'in progress') return prepared ? 'prepared' : 'open';
      return status === 'committed' || status === 'aborted' ? status : 'unknown';
    } catch (error) {
      // An id of the future.
      if (sqlStateOf(error) === '22023') return 'unknown';
      throw error;
    }
  }

  snapshot(givenUp: AbortSignal): Promise<SnapshotView> {
    return this.snapshots.ask(givenUp, takeSnapshot);
  }

  shownAmong(xids: readonly bigint[], givenUp: AbortSignal): Promise<readonly bigint[]> {
    return this.snapshots.ask(givenUp, (client) => shownAmong(client, xids));
  }

  async committedRequest({
    database,
    ...request
  }: NamedRequest): Promise<RecordedRequest | 'unknown' | null> {
    const client = await this.connect(database);
    try {
      return await readRequest(client, request);
    } finally {
      await client.end();
    }
  }

  async mayActElsewhere({ database, role, owner }: SessionPlace): Promise<boolean> {
    const client = await this.connect(database);
    try {
      const { rows } = await client.query<{ acts: boolean }>(effectsOfSession, [role, owner]);
      return rows[0]!.acts;
    } finally {
      await client.end();
    }
  }

  async lookAtFunctions(database: string, known: string | null): Promise<FunctionsLook> {
    const client = await this.connect(database);
    try {
      return await lookAtFunctions(client, known);
    } finally {
      await client.end();
    }
  }

  private connect(database: string): Promise<Client> {
    const { socketDir } = this.instance;
    return connectPg({ socketDir, database, silentMsMax: answerMs.quick });
  }

  async stop(mode: 'fast' | 'immediate' | 'kill'): Promise<void> {
    this.run += 1;
    this.reserve = null;
    this.session.drop();
    this.snapshots.drop();
    this.files.restart();
    await this.instance.stop(mode);
    await this.files.settled();
    if (this.feed !== null) await this.closeFeed(this.feed);
  }

  /** Another one may have been opened since. */
  private async closeFeed(feed: StandbyFeed): Promise<void> {
    if (this.feed === feed) this.feed = null;
    await feed.close();
  }

  onExit(listener: (reason: string, damage: string | null) => void): () => void {
    return this.instance.onExit(listener);
  }

  isAlive(): boolean {
    return this.instance.isAlive();
  }

  endedWaits(): number {
    this.instance.drainLog();
    return this.waits.count;
  }

  isMoving(): boolean {
    const pid = this.instance.pid();
    return pid !== null && !isStopped(pid);
  }

  workMark(): Promise<string | null> {
    const pid = this.instance.pid();
    return pid === null ? Promise.resolve(null) : workMarkOf(pid);
  }

  info() {
    const { socketDir, port, version } = this.instance;
    return { pid: this.instance.pid(), socketDir, port, version };
  }

  async close(): Promise<void> {
    await this.stop('fast');
    await this.instance.close();
  }
}

/** What has been waited for is read by another call: where the timeline ends may be known by then. That one does not wait. */
function readWithRoom(source: FeedSource, readers: ReaderLockWatch): FeedSource['read'] {
  let hasWaited = false;
  return (from, bytesMax) => {
    const room = hasWaited ? null : readers.room();
    hasWaited = room !== null;
    return room?.then(() => []) ?? source.read(from, bytesMax);
  };
}

async function look(client: Client): Promise<{ nextXid: bigint; replayed: Lsn }> {
  const before = await client.query<{ replayed: string | null }>(
    'SELECT pg_catalog.pg_last_wal_replay_lsn()::pg_catalog.text AS replayed',
  );
  const { replayed } = before.rows[0]!;
  if (replayed === null) throw new Error('the standby has replayed nothing');
  // Only then: what is replayed meanwhile may use ids.
  const after = await client.query<{ next: string }>(`SELECT ${nextXidSql} AS next`);
  return { nextXid: BigInt(after.rows[0]!.next), replayed: parseLsn(replayed) };
}
