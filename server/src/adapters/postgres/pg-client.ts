/**
 * Barista's own sessions with its PostgreSQL, as the superuser, over the Unix socket. No other module opens one (scripts/architecture.test.ts).
 *
 * Responsible for: the startup packet, which pins all settings (pinned-settings.ts), for what a session is opened with, and for cutting off a session whose process hangs.
 * Invariants: no setting of a role, a database or a file decides what a statement of ours means, how long it takes, or in whose name it runs. No session is opened without a word on how long PostgreSQL may take to answer;
 * and whatever that word is, the end of a session is waited for only so long.
 *
 * Bytes pass as they are (client_encoding SQL_ASCII): a name in a database of another encoding than UTF-8 is not what it seems to be here. A name that is used again is read as bytes.
 */
import type { Socket } from 'node:net';
import { Client, Connection } from 'pg';
import { lacksDirectory, sqlStateOf } from './database-error.ts';
import { socketPort } from './data-directory.ts';
import { pinnedSettings, settingsVersions } from './pinned-settings.ts';
import { startupPacket } from './replication/messages.ts';

/** Bounds on PostgreSQL's silence. `quick`: questions that take milliseconds. `thorough`: questions about all of a database's catalogs, and changes of a few of our own rows. */
export const answerMs = { quick: 10_000, thorough: 600_000 } as const;

export interface ConnectOptions {
  readonly socketDir: string;
  /**
   * So long PostgreSQL may say nothing while it is asked something; then the session is cut off, and what was asked in it fails. Null: it works for as long as that takes (a checkpoint, a check of all data), and whoever waits gives up
   * by other means.
   */
  readonly silentMsMax: number | null;
  /** A COMMIT is not meant by `silentMsMax`: nobody waits for its answer. */
  readonly commitsWait?: boolean;
  /** Bytes where its name may be in any encoding. */
  readonly database: string | Uint8Array;
  readonly pipeline?: boolean;
  readonly applicationName?: string;
  /** Beside those that are pinned, or in their place. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Such as `18.4`; found out if it is missing. */
  readonly version?: string;
  readonly port?: number;
  /** So long PostgreSQL may take to let the session in; a database may be locked. Default: 30 s. */
  readonly enterMsMax?: number;
}

export interface OwnPacketOptions {
  /** Such as `18.4`. */
  readonly version: string;
  /** Null: a physical replication connection, which has none. */
  readonly database: string | Uint8Array | null;
  readonly applicationName: string;
  readonly settings?: Readonly<Record<string, string>>;
}

const ownRole = 'postgres';

/** The first bytes of a session of our own, for modules that speak the protocol themselves. */
export function ownStartupPacket({ version, database, applicationName, settings }: OwnPacketOptions): Buffer {
  return startupPacket({
    user: ownRole,
    ...(database === null ? { replication: 'true' } : { database }),
    application_name: applicationName,
    ...pinnedSettings(Number.parseInt(version, 10)),
    ...settings,
  });
}

/** Of a session that is ended, and whose process does not end. */
const goodbyeMs = 5_000;
/** Our own main thread may have stood still, and an answer be here already. */
const unreadMs = 500;

/** `pg` would name a client encoding of its own, and wait for an answer for ever. */
class OwnConnection extends Connection {
  private readonly packet: Buffer;
  private readonly limits: Pick<ConnectOptions, 'silentMsMax' | 'commitsWait'>;
  /** What PostgreSQL has been asked and has not answered, in that order; empty: by the extended protocol. */
  private readonly asked: string[] = [];
  private readonly socket: Socket;

  constructor(packet: Buffer, limits: Pick<ConnectOptions, 'silentMsMax' | 'commitsWait'>) {
    super({});
    this.packet = packet;
    this.limits = limits;
    this.socket = this.stream as Socket;
    this.on('readyForQuery', () => this.asked.shift());
    const { silentMsMax } = limits;
    if (silentMsMax === null) return;
    this.socket.setTimeout(silentMsMax);
    this.socket.on('timeout', () => this.onSilence(silentMsMax));
  }

  startup(): void {
    this.stream.write(this.packet);
  }

  /** Answered by ReadyForQuery, as each Sync is. */
  override query(text: string): void {
    this.asked.push(text);
    super.query(text);
  }

  override sync(): void {
    this.asked.push('');
    super.sync();
  }

  override end(): void {
    this.socket.setTimeout(goodbyeMs, () => this.socket.destroy());
    super.end();
  }

  /** Nothing was sent or has come for so long. */
  private onSilence(ms: number): void {
    if (!this.isOwed) return;
    const { bytesRead } = this.socket;
    setTimeout(() => {
      if (this.isOwed && this.socket.bytesRead === bytesRead)
        this.socket.destroy(new Error(`PostgreSQL did not answer within ${ms} ms`));
    }, unreadMs).unref();
  }

  private get isOwed(): boolean {
    const [first] = this.asked;
    return first !== undefined && !(this.limits.commitsWait === true && first === 'COMMIT');
  }
}

const enterMsUsual = 30_000;

/** PostgreSQL did not let a session in within `enterMsMax`. In the words of `pg`, which gives no code. */
export function isEnterTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout expired';
}

/** Where what concerns no single database is asked and done. */
export const mainDatabase = 'postgres';
/** In its place where it was dropped or renamed, or lets nobody in: a superuser may do that, and somebody must be able to make it again. Not in the first place: CREATE DATABASE copies it, and waits for us to leave. */
const substitute = 'template1';

/** There is no such database, or it lets nobody in. */
function isShut(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  return (sqlState === '3D000' && !lacksDirectory(error)) || sqlState === '55000';
}

/** The main database, or its substitute. @throws what `enter` throws */
export async function inMainDatabase<T>(enter: (database: string) => Promise<T>): Promise<T> {
  try {
    return await enter(mainDatabase);
  } catch (error) {
    if (!isShut(error)) throw error;
    return enter(substitute);
  }
}

/** PostgreSQL has no setting of this name. */
const undefinedObject = '42704';
/** The set of settings that the server at a place knows. */
const versionAt = new Map<string, number>();
const placesMax = 64;

/** In `mainDatabase`, where that is asked for, or its substitute. @throws whatever `pg` throws when PostgreSQL is away; Error if the session is not the superuser's */
export function connectPg(options: ConnectOptions): Promise<Client> {
  return options.database === mainDatabase
    ? inMainDatabase((database) => connect({ ...options, database }))
    : connect(options);
}

async function connect(options: ConnectOptions): Promise<Client> {
  const { socketDir, version } = options;
  if (version !== undefined) return open(options, Number.parseInt(version, 10));
  const known = versionAt.get(socketDir);
  const versions = settingsVersions.filter((one) => known === undefined || one <= known);
  for (const [index, majorVersion] of versions.entries()) {
    try {
      const client = await open(options, majorVersion);
      if (versionAt.size >= placesMax) versionAt.clear();
      versionAt.set(socketDir, majorVersion);
      return client;
    } catch (error) {
      if (sqlStateOf(error) !== undefinedObject || index === versions.length - 1) throw error;
    }
  }
  throw new Error('no version of PostgreSQL is known');
}

async function open(options: ConnectOptions, majorVersion: number): Promise<Client> {
  const { socketDir, database, pipeline = false, applicationName = 'barista', settings = {} } = options;
  const packet = startupPacket({
    user: ownRole,
    database,
    application_name: applicationName,
    ...pinnedSettings(majorVersion),
    ...settings,
  });
  const client = new Client({
    host: socketDir,
    port: options.port ?? socketPort,
    user: ownRole,
    password: '',
    connectionTimeoutMillis: options.enterMsMax ?? enterMsUsual,
    pipeline,
    connection: new OwnConnection(packet, options),
  } as ConstructorParameters<typeof Client>[0]);
  // A connection that breaks while idle reports here; whoever uses it next learns of it from the query.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return client;
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
