/**
 * The way to ZooKeeper for as long as the log is open: one session, or one after another, and the right to write.
 *
 * Responsible for: the lock, the writer's node and what becomes of them when a session ends.
 * Invariants kept:
 * - One opening writes at a time. The lock keeps others from trying; the writer's node keeps those out that do not know yet that they have
 *   lost it: every group of records names the version that the node must have and raises it, so nothing sent by an earlier owner, or over
 *   an earlier connection, can take effect once `acquire` has raised it.
 * - A log that another has written in the meantime is never written to again by this one.
 */
import { hostname } from 'node:os';
import { LogStoreError } from '../../ports/log-store.ts';
import {
  ANY_VERSION,
  codeOf,
  getData,
  multi,
  sync,
  type WriteOp,
  type ZooKeeperRequest,
} from './client/protocol.ts';
import { startSession, type SessionOptions, type ZooKeeperSession } from './client/session.ts';
import { fromJson, toJson, toPaddedJson, type LogPaths, type WriterNode } from './layout.ts';

const POLL_MS = 50;
/** ZooKeeper looks for expired sessions once per tick, and is told late on a busy machine. */
const LOCK_SLACK_MS = 1000;
/** A node's version has 32 bits, and a negative one has a meaning of its own. */
const VERSION_MAX = 2 ** 30;

/** The right to write the next group. */
export interface Turn {
  /** Version that the writer's node has. */
  readonly version: number;
  /** Of the last group that was written. */
  readonly sequence: number;
}

export interface LinkOptions extends SessionOptions {
  readonly paths: LogPaths;
  /** Names this opening of the log. */
  readonly owner: string;
  /** How long ZooKeeper may be out of reach before the log fails. */
  readonly awayMsMax: number;
  /** How long an opening waits for the lock of one that may have died. Default: until its session must have expired. */
  readonly lockWaitMs?: number;
  readonly versionMax?: number;
}

export interface Link {
  /** Over the present connection. @throws ZooKeeperError */
  readonly request: <T>(request: ZooKeeperRequest<T>) => Promise<T>;
  /** A request that may be made twice: again after each broken connection. @throws ZooKeeperError, LogStoreError */
  readonly retried: <T>(request: ZooKeeperRequest<T>) => Promise<T>;
  /** The right to write when the log is opened. @throws LogStoreError logLocked */
  readonly acquire: () => Promise<Turn>;
  /** The right to write again after the connection, or the session, has ended. @throws LogStoreError logFailed if it is another's */
  readonly regain: () => Promise<Turn>;
  /** Makes of the data of the next turn the ops that take it, and tells the version after it. */
  readonly turnOps: (turn: Turn) => { readonly ops: readonly WriteOp[]; readonly next: Turn };
  readonly lockOp: () => WriteOp;
  readonly close: () => Promise<void>;
}

export function createLink(options: LinkOptions): Link {
  const { paths, owner } = options;
  const versionMax = options.versionMax ?? VERSION_MAX;
  let session: ZooKeeperSession = startSession(options);
  let closed = false;

  /** Connected, with this session or, if that has expired, with the next. */
  const connected = async (waitMs: number): Promise<void> => {
    for (;;) {
      try {
        await session.whenConnected(waitMs);
        return;
      } catch (error) {
        if (codeOf(error) !== 'sessionExpired' || closed) throw error;
        session = startSession(options);
      }
    }
  };

  const retried = async <T>(request: ZooKeeperRequest<T>): Promise<T> => {
    const deadline = performance.now() + options.awayMsMax;
    for (;;) {
      await connected(deadline - performance.now());
      try {
        return await session.request(request);
      } catch (error) {
        if (!isBroken(error) || closed || performance.now() > deadline) throw error;
      }
    }
  };

  const writerOps = (
    data: WriterNode,
    version: number,
  ): { readonly ops: WriteOp[]; readonly next: number } => {
    const bytes = toPaddedJson(data);
    const set = { kind: 'set', path: paths.writer, data: bytes, version } as const;
    if (version < versionMax) return { ops: [set], next: version + 1 };
    // The count begins anew with a new node.
    const remove = { kind: 'delete', path: paths.writer, version } as const;
    return { ops: [remove, { kind: 'create', path: paths.writer, data: bytes }], next: 0 };
  };

  const lockOp = (): WriteOp => {
    const holder = { host: hostname(), process: process.pid, since: new Date().toISOString() };
    return { kind: 'create', path: paths.lock, data: toJson(holder), ephemeral: true };
  };

  const readWriter = async (): Promise<{ readonly writer: WriterNode; readonly version: number }> => {
    const { data, stat } = await retried(getData(paths.writer));
    return { writer: fromJson(data) as WriterNode, version: stat.version };
  };

  /** Who has the lock: this session, nobody, or somebody who says so in its node. */
  const readLock = async (): Promise<'mine' | 'free' | { readonly holder: string }> => {
    try {
      const { data, stat } = await retried(getData(paths.lock));
      return stat.ephemeralOwner === session.id() ? 'mine' : { holder: Buffer.from(data).toString('utf8') };
    } catch (error) {
      if (codeOf(error) === 'noNode') return 'free';
      throw error;
    }
  };

  /** One attempt. Null: things have moved on since they were read, or the connection broke; read again. */
  const take = async (lock: 'mine' | 'free', data: WriterNode, version: number): Promise<Turn | null> => {
    const held: WriteOp =
      lock === 'mine' ? { kind: 'check', path: paths.lock, version: ANY_VERSION } : lockOp();
    const { ops, next } = writerOps(data, version);
    try {
      const failure = await session.request(multi([held, ...ops]));
      if (failure === null) return { version: next, sequence: data.sequence };
      const { code } = failure.error;
      if (code === 'nodeExists' || code === 'noNode' || code === 'badVersion') return null;
      throw failure.error;
    } catch (error) {
      if (isBroken(error)) return null;
      throw error;
    }
  };

  const acquire = async (): Promise<Turn> => {
    await connected(options.awayMsMax);
    // As granted, which may be longer than what was asked for: so it was for the one before.
    const deadline = performance.now() + (options.lockWaitMs ?? session.timeoutMs() * 1.5 + LOCK_SLACK_MS);
    for (;;) {
      await retried(sync(paths.paxos));
      const lock = await readLock();
      if (typeof lock === 'string') {
        const { version } = await readWriter();
        const turn = await take(lock, { owner, sequence: 0 }, version);
        if (turn !== null) return turn;
      } else if (performance.now() > deadline) {
        throw new LogStoreError('logLocked', `${paths.paxos} in ZooKeeper is in use by ${lock.holder}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };

  const regain = async (): Promise<Turn> => {
    const deadline = performance.now() + options.awayMsMax;
    for (;;) {
      await retried(sync(paths.paxos));
      const { writer, version } = await readWriter();
      if (writer.owner !== owner) {
        throw new LogStoreError('logFailed', `another process has taken over ${paths.paxos} in ZooKeeper`);
      }
      const lock = await readLock();
      const turn = typeof lock === 'string' ? await take(lock, writer, version) : null;
      if (turn !== null) return turn;
      if (performance.now() > deadline)
        throw new LogStoreError('logFailed', `${paths.paxos} in ZooKeeper: its lock cannot be had again`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };

  return {
    request: (request) => session.request(request),
    retried,
    acquire,
    regain,
    lockOp,
    turnOps({ version, sequence }) {
      const { ops, next } = writerOps({ owner, sequence: sequence + 1 }, version);
      return { ops, next: { version: next, sequence: sequence + 1 } };
    },
    close() {
      closed = true;
      return session.close();
    },
  };
}

/** Whether the request's outcome is unknown. Another connection, perhaps of another session, is needed. */
export function isBroken(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'connectionLoss' || code === 'sessionExpired' || code === 'sessionMoved';
}
