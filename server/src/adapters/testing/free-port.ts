/** A port of this machine for a test's own server. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below those that systems give to outgoing connections, any of which could take the port before it is used. Suites that run at the same time
 * have ranges of their own (TEST_PORTS, in vitest.config.ts), and so has each of a suite's workers: nobody else asks for a port, or looks
 * whether it is free, while a test closes a server and opens it again.
 */
const portsPerWorker = 500;
const [first, last] = rangeOfWorker(process.env['TEST_PORTS'] ?? '15000-16000');

let next = randomInt(first, last);

function rangeOfWorker(range: string): [number, number] {
  const [from, to] = range.split('-').map(Number) as [number, number];
  const mine = from + (Number(process.env['VITEST_POOL_ID'] ?? 1) - 1) * portsPerWorker;
  if (!(mine + portsPerWorker <= to)) throw new Error(`TEST_PORTS=${range} has no ports for one worker more`);
  return [mine, mine + portsPerWorker];
}

/** Free when it was asked for, and not given out by this process for as long as there are others. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < last - first; attempt++) {
    const port = next;
    next = next + 1 < last ? next + 1 : first;
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port from ${first} to ${last}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
