/** The connection of a session to PostgreSQL, by its Unix socket. */
import { connect, type Socket } from 'node:net';

/** What is read at once. One buffer for the life of the connection; what was read is copied out of it, which is much cheaper than a buffer for each read. */
const readBytes = 65_536;

export function connectBackend(path: string, onBytes: (bytes: Buffer) => void): Socket {
  return connect({
    path,
    onread: {
      buffer: Buffer.allocUnsafeSlow(readBytes),
      callback(count, buffer) {
        onBytes(Buffer.from(buffer.subarray(0, count)));
        return true;
      },
    },
  });
}
