/** A client's session at this replica's PostgreSQL, over the Unix socket, as the client's own role: messages out, messages in. */
import { connect, type Socket } from 'node:net';
import type {
  ConnectResult,
  SessionEnded,
  StatementConnection,
  StatementLogin,
} from '../../../ports/statement-database.ts';
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { FrameSplitter, headerBytes } from '../../../pgwire/frame-splitter.ts';
import { terminate } from '../../../pgwire/frontend-messages.ts';
import { errorResponse } from '../../../pgwire/backend-messages.ts';
import { back } from '../../../pgwire/message-types.ts';

/** What PostgreSQL can send at most. */
const frameBytesMax = 0x4000_0000;
const protocolVersion = 3 << 16;

/** PostgreSQL closes the connection without a word where it is longer. */
const packetBytesMax = 10_004;
const tooLong = errorResponse('FATAL', {
  sqlState: '53400',
  message: 'the options of the log-in, and settings that were changed since, are too long',
});

/** `messageBytesMax`: of a longer message only so much is kept. */
export async function openSession(
  { path, majorVersion }: { readonly path: string; readonly majorVersion: number },
  login: StatementLogin,
  messageBytesMax: number,
): Promise<ConnectResult> {
  const packet = startupPacket(login, majorVersion);
  if (packet.length > packetBytesMax) return { code: 'refused', answer: tooLong };
  const session = new SessionConnection(path, messageBytesMax);
  let refusal: Buffer | null = null;
  const greeting: Buffer[] = [];
  try {
    await session.exchange(packet, (message) => {
      const type = message[0];
      if (type === back.errorResponse) refusal = message;
      else if (type === back.backendKeyData) session.processId = message.readInt32BE(headerBytes);
      else greeting.push(message);
      return type === back.readyForQuery || type === back.errorResponse;
    });
  } catch (error) {
    session.destroy();
    throw error;
  }
  if (refusal !== null) {
    session.destroy();
    return { code: 'refused', answer: refusal };
  }
  session.greeting = Buffer.concat(greeting);
  return { code: 'connected', connection: session };
}

/**
 * With the version that has them first. By the clocks a session would end, or a statement of it, at one replica, and not at another. The last two a session can have from its startup packet alone: a log-in that sleeps keeps the
 * executor waiting, and so does one that reads catalogs without indexes.
 */
const off: readonly (readonly [name: string, since: number])[] = [
  ['statement_timeout', 0],
  ['lock_timeout', 0],
  ['idle_in_transaction_session_timeout', 0],
  ['idle_session_timeout', 14],
  ['transaction_timeout', 17],
  ['post_auth_delay', 0],
  ['ignore_system_indexes', 0],
];

/** What stands last counts, above the client's own options and what its role and its database have. */
function startupPacket({ user, database, parameters }: StatementLogin, majorVersion: number): Buffer {
  const own = [user, database].map((name) => Buffer.from(name, 'utf8').toString('latin1'));
  const pinned = off.filter(([, since]) => majorVersion >= since).map(([name]) => [name, '0']);
  const all = [['user', own[0]!], ['database', own[1]!], ...parameters, ...pinned];
  const texts = all.map(([name, value]) => `${name}\0${value}\0`).join('');
  const body = Buffer.from(`${texts}\0`, 'latin1');
  const head = Buffer.alloc(8);
  head.writeInt32BE(body.length + 8, 0);
  head.writeInt32BE(protocolVersion, 4);
  return Buffer.concat([head, body]);
}

class SessionEndedError extends Error implements SessionEnded {
  override readonly name = 'SessionEnded';
}

interface Exchange {
  readonly take: (message: Buffer) => boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

class SessionConnection implements StatementConnection {
  processId = 0;
  greeting: Buffer = Buffer.alloc(0);
  private readonly socket: Socket;
  private readonly splitter = new FrameSplitter(frameBytesMax);
  private readonly gatherer: FrameGatherer;
  private current: Exchange | null = null;
  private ended: Error | null = null;
  private other: (message: Buffer) => void = () => undefined;
  private readonly closed: Promise<void>;

  constructor(path: string, messageBytesMax: number) {
    this.gatherer = new FrameGatherer(messageBytesMax);
    this.socket = connect({ path });
    this.socket.on('data', (chunk: Buffer) => this.receive(chunk));
    this.socket.on('error', (cause) => this.end(new SessionEndedError('the session broke', { cause })));
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.end(new SessionEndedError('PostgreSQL has ended the session'));
        resolve();
      });
    });
  }

  exchange(bytes: Uint8Array, take: (message: Buffer) => boolean): Promise<void> {
    if (this.ended !== null) return Promise.reject(this.ended);
    if (this.current !== null) return Promise.reject(new Error('an exchange is under way'));
    return new Promise((resolve, reject) => {
      this.current = { take, resolve, reject };
      this.socket.write(bytes);
    });
  }

  say(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  onOther(take: (message: Buffer) => void): void {
    this.other = take;
  }

  async close(): Promise<void> {
    if (this.ended === null) this.socket.end(terminate);
    await this.closed;
  }

  destroy(): void {
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    this.splitter.feed(chunk);
    while (this.splitter.next()) {
      const message = this.gatherer.add(this.splitter, chunk);
      if (message === null) continue;
      const { current } = this;
      if (current === null) this.other(message);
      else if (current.take(message)) {
        this.current = null;
        current.resolve();
      }
    }
  }

  private end(error: Error): void {
    this.ended ??= error;
    const { current } = this;
    this.current = null;
    current?.reject(this.ended);
  }
}
