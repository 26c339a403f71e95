/** Starting and stopping servers with promises. */
import type { Server as HttpServer } from 'node:http';
import type { Server } from 'node:net';

/** Connections that have come and were not accepted yet. The kernel drops what comes beyond it, and whoever sent that tries again after 1 s, then after 3 s: a burst of strangers must not cost that. The system's own bound counts, too (net.core.somaxconn). */
const backlog = 4_096;

/** Resolves with the port, which is a free one if 0 was asked for. @throws Error that names the address, with the system's `code` (EADDRINUSE and the like), `syscall` and `port` */
export function listenOn(
  server: Server,
  listen: { readonly host: string; readonly port: number },
): Promise<number> {
  const { host, port } = listen;
  return new Promise((resolve, reject) => {
    function fail(cause: NodeJS.ErrnoException): void {
      const why = cause.code === 'EADDRINUSE' ? 'it is in use by another program' : cause.message;
      const error = new Error(`cannot listen on port ${port} of ${host}: ${why}`, { cause });
      reject(Object.assign(error, { code: cause.code, syscall: cause.syscall, port }));
    }
    server.once('error', fail);
    server.listen({ host, port, exclusive: true, backlog }, () => {
      server.off('error', fail);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/** Keep-alive connections and WebSockets included. */
export function closeServer(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
