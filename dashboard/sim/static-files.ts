/** Hands out the files of a directory, as any plain server of files does, for tests of a page that needs no more. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { listenOn } from '../../server/src/gateways/listen.ts';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

export interface StaticFiles {
  readonly url: string;
  close(): void;
}

export async function serveFiles(dir: string): Promise<StaticFiles> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://files').pathname);
    const file = join(dir, path.endsWith('/') ? `${path}index.html` : path);
    readFile(file).then(
      (bytes) => response.setHeader('content-type', types[extname(file)] ?? 'text/plain').end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}
