import { once } from 'node:events';
import { createServer, get, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../ports/testing/eventually.ts';
import { boundConnections } from './crowded-server.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

/** A server for so many connections, whose answers wait to be given. */
async function start(connectionsMax: number) {
  const asked: ServerResponse[] = [];
  const server = createServer((_request, response) => asked.push(response));
  boundConnections(server, connectionsMax);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

const open: (socket: Socket) => boolean = (socket) => !socket.destroyed && !socket.readableEnded;

async function come(port: number, said = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}).resume();
  endings.push(() => socket.destroy());
  await once(socket, 'connect');
  if (said !== '') socket.write(said);
  return socket;
}

describe('a server with many connections', () => {
  it('answers, however many say nothing, or never end what they say', async () => {
    const { port, asked } = await start(4);
    const crowd: Socket[] = [];
    for (const said of ['', 'GET / HTTP/1.1\r\nx: ', '', 'GET / HTTP/1.1\r\nx: ', '', ''])
      crowd.push(await come(port, said));
    await eventually(() => expect(crowd.map(open)).toEqual([false, false, true, true, true, true]));
    const answer = once(get({ port, host: '127.0.0.1' }), 'response') as Promise<[{ statusCode: number }]>;
    await eventually(() => expect(asked).toHaveLength(1));
    asked[0]!.end();
    expect((await answer)[0].statusCode).toBe(200);
    await eventually(() => expect(crowd.map(open)).toEqual([false, false, false, true, true, true]));
  });

  it('forgets a connection that sent several requests at once', async () => {
    const { port, asked } = await start(2);
    const request = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
    const several = await come(port, request.repeat(3));
    await eventually(() => expect(asked).toHaveLength(3));
    for (const response of asked) response.end();
    await once(several, 'data');
    several.destroy();
    const [first, second] = [await come(port), await come(port)];
    const third = await come(port);
    await eventually(() => expect([first, second, third].map(open)).toEqual([false, true, true]));
  });

  it('ends none that waits for its answer, and the one first that has been idle for longest', async () => {
    const { port, asked } = await start(2);
    const request = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
    const [first, second] = [await come(port, request), await come(port, request)];
    await eventually(() => expect(asked).toHaveLength(2));
    const third = await come(port);
    await eventually(() => expect([first, second, third].map(open)).toEqual([true, true, false]));
    asked[1]!.end();
    await once(second, 'data');
    asked[0]!.end();
    await once(first, 'data');
    const fourth = await come(port);
    await eventually(() => expect([first, second, fourth].map(open)).toEqual([true, false, true]));
  });
});
