/**
 * Has an HTTP server read its connections by turns, request by request, so that no client makes it work for long in one turn of the thread.
 *
 * By itself Node.js parses all that one read has brought, 64 KiB of each connection, and begins every request in it at once: a hundred connections that
 * send small requests without a pause stop the thread for ten seconds.
 *
 * Responsible for: handing the parser so much of a connection as ends a head, and no more before that request is answered; a few pieces in a turn, of all servers together; and giving
 * an upgraded connection back as it came. Knows no routes.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** In one turn of the thread. */
const piecesInTurn = 8;
const pieceBytesMax = 4096;
const endOfHead = Buffer.from('\r\n\r\n');

const ready = new Set<HttpConnection>();
let isTurnDue = false;

function awaitTurn(one: HttpConnection): void {
  ready.add(one);
  if (isTurnDue) return;
  isTurnDue = true;
  setImmediate(takeTurn);
}

function takeTurn(): void {
  isTurnDue = false;
  let pieces = 0;
  for (const one of ready) {
    ready.delete(one);
    one.readPiece();
    pieces += 1;
    if (pieces >= piecesInTurn) break;
  }
  const [next] = ready;
  if (next !== undefined) awaitTurn(next);
}

/** The connection as the server's parser sees it. */
class HttpConnection extends Duplex {
  readonly raw: Socket;
  private readonly held: Buffer[] = [];
  private hasEnded = false;
  private isWanted = false;
  private isReleased = false;
  /** The newest request, until it is answered. */
  private request: IncomingMessage | null = null;

  constructor(raw: Socket) {
    super({ allowHalfOpen: true });
    this.raw = raw;
    raw.on('data', this.onData).on('end', this.onEnd).on('error', this.onError);
    raw.on('close', this.onClose).on('timeout', this.onTimeout);
    // It may have been paused by whoever had it before.
    raw.resume();
  }

  get remoteAddress(): string | undefined {
    return this.raw.remoteAddress;
  }

  get remotePort(): number | undefined {
    return this.raw.remotePort;
  }

  /** With this the server bounds how long a client may say nothing. */
  setTimeout(ms: number, callback?: () => void): this {
    this.raw.setTimeout(ms);
    if (callback !== undefined) this.once('timeout', callback);
    return this;
  }

  /** As of a socket: the server ends with it what it does not keep. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  begin(request: IncomingMessage, response: ServerResponse): void {
    this.request = request;
    response.once('close', () => {
      if (this.request === request) this.request = null;
      awaitTurn(this);
    });
  }

  /** Hands it back, paused, with what of it was not read. */
  release(): Buffer {
    const { raw } = this;
    this.isReleased = true;
    raw.off('data', this.onData).off('end', this.onEnd).off('error', this.onError);
    raw.off('close', this.onClose).off('timeout', this.onTimeout);
    raw.pause();
    // As it is when nobody has read of it, so that it flows when somebody does.
    Reflect.set(raw, 'readableFlowing', null);
    return Buffer.concat(this.held.splice(0));
  }

  readPiece(): void {
    if (!this.isWanted || this.isReleased || this.destroyed) return;
    // One request after the other: its body is read, and nothing behind it.
    if (this.request?.complete === true) return;
    const piece = this.nextPiece();
    if (piece === null) {
      if (this.hasEnded) this.push(null);
      else this.raw.resume();
      return;
    }
    this.isWanted = this.push(piece);
    if (this.isWanted) awaitTurn(this);
  }

  override _read(): void {
    this.isWanted = true;
    awaitTurn(this);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.raw.write(chunk, done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.raw.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.raw.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    ready.delete(this);
    if (!this.isReleased) this.raw.destroy();
    done(error);
  }

  private nextPiece(): Buffer | null {
    const chunk = this.held.shift();
    if (chunk === undefined) return null;
    const at = chunk.subarray(0, pieceBytesMax).indexOf(endOfHead);
    const end = at < 0 ? pieceBytesMax : at + endOfHead.length;
    if (end >= chunk.length) return chunk;
    this.held.unshift(chunk.subarray(end));
    return chunk.subarray(0, end);
  }

  private readonly onData = (chunk: Buffer): void => {
    this.held.push(chunk);
    this.raw.pause();
    awaitTurn(this);
  };

  private readonly onEnd = (): void => {
    this.hasEnded = true;
    awaitTurn(this);
  };

  private readonly onError = (error: Error): void => void this.destroy(error);
  private readonly onClose = (): void => void this.destroy();
  private readonly onTimeout = (): void => void this.emit('timeout');
}

/** Before it listens. `on`: what it hears of each new connection: of HTTPS `secureConnection`. */
export function readByTurns(server: Server, on: 'connection' | 'secureConnection' = 'connection'): void {
  const [serve] = server.listeners(on) as [(this: Server, socket: Duplex) => void];
  server.off(on, serve);
  server.on(on, (raw: Socket) => serve.call(server, new HttpConnection(raw)));
  server.prependListener('request', (request, response) => {
    if (request.socket instanceof HttpConnection) request.socket.begin(request, response);
  });
}

export type OnUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** As the server's own event, with the connection itself. */
export function onUpgrade(server: Server, listener: OnUpgrade): void {
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    if (!(stream instanceof HttpConnection)) return listener(request, stream, head);
    const rest = stream.release();
    request.socket = stream.raw;
    listener(request, stream.raw, Buffer.concat([head, rest]));
  });
}

/** Of a request to a server that reads by turns: what it came by. */
export function connectionOf({ socket }: IncomingMessage): Socket {
  return socket instanceof HttpConnection ? socket.raw : socket;
}
