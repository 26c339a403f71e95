/** A cable for tests: what is sent to its port reaches another, until it is cut, or frozen as by a machine that has lost its power. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Relay {
  readonly port: number;
  /** Nothing passes any more, and nobody is told. */
  readonly freeze: () => void;
  /** Breaks the connections there are. */
  readonly cut: () => void;
  readonly close: () => void;
}

/** `bitBytes`: bytes are handed on in bits of at most this many. */
export async function startRelay(port: number, bitBytes = Number.MAX_SAFE_INTEGER): Promise<Relay> {
  const sockets = new Set<Socket>();
  let frozen = false;
  const join = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.setNoDelay(true);
    from.on('error', () => {});
    from.on('close', () => frozen || to.destroy());
    from.on('data', (chunk) => {
      if (frozen) return;
      for (let at = 0; at < chunk.length; at += bitBytes) to.write(chunk.subarray(at, at + bitBytes));
    });
  };
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    join(near, far);
    join(far, near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    freeze: () => {
      frozen = true;
    },
    cut,
    close: () => {
      cut();
      server.close();
    },
  };
}
