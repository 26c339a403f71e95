/** Starting and stopping an HTTP server with promises, keep-alive connections and WebSockets included. */
import type { Server } from 'node:http';

/** Resolves with the port. @throws if the address cannot be listened on (EADDRINUSE and the like) */
export function listenOn(
  server: Server,
  listen: { readonly host: string; readonly port: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: listen.host, port: listen.port, exclusive: true }, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : listen.port);
    });
  });
}

export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
