/**
 * A session that runs COPY ... TO STDOUT and keeps nothing of what comes but its hash.
 *
 * Responsible for: the protocol, as far as that needs it. Why not `pg`: it holds each row in memory as a whole, and a client's row may have a gigabyte.
 * Invariant: memory does not grow with what is read: a row is hashed piece by piece, and any other message is at most `messageBytesMax` long.
 */
import { createHash, type Hash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { socketPort } from '../data-directory.ts';
import { ownStartupPacket } from '../pg-client.ts';
import { readingSettings } from '../pinned-settings.ts';
import { letter, message } from '../replication/messages.ts';
import { sqlStateError } from '../server-error.ts';
import { lockTimeoutMs, readingName, type ReadingAddress, type SessionKey } from './reading-session.ts';

export interface CopiedRows {
  readonly rows: number;
  /** In hex. */
  readonly digest: string;
}

export interface CopySession {
  /** By which what it does is cancelled. */
  readonly key: SessionKey;
  /**
   * Runs these statements in one message, and gives what each COPY among them came to. Bytes, for names are in the database's encoding, which this session does not convert. One that fails ends all.
   * @throws Error with `severity` and `code` as `pg` has them if PostgreSQL refuses, and the session can go on; Error if the session has ended
   */
  copy(statements: Buffer): Promise<readonly CopiedRows[]>;
  close(): void;
}

const messageBytesMax = 1024 * 1024;
/** Hashing small rows one by one would cost more than the hash. */
const gatheredBytes = 64 * 1024;
const readBytes = 64 * 1024;
const digestChars = 32;

/** @throws Error if PostgreSQL is away or refuses */
export async function openCopySession(
  address: ReadingAddress,
  database: string | Uint8Array,
): Promise<CopySession> {
  const path = join(address.socketDir, `.s.PGSQL.${address.port ?? socketPort}`);
  const session = new Session(path);
  const started = session.reply();
  session.send(
    ownStartupPacket({
      version: address.version,
      database,
      applicationName: readingName,
      settings: { ...readingSettings, lock_timeout: String(lockTimeoutMs) },
    }),
  );
  try {
    await started;
  } catch (error) {
    session.close();
    throw error;
  }
  return session;
}

interface Waiting {
  readonly resolve: (copied: readonly CopiedRows[]) => void;
  readonly reject: (error: Error) => void;
}

class Session implements CopySession {
  private readonly socket: Socket;
  private ownKey: SessionKey = { pid: 0, secret: 0 };
  private waiting: Waiting | null = null;
  private failure: Error | null = null;
  private copied: CopiedRows[] = [];
  private readonly rows = new RowsHash();
  /** What has come of a message that is not whole yet, and is no row. */
  private rest: Buffer = Buffer.alloc(0);
  /** Bytes that are still to come of the row at hand. */
  private rowBytesLeft = 0;

  constructor(path: string) {
    // One buffer for all that comes: nothing of it is kept.
    const buffer = Buffer.allocUnsafe(readBytes);
    const callback = (bytes: number): boolean => {
      this.take(buffer.subarray(0, bytes));
      return true;
    };
    this.socket = connect({ path, onread: { buffer, callback } });
    this.socket.on('error', (error) => this.end(error));
    this.socket.on('close', () => this.end(new Error('PostgreSQL closed the session')));
  }

  get key(): SessionKey {
    return this.ownKey;
  }

  send(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  /** What comes until PostgreSQL waits for the next statement. */
  reply(): Promise<readonly CopiedRows[]> {
    if (this.socket.destroyed) return Promise.reject(new Error('the session has ended'));
    this.copied = [];
    this.rows.begin();
    this.failure = null;
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
    });
  }

  copy(statements: Buffer): Promise<readonly CopiedRows[]> {
    const copied = this.reply();
    this.send(message('Q', statements, Buffer.from([0])));
    return copied;
  }

  close(): void {
    if (!this.socket.destroyed) this.socket.end(message('X'));
    this.socket.destroySoon();
  }

  private end(error: Error): void {
    const { waiting } = this;
    this.waiting = null;
    // What PostgreSQL said before it closed the session is more to the point.
    waiting?.reject(this.failure ?? error);
  }

  private take(chunk: Buffer): void {
    try {
      this.read(chunk);
    } catch (error) {
      this.socket.destroy();
      this.end(error as Error);
    }
  }

  private read(chunk: Buffer): void {
    let data = chunk;
    if (this.rest.length > 0) {
      data = Buffer.concat([this.rest, chunk]);
      this.rest = Buffer.alloc(0);
    }
    let at = 0;
    for (;;) {
      if (this.rowBytesLeft > 0) {
        const end = Math.min(data.length, at + this.rowBytesLeft);
        this.rows.add(data, at, end);
        this.rowBytesLeft -= end - at;
        at = end;
      }
      if (this.rowBytesLeft > 0 || data.length - at < 5) break;
      const type = data[at]!;
      const bytes = data.readInt32BE(at + 1) - 4;
      if (bytes < 0 || (type !== copyData && bytes > messageBytesMax))
        throw new Error(`PostgreSQL sent a message of ${bytes} bytes`);
      if (type === copyData) {
        this.rowBytesLeft = bytes;
        at += 5;
        continue;
      }
      if (data.length - at < 5 + bytes) break;
      this.handle(type, data.subarray(at + 5, at + 5 + bytes));
      at += 5 + bytes;
    }
    if (at < data.length) this.rest = Buffer.from(data.subarray(at));
  }

  private completed(tag: Buffer): void {
    const rows = copyTag.exec(tag.toString('latin1'));
    if (rows === null) return;
    this.copied.push({ rows: Number(rows[1]), digest: this.rows.result() });
    this.rows.begin();
  }

  private handle(type: number, body: Buffer): void {
    if (type === errorResponse) this.failure ??= sqlStateError(body);
    else if (type === backendKeyData) this.ownKey = { pid: body.readInt32BE(0), secret: body.readInt32BE(4) };
    else if (type === commandComplete) this.completed(body);
    else if (type === authentication && body.readInt32BE(0) !== 0) {
      throw new Error('PostgreSQL asks the replica itself for a password');
    } else if (type === readyForQuery) {
      const { waiting, failure } = this;
      this.waiting = null;
      if (failure === null) waiting?.resolve(this.copied);
      else waiting?.reject(failure);
    }
  }
}

/** The tag of a COPY, such as `COPY 5`. */
const copyTag = /^COPY (\d+)/;
const copyData = letter('d');
const commandComplete = letter('C');
const errorResponse = letter('E');
const backendKeyData = letter('K');
const authentication = letter('R');
const readyForQuery = letter('Z');

/** Of one COPY after another, the rows in the order in which they come. Both formats say themselves where a row ends. */
class RowsHash {
  private readonly gathered = Buffer.allocUnsafe(gatheredBytes);
  private hash: Hash = createHash('sha256');
  private length = 0;

  begin(): void {
    this.hash = createHash('sha256');
    this.length = 0;
  }

  add(data: Buffer, from: number, to: number): void {
    if (to - from > gatheredBytes - this.length) this.flush();
    if (to - from > gatheredBytes) this.hash.update(data.subarray(from, to));
    else this.length += data.copy(this.gathered, this.length, from, to);
  }

  private flush(): void {
    this.hash.update(this.gathered.subarray(0, this.length));
    this.length = 0;
  }

  result(): string {
    this.flush();
    return this.hash.digest('hex').slice(0, digestChars);
  }
}
