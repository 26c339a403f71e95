/**
 * The connection of a session to PostgreSQL, by its Unix socket.
 *
 * Invariant: everything that PostgreSQL has said is read, although PostgreSQL has closed the connection. A failed write would destroy a socket of Node.js with the FATAL that waits in it unread.
 */
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';

/** What is read at once. One buffer for the life of the connection; what was read is copied out of it, which is much cheaper than a buffer for each read. */
const readBytes = 65_536;

type Done = (error?: Error | null) => void;

export function connectBackend(path: string, onBytes: (bytes: Buffer) => void): Socket {
  const options: SocketConstructorOpts & { readonly onread: OnReadOpts } = {
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback(count, buffer) {
        onBytes(Buffer.from(buffer.subarray(0, count)));
        return true;
      },
    },
  };
  return new BackendSocket(options).connect({ path });
}

/** Says goodbye, and waits until PostgreSQL closes the connection: what it says yet is thrown away. */
export function awaitEnd(backend: Socket): void {
  backend.end();
  backend.resume();
  // It keeps no process of Barista's that stops.
  backend.unref();
}

/** A write to a closed connection is no error: the end of what is read tells that it is closed. */
class BackendSocket extends Socket {
  override _write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
    // oxlint-disable-next-line no-underscore-dangle -- the name is Node's
    super._write(chunk, encoding, unlessClosed(done));
  }

  override _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], done: Done): void {
    // oxlint-disable-next-line no-underscore-dangle -- the name is Node's
    super._writev?.(chunks, unlessClosed(done));
  }
}

function unlessClosed(done: Done): Done {
  return (error) => done((error as NodeJS.ErrnoException | null)?.code === 'EPIPE' ? null : error);
}
