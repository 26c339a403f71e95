/**
 * Holds the connections of a server to so many: the oldest that has not asked for anything makes room for the newest, of the source that has most of them. So connections that ask for nothing keep nobody out.
 *
 * Responsible for: which connection makes room. How long one may say nothing is the server's own to bound. Where all have asked for something and wait for its end, the newest is turned away.
 */
import { BySource, sourceOf } from '../by-source.ts';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export function boundConnections(server: Server, connectionsMax: number): void {
  /** By address and port, as what is encrypted is another socket than what carries it. */
  const all = new Map<string, Socket>();
  /** Those of them that are asked for nothing, the one first that has been so for the longest time. */
  const idle = new BySource<string>();

  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket);
    if (all.has(name)) return;
    all.set(name, socket);
    const source = sourceOfSocket(socket);
    idle.add(source, name);
    socket.once('close', () => {
      all.delete(name);
      idle.delete(source, name);
    });
    if (all.size <= connectionsMax) return;
    // The newest is in it.
    const oldest = all.get(idle.oldestOfCrowd(source) ?? name) ?? socket;
    idle.delete(sourceOfSocket(oldest), nameOf(oldest));
    oldest.destroy();
  });
  server.on('request', ({ socket }, response) => {
    const name = nameOf(socket);
    const source = sourceOfSocket(socket);
    idle.delete(source, name);
    response.once('close', () => {
      if (all.has(name)) idle.add(source, name);
    });
  });
  server.on('upgrade', ({ socket }) => idle.delete(sourceOfSocket(socket), nameOf(socket)));
}

function sourceOfSocket({ remoteAddress }: Pick<Socket, 'remoteAddress'>): string {
  return sourceOf(remoteAddress ?? '');
}

function nameOf({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress ?? '?'} ${remotePort ?? '?'}`;
}
