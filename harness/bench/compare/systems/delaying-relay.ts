/**
 * A connection that takes longer: bytes between whoever connects and a port of this machine, each way so much later.
 *
 * What is on the way is bounded: beyond that the sender is not read from until some of it has arrived, as with a link of that length and a full window.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

const onTheWayMax = 4 * 1024 * 1024;

export interface Relay {
  readonly port: number;
  stop(): Promise<void>;
}

export async function startRelay(port: number, delayMs: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: '127.0.0.1', port, noDelay: true });
    for (const socket of [near, far]) sockets.add(socket);
    pass(near, far, delayMs);
    pass(far, near, delayMs);
    const end = (): void => {
      for (const socket of [near, far]) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of [near, far]) socket.on('error', end).on('close', end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** Timers of one length fire in the order in which they were set, so bytes keep theirs. */
function pass(from: Socket, to: Socket, delayMs: number): void {
  let onTheWay = 0;
  from.on('data', (chunk: Buffer) => {
    onTheWay += chunk.length;
    if (onTheWay > onTheWayMax) from.pause();
    setTimeout(() => {
      onTheWay -= chunk.length;
      if (to.destroyed) return;
      to.write(chunk);
      if (onTheWay <= onTheWayMax) from.resume();
    }, delayMs);
  });
}
