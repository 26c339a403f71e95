/**
 * Holds the connections of a server to so many: the oldest that has not asked for anything makes room for the newest, of the source that has most of them. So connections that ask for nothing keep nobody out.
 *
 * Responsible for: which connection makes room. How long one may say nothing is the server's own to bound. Where all have asked for something and wait for its end, the newest is turned away.
 */
import { BySource, sourceOf } from '../by-source.ts';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

interface Connection {
  readonly socket: Socket;
  readonly source: string;
  /** Requests under way: a client may send several at once. */
  open: number;
}

export function boundConnections(server: Server, connectionsMax: number): void {
  /** By address and port, as what is encrypted is another socket than what carries it. */
  const all = new Map<string, Connection>();
  /** Those of them that are asked for nothing, the one first that has been so for the longest time. */
  const idle = new BySource<Connection>();

  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket);
    if (all.has(name)) return;
    const source = sourceOf(socket.remoteAddress ?? '');
    const connection = { socket, source, open: 0 };
    all.set(name, connection);
    idle.add(source, connection);
    socket.once('close', () => {
      all.delete(name);
      idle.delete(source, connection);
    });
    if (all.size <= connectionsMax) return;
    // The newest is in it.
    const oldest = idle.oldestOfCrowd() ?? connection;
    idle.delete(oldest.source, oldest);
    oldest.socket.destroy();
  });
  server.on('request', ({ socket }, response) => {
    const name = nameOf(socket);
    const connection = all.get(name);
    if (connection === undefined) return;
    idle.delete(connection.source, connection);
    connection.open += 1;
    response.once('close', () => {
      connection.open -= 1;
      if (connection.open === 0 && all.get(name) === connection) idle.add(connection.source, connection);
    });
  });
  server.on('upgrade', ({ socket }) => {
    const connection = all.get(nameOf(socket));
    if (connection !== undefined) idle.delete(connection.source, connection);
  });
}

function nameOf({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress ?? '?'} ${remotePort ?? '?'}`;
}
