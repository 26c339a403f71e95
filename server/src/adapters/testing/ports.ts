/**
 * Ports of this machine for the servers of tests and tools.
 *
 * Each process takes blocks of ports, and holds a block by listening on its first port for as long as the process lives: so no two processes that
 * ask here are given the same port, whoever started them, and nobody looks whether a port is free while a test closes a server and opens it again.
 * All blocks are below the ports that systems give to outgoing connections, any of which could take a port before it is used.
 */
import { createServer, type Server } from 'node:net';

const blockPorts = 250;
const blocks = { first: 10_000, count: 88 };

/** The next port to give of the block at hand, and its end. Both 0: there is none. */
let next = 0;
let end = 0;
/** Blocks of this process, by their first port. */
const held: number[] = [];
let allocating: Promise<unknown> = Promise.resolve();

/** Free when it was asked for, and not given out again while there are others. */
export function freePort(): Promise<number> {
  return freePorts(1);
}

/** The first of `count` ports in a row, at most 249. */
export function freePorts(count: number): Promise<number> {
  if (count >= blockPorts) throw new Error(`${count} ports in a row are more than a block has`);
  const given = allocating.then(() => allocate(count));
  allocating = given.catch(() => undefined);
  return given;
}

async function allocate(count: number): Promise<number> {
  for (;;) {
    for (; next + count <= end; next += 1) {
      if (!(await areFree(next, count))) continue;
      next += count;
      return next - count;
    }
    await takeBlock();
  }
}

/** A new one; if there is none, the oldest of this process again. */
async function takeBlock(): Promise<void> {
  // Processes that start at the same time begin at different places, and do not meet at each.
  for (let tried = 0; tried < blocks.count; tried += 1) {
    const first = blocks.first + ((process.pid + tried) % blocks.count) * blockPorts;
    if (held.includes(first)) continue;
    const guard = await listen(first);
    if (guard === null) continue;
    guard.unref();
    held.push(first);
    return useBlock(first);
  }
  const oldest = held.shift();
  if (oldest === undefined) throw new Error('other processes hold all ports that are for tests');
  held.push(oldest);
  useBlock(oldest);
}

function useBlock(first: number): void {
  next = first + 1;
  end = first + blockPorts;
}

async function areFree(first: number, count: number): Promise<boolean> {
  for (let port = first; port < first + count; port += 1) {
    const server = await listen(port);
    if (server === null) return false;
    await new Promise((resolve) => server.close(resolve));
  }
  return true;
}

/** Null: the port is taken. */
function listen(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
