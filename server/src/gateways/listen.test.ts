import { readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { listenOn } from './listen.ts';

const server = createServer();
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  server.close();
});

/** The kernel's own bound. */
function longestQueue(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  } catch {
    return 0;
  }
}

describe('a door', () => {
  it.runIf(longestQueue() >= 2_000)('has room for a thousand that come at once', async () => {
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    let connected = 0;
    server.on('connection', (socket) => clients.push(socket));
    // Nothing is accepted before this turn of the process is over. One that is dropped comes again a second later.
    for (let count = 0; count < 1_000; count += 1)
      clients.push(connect(port, '127.0.0.1', () => void (connected += 1)));
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(connected).toBe(1_000);
  });
});
