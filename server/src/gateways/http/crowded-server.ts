/**
 * Holds the connections of a server to so many: the oldest that has not asked for anything makes room for the newest, so that who only holds connections open keeps nobody out.
 *
 * Responsible for: which connection makes room. How long one may say nothing is the server's own to bound. Where all have asked for something and wait for its end, the newest is turned away.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export function boundConnections(server: Server, connectionsMax: number): void {
  /** By address and port, as what is encrypted is another socket than what carries it. */
  const all = new Map<string, Socket>();
  /** Those of them that are asked for nothing, the one first that has been so for the longest time. */
  const idle = new Set<string>();

  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket);
    if (all.has(name)) return;
    all.set(name, socket);
    idle.add(name);
    socket.once('close', () => {
      all.delete(name);
      idle.delete(name);
    });
    if (all.size <= connectionsMax) return;
    const [oldest = name] = idle;
    idle.delete(oldest);
    all.get(oldest)?.destroy();
  });
  server.on('request', ({ socket }, response) => {
    const name = nameOf(socket);
    idle.delete(name);
    response.once('close', () => {
      if (all.has(name)) idle.add(name);
    });
  });
  server.on('upgrade', ({ socket }) => idle.delete(nameOf(socket)));
}

function nameOf({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress ?? '?'} ${remotePort ?? '?'}`;
}
