/**
 * A replication connection to the replica's own PostgreSQL over its Unix socket: simple queries whose answers may be copied out.
 *
 * Why not `pg`: it hands out parts of a buffer that it goes on writing to, and it cannot be made to wait. This one yields each message as it
 * was received and reads no further while nobody asks for more, so that PostgreSQL waits, too. Needs no password and knows none.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { ownStartupPacket } from '../pg-client.ts';
import { sqlStateError } from '../server-error.ts';

/** One backend message: its letter and what follows its length. */
export interface BackendMessage {
  readonly type: string;
  readonly body: Buffer;
}

export interface ReplicationConnection {
  send(query: string): void;
  /** The next message. Errors of PostgreSQL are thrown, with `severity` and `code`. @throws Error also when the connection ends */
  next(): Promise<BackendMessage>;
  /** Ends it at once: PostgreSQL gives up what it was doing. */
  destroy(): void;
}

const messageBytesMax = 1024 * 1024;

export interface ReplicationOptions {
  readonly socketPath: string;
  /** Of the PostgreSQL there, such as `18.4`. */
  readonly version: string;
  /** So long PostgreSQL may keep whoever reads waiting; then the connection is over. */
  readonly silentMsMax: number;
}

export async function openReplication(options: ReplicationOptions): Promise<ReplicationConnection> {
  const { socketPath, version, silentMsMax } = options;
  const socket = connect(socketPath);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  const connection = new SocketConnection(socket, silentMsMax);
  try {
    socket.write(ownStartupPacket({ version, database: null, applicationName: 'barista copy' }));
    await connection.ready();
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

class SocketConnection implements ReplicationConnection {
  private readonly socket: Socket;
  private readonly silentMsMax: number;
  private readonly messages: AsyncGenerator<BackendMessage, void>;

  constructor(socket: Socket, silentMsMax: number) {
    this.socket = socket;
    this.silentMsMax = silentMsMax;
    // Errors reach whoever reads next.
    socket.on('error', () => undefined);
    this.messages = readMessages(socket);
  }

  async ready(): Promise<void> {
    for (;;) {
      const { type, body } = await this.next();
      if (type === 'Z') return;
      if (type === 'R' && body.readInt32BE(0) !== 0) {
        throw new Error('PostgreSQL asks the replica itself for a password');
      }
    }
  }

  send(query: string): void {
    const text = Buffer.from(`${query}\0`);
    const head = Buffer.alloc(5);
    head.write('Q');
    head.writeInt32BE(text.length + 4, 1);
    this.socket.write(Buffer.concat([head, text]));
  }

  async next(): Promise<BackendMessage> {
    const { socket, silentMsMax } = this;
    const tooLate = setTimeout(
      () => socket.destroy(new Error(`PostgreSQL did not answer within ${silentMsMax} ms`)),
      silentMsMax,
    );
    const { value, done } = await this.messages.next().finally(() => clearTimeout(tooLate));
    if (done === true) throw new Error('PostgreSQL closed the replication connection');
    if (value.type === 'E') throw sqlStateError(value.body);
    return value;
  }

  destroy(): void {
    this.socket.destroy();
  }
}

async function* readMessages(socket: Socket): AsyncGenerator<BackendMessage, void> {
  let rest: Buffer = Buffer.alloc(0);
  // Iterating pauses the socket whenever nobody waits for the next chunk.
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (data.length - at >= 5) {
      const length = data.readInt32BE(at + 1);
      if (length < 4 || length > messageBytesMax) {
        throw new Error(`a message of ${length} bytes from PostgreSQL is out of bounds`);
      }
      if (data.length - at < length + 1) break;
      yield { type: String.fromCharCode(data[at] ?? 0), body: data.subarray(at + 5, at + 1 + length) };
      at += length + 1;
    }
    rest = data.subarray(at);
  }
}
