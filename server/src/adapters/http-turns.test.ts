import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { connectionOf, onUpgrade, readByTurns } from './http-turns.ts';

let server: Server;
let sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  server = createServer(answer);
  readByTurns(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

/** All that comes until `ends` is in it. */
async function hear(socket: Socket, ends: string): Promise<string> {
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.includes(ends)) break;
  }
  return text;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`;

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

describe('a server that reads by turns', () => {
  it('begins a few requests in a turn, however many come at once', async () => {
    let counted = 0;
    const port = await serve((_, response) => {
      counted += 1;
      response.end();
    });
    let turns = 0;
    let most = 0;
    let before = 0;
    const look = (): void => {
      turns += 1;
      most = Math.max(most, counted - before);
      before = counted;
      if (counted < 4000) setImmediate(look);
    };
    setImmediate(look);
    for (let n = 0; n < 4; n += 1) open(port).write(get('/').repeat(1000));
    await expect.poll(() => counted).toBe(4000);
    expect(most).toBeLessThanOrEqual(16);
    expect(turns).toBeGreaterThan(250);
  });

  it('answers a client while another sends without a pause', async () => {
    const order: string[] = [];
    const port = await serve(({ url }, response) => {
      order.push(url ?? '');
      response.end();
    });
    const crowd = open(port);
    crowd.write(get('/crowd').repeat(20_000));
    await once(server, 'request');
    const one = open(port);
    one.write(get('/one'));
    await hear(one, '\r\n\r\n');
    expect(order.indexOf('/one')).toBeLessThan(19_000);
  });

  it('begins no request before the one ahead of it is answered', async () => {
    const waiting: ServerResponse[] = [];
    const port = await serve((_, response) => void waiting.push(response));
    const socket = open(port);
    socket.write(get('/1') + get('/2'));
    await expect.poll(() => waiting.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(waiting).toHaveLength(1);
    waiting[0]!.end('first');
    await expect.poll(() => waiting.length).toBe(2);
    waiting[1]!.end('second');
    expect(await hear(socket, 'second')).toMatch(/first[^]*second/);
  });

  it('reads bodies of any length, whatever is in them, and what comes behind', async () => {
    const port = await serve((request, response) => {
      void bodyOf(request).then((body) => response.end(`<${body.length} ${body.slice(-3)}>`));
    });
    const body = `${'\r\n\r\n'.repeat(10_000)}end`;
    const socket = open(port);
    const head = (more: string): string => `POST / HTTP/1.1\r\nHost: here\r\n${more}\r\n\r\n`;
    const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    socket.write(
      head(`Content-Length: ${body.length}`) + body + head('Transfer-Encoding: chunked') + chunked + get('/'),
    );
    const heard = await hear(socket, '<0 >');
    expect(heard.match(/<[^>]*>/g)).toEqual(['<40003 end>', '<40003 end>', '<0 >']);
  });

  it('takes a request byte by byte, and closes where it is told to', async () => {
    const port = await serve((_, response) => response.end('done'));
    const socket = open(port).setNoDelay();
    for (const byte of 'GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n') {
      socket.write(byte);
      await new Promise(setImmediate);
    }
    expect(await hear(socket, 'never')).toContain('done');
    expect(socket.readableEnded).toBe(true);
  });

  it('notices a client that goes', async () => {
    const gone: boolean[] = [];
    const port = await serve((_, response) => {
      response.on('close', () => gone.push(response.writableFinished));
    });
    const socket = open(port);
    socket.write(get('/'));
    await new Promise((resolve) => server.once('request', resolve));
    socket.resetAndDestroy();
    await expect.poll(() => gone).toEqual([false]);
  });

  it('does not read on from a client that does not read its answers', async () => {
    let counted = 0;
    const port = await serve((_, response) => {
      counted += 1;
      response.end('x'.repeat(1_000_000));
    });
    const socket = open(port);
    socket.pause();
    socket.write(get('/').repeat(1000));
    await expect.poll(() => counted).toBeGreaterThan(0);
    let before = -1;
    while (before !== counted) {
      before = counted;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    // As many as the kernel holds.
    expect(counted).toBeLessThan(50);
  });

  it('gives an upgraded connection back as it came, with what was sent behind', async () => {
    const port = await serve((_, response) => response.end());
    const heard: string[] = [];
    onUpgrade(server, (request, socket, head) => {
      expect(socket).toBe(connectionOf(request));
      expect((socket as Socket).remotePort).toBe(request.socket.remotePort);
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      heard.push(String(head));
      socket.on('data', (chunk) => heard.push(String(chunk))).on('end', () => socket.end());
    });
    const socket = open(port);
    socket.write('GET / HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\none\r\n\r\ntwo');
    await hear(socket, '101');
    socket.end('three');
    await expect.poll(() => heard.join('')).toBe('one\r\n\r\ntwothree');
  });
});
