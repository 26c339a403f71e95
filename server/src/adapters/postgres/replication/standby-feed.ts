/**
 * The walsender of the replica's own standby: PostgreSQL's walreceiver connects here, and is sent chosen WAL and nothing else.
 *
 * Responsible for: the private socket, the password, and one connection after another. What is said over one is feed-connection.ts; what is chosen is told by the
 * source.
 * Invariant: one connection at a time is fed; a newer one takes the place of an older one, for a walreceiver that connects again has given up the one before.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import type { FeedSource, StandbyReport } from '../../../ports/database-server.ts';
import { socketPort } from '../data-directory.ts';
import { FeedConnection } from './feed-connection.ts';

export interface StandbyFeedOptions {
  /** Holds the socket; nobody else may enter it. */
  readonly socketDir: string;
  /** Such as `18.4`: what the walreceiver is told of its primary. */
  readonly postgresVersion: string;
  readonly source: FeedSource;
  readonly onReport: (report: StandbyReport) => void;
  /** The walreceiver asks for WAL from here on. */
  readonly onStreaming: (from: Lsn, timeline: Timeline) => void;
  /** A connection has ended, for this reason. */
  readonly onEnded: (reason: string) => void;
  /** Small amounts of WAL wait so long for more, so that a busy standby is woken less often. */
  readonly gatherMs: number;
}

export interface StandbyFeed {
  /** The value of primary_conninfo. Holds a password: for a file that only the owner reads. */
  readonly connectionInfo: string;
  /** There is more to be sent, or a timeline has ended. */
  more(): void;
  /** Asks the standby how far it is; it answers by `onReport`. What waits to be gathered is sent before. */
  ask(): void;
  readonly connected: boolean;
  /** Ends the connection and lets nobody in until `open` is called. */
  shut(): void;
  open(): void;
  close(): Promise<void>;
}

const feedUser = 'barista_feed';

/** @throws Error if the socket cannot be made */
export async function openStandbyFeed(options: StandbyFeedOptions): Promise<StandbyFeed> {
  const path = join(options.socketDir, `.s.PGSQL.${socketPort}`);
  await rm(path, { force: true });
  const feed = new Feed(options, path);
  await feed.listen();
  return feed;
}

class Feed implements StandbyFeed {
  readonly connectionInfo: string;
  private readonly options: StandbyFeedOptions;
  private readonly path: string;
  private readonly password = randomBytes(24).toString('hex');
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private current: FeedConnection | null = null;
  private letsIn = true;

  constructor(options: StandbyFeedOptions, path: string) {
    this.options = options;
    this.path = path;
    this.server = createServer({ noDelay: true }, (socket) => this.accept(socket));
    this.connectionInfo =
      `host='${options.socketDir.replaceAll("'", "\\'")}' port=${socketPort} user=${feedUser} password=${this.password} ` +
      'sslmode=disable gssencmode=disable connect_timeout=5';
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      // A standby that runs as another user than this process must be able to write to it; the directory keeps everybody else out.
      this.server.listen({ path: this.path, writableAll: true }, () => resolve());
    });
  }

  private accept(socket: Socket): void {
    if (!this.letsIn) {
      socket.destroy();
      return;
    }
    this.sockets.add(socket);
    const connection = new FeedConnection(socket, {
      ...this.options,
      isPassword: (given) => isEqual(given, this.password),
      onAuthenticated: () => this.replace(connection),
      onEnded: (reason) => {
        this.sockets.delete(socket);
        if (this.current !== connection) return;
        this.current = null;
        this.options.onEnded(reason);
      },
    });
  }

  private replace(connection: FeedConnection): void {
    const before = this.current;
    this.current = connection;
    before?.end('the standby has connected again');
  }

  get connected(): boolean {
    return this.current?.streaming ?? false;
  }

  more(): void {
    this.current?.more();
  }

  ask(): void {
    this.current?.ask();
  }

  shut(): void {
    this.letsIn = false;
    for (const socket of this.sockets) socket.destroy();
  }

  open(): void {
    this.letsIn = true;
  }

  async close(): Promise<void> {
    this.shut();
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
  }
}

function isEqual(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
