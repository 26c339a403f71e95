/**
 * One ZooKeeper session over one connection after another.
 *
 * Responsible for: the handshake, pings, noticing a dead connection, going to the next server, and telling when the session has expired.
 * Retries nothing: a request whose connection broke is rejected with `connectionLoss`, its outcome unknown to all.
 * Invariants kept:
 * - Requests reach a server in the order of the calls, and replies come in that order; a request is never sent twice.
 * - Requests are only sent while connected; what is asked for before is rejected at once (`whenConnected` waits).
 * - After `sessionExpired` or `closed` nothing is sent any more.
 */
import { connect, type Socket } from 'node:net';
import { createJuteReader, createPacketSplitter } from './jute.ts';
import {
  XID_NOTIFICATION,
  XID_PING,
  ZooKeeperError,
  closeSession,
  connectPacket,
  errorOfNumber,
  pingPacket,
  readGrant,
  requestPacket,
  type SessionGrant,
  type ZooKeeperErrorCode,
  type ZooKeeperRequest,
} from './protocol.ts';

/** A list of the children of a node is the longest reply. */
const PACKET_BYTES_MAX = 256 * 1024 * 1024;
const XID_MAX = 0x7fff_ffff;
const RETRY_MIN_MS = 20;
const RETRY_MAX_MS = 500;
const CLOSE_WAIT_MS = 1000;

export interface SessionOptions {
  /** `host:port` of each server. */
  readonly servers: readonly string[];
  /** What is asked for; the server may grant another. */
  readonly sessionTimeoutMs: number;
  /** Opens a connection; tests put their own. */
  readonly dial?: (host: string, port: number) => Socket;
}

export interface ZooKeeperSession {
  readonly request: <T>(request: ZooKeeperRequest<T>) => Promise<T>;
  /** Resolves once connected. Rejects with `sessionExpired` or `closed`, or with `connectionLoss` after `waitMs`. */
  readonly whenConnected: (waitMs: number) => Promise<void>;
  /** 0n before the first connection. */
  readonly id: () => bigint;
  /** As granted. */
  readonly timeoutMs: () => number;
  /** Ends the session; its ephemeral nodes go at once if a server can be told. */
  readonly close: () => Promise<void>;
}

interface InFlight {
  readonly xid: number;
  readonly request: ZooKeeperRequest<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: ZooKeeperError) => void;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: ZooKeeperError) => void;
}

/** Starts to connect at once. */
export function startSession(options: SessionOptions): ZooKeeperSession {
  const servers = options.servers.map(parseServer);
  const dial = options.dial ?? ((host, port) => connect({ host, port, noDelay: true }));
  let grant: SessionGrant | null = null;
  let socket: Socket | null = null;
  let connected = false;
  let ended: ZooKeeperError | null = null;
  let lastError: unknown = null;
  let lastZxid = 0n;
  let nextXid = 1;
  let nextServer = Math.floor(Math.random() * servers.length);
  let failures = 0;
  let heardAtMs = 0;
  let retryTimer: NodeJS.Timeout | null = null;
  let watchTimer: NodeJS.Timeout | null = null;
  const inFlight: InFlight[] = [];
  const waiters = new Set<Waiter>();

  const timeoutMs = (): number => grant?.timeoutMs ?? options.sessionTimeoutMs;

  const failAll = (code: ZooKeeperErrorCode, message: string, cause: unknown): void => {
    for (const one of inFlight.splice(0))
      one.reject(new ZooKeeperError(code, `${message}, before it answered ${one.request.what}`, { cause }));
  };

  const end = (error: ZooKeeperError): void => {
    ended ??= error;
    if (retryTimer !== null) clearTimeout(retryTimer);
    stopConnection();
    failAll(error.code, error.message, error.cause);
    for (const waiter of waiters) waiter.reject(error);
    waiters.clear();
  };

  const stopConnection = (): void => {
    connected = false;
    if (watchTimer !== null) clearInterval(watchTimer);
    watchTimer = null;
    const old = socket;
    socket = null;
    old?.destroy();
  };

  const lost = (from: Socket, cause: unknown): void => {
    if (socket !== from) return;
    lastError = cause;
    stopConnection();
    failAll('connectionLoss', `the connection to ZooKeeper broke (${reasonOf(cause)})`, cause);
    if (ended !== null) return;
    const delayMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** failures);
    failures++;
    retryTimer = setTimeout(openConnection, delayMs * (0.5 + Math.random() / 2));
  };

  const openConnection = (): void => {
    const server = servers[nextServer++ % servers.length] as Server;
    const mine = dial(server.host, server.port);
    socket = mine;
    heardAtMs = performance.now();
    const split = createPacketSplitter(PACKET_BYTES_MAX);
    mine.on('connect', () => mine.write(connectPacket(grant, lastZxid, options.sessionTimeoutMs)));
    mine.on('data', (chunk: Buffer) => {
      if (socket !== mine) return;
      heardAtMs = performance.now();
      try {
        for (const packet of split(chunk)) {
          if (socket !== mine) return;
          if (connected) handleReply(packet);
          else handleGrant(packet);
        }
      } catch (error) {
        lost(mine, error);
      }
    });
    mine.on('error', (error) => lost(mine, error));
    mine.on('close', () => lost(mine, new Error('closed by the server')));
    watchTimer = setInterval(() => watch(mine), Math.max(10, timeoutMs() / 3));
  };

  /** A third of the timeout: ask whether it is there. Two thirds without a word: it is not, and there is time left for another. */
  const watch = (mine: Socket): void => {
    const silentMs = performance.now() - heardAtMs;
    if (silentMs > (timeoutMs() * 2) / 3)
      lost(mine, new Error(`nothing heard for ${Math.round(silentMs)} ms`));
    else if (connected) mine.write(pingPacket());
  };

  const handleGrant = (packet: Buffer): void => {
    const granted = readGrant(createJuteReader(packet));
    if (granted.timeoutMs <= 0) {
      end(new ZooKeeperError('sessionExpired', 'the session with ZooKeeper has expired'));
      return;
    }
    grant = granted;
    connected = true;
    failures = 0;
    for (const waiter of waiters) waiter.resolve();
    waiters.clear();
  };

  const handleReply = (packet: Buffer): void => {
    const reader = createJuteReader(packet);
    const xid = reader.int();
    const zxid = reader.long();
    const number = reader.int();
    if (zxid > lastZxid) lastZxid = zxid;
    if (xid === XID_PING || xid === XID_NOTIFICATION) return;
    const one = inFlight[0];
    if (one === undefined || one.xid !== xid)
      throw new Error(`a reply to request ${xid}, which is not the next`);
    if (number === 0) {
      const value = one.request.read(reader);
      inFlight.shift();
      one.resolve(value as never);
      return;
    }
    inFlight.shift();
    const error = errorOfNumber(number, one.request.what);
    one.reject(error);
    if (error.code === 'sessionExpired') end(error);
  };

  const request = <T>(request: ZooKeeperRequest<T>): Promise<T> => {
    if (ended !== null) return Promise.reject(ended);
    if (!connected || socket === null) {
      return Promise.reject(
        new ZooKeeperError('connectionLoss', `not connected to ZooKeeper (${reasonOf(lastError)})`, {
          cause: lastError,
        }),
      );
    }
    const xid = nextXid;
    nextXid = nextXid === XID_MAX ? 1 : nextXid + 1;
    socket.write(requestPacket(xid, request));
    return new Promise((resolve, reject) => inFlight.push({ xid, request, resolve, reject }));
  };

  const whenConnected = (waitMs: number): Promise<void> => {
    if (ended !== null) return Promise.reject(ended);
    if (connected) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiters.delete(waiter);
        const message = `ZooKeeper (${options.servers.join(', ')}) does not answer: ${reasonOf(lastError)}`;
        reject(new ZooKeeperError('connectionLoss', message, { cause: lastError }));
      }, waitMs);
      const waiter: Waiter = {
        resolve() {
          clearTimeout(timer);
          resolve();
        },
        reject(error) {
          clearTimeout(timer);
          reject(error);
        },
      };
      waiters.add(waiter);
    });
  };

  openConnection();
  return {
    request,
    whenConnected,
    id: () => grant?.sessionId ?? 0n,
    timeoutMs,
    async close() {
      if (ended === null && connected) {
        const told = request(closeSession).catch(() => undefined);
        let timer: NodeJS.Timeout | undefined;
        await Promise.race([
          told,
          new Promise((resolve) => {
            timer = setTimeout(resolve, CLOSE_WAIT_MS);
          }),
        ]);
        clearTimeout(timer);
      }
      end(new ZooKeeperError('closed', 'the session with ZooKeeper is closed'));
    },
  };
}

interface Server {
  readonly host: string;
  readonly port: number;
}

function parseServer(text: string): Server {
  const colon = text.lastIndexOf(':');
  const port = Number(text.slice(colon + 1));
  if (colon < 1 || !Number.isInteger(port) || port < 1 || port > 65_535)
    throw new RangeError(`"${text}" is not host:port`);
  return { host: text.slice(0, colon), port };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'no connection yet';
}
