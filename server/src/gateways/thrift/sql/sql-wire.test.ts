/** What a wire says to a gateway that answers in an order of the test's own. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { commandComplete, frameOf, readyForQuery } from '../../../pgwire/backend-messages.ts';
import { query } from '../../../pgwire/frontend-messages.ts';
import { back, front } from '../../../pgwire/message-types.ts';
import { SqlWire } from './sql-wire.ts';

let server: Server;
/** In the order in which they came. */
let connections: { readonly socket: Socket; said: Buffer }[];

beforeEach(async () => {
  connections = [];
  isAway = false;
  server = createServer((socket) => {
    const connection = { socket, said: Buffer.alloc(0) };
    connections.push(connection);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      connection.said = Buffer.concat([connection.said, chunk]);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  for (const { socket } of connections) socket.destroy();
  server.close();
});

const until = (isSo: () => boolean): Promise<void> => expect.poll(isSo).toBe(true);

let isAway: boolean;

function dial(): Promise<Socket> {
  if (isAway) return Promise.reject(new Error('nobody is there'));
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
  });
}

async function loggedIn(): Promise<SqlWire> {
  const login = { user: 'u', password: 'p', database: 'd', timeoutMs: 5_000 };
  const options = { connectAgain: dial, answerBytesMax: 10, takeBytes: () => true };
  const wire = SqlWire.logIn(await dial(), login, options);
  await until(() => (connections[0]?.said.length ?? 0) > 0);
  const authenticated = frameOf(back.authentication, Buffer.alloc(4));
  const key = frameOf(back.backendKeyData, Buffer.alloc(8, 7));
  connections[0]?.socket.write(Buffer.concat([authenticated, key, readyForQuery('I')]));
  return wire;
}

const longRow = frameOf(back.dataRow, Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 99]), Buffer.alloc(99)]));

it('does not end a request while its cancel is under way, which would strike the next one', async () => {
  const wire = await loggedIn();
  let isAnswered = false;
  const answer = wire.request(query('SELECT a long row')).then((it) => {
    isAnswered = true;
    return it;
  });
  await until(() => connections[0]?.said.includes('long row') ?? false);
  // It ends by itself, before the cancel is there.
  connections[0]?.socket.write(Buffer.concat([longRow, commandComplete('SELECT 1'), readyForQuery('I')]));
  await until(() => (connections[1]?.said.length ?? 0) === 16);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(isAnswered).toBe(false);
  connections[1]?.socket.end();
  expect((await answer).refusal).toBe('tooLong');
});

it('cancels no COPY that it has refused', async () => {
  const wire = await loggedIn();
  const answer = wire.request(query('COPY t FROM STDIN'));
  await until(() => connections[0]?.said.includes('COPY') ?? false);
  connections[0]?.socket.write(frameOf(back.copyInResponse, Buffer.from([0, 0, 0])));
  await until(() => connections[0]?.said.includes(front.copyFail) ?? false);
  const failed = frameOf(back.errorResponse, Buffer.from('SERROR\0C57014\0Mno\0\0'));
  connections[0]?.socket.write(Buffer.concat([failed, readyForQuery('I'), readyForQuery('I')]));
  expect((await answer).refusal).toBe('copy');
  expect(connections).toHaveLength(1);
});

it('gives up a cancel that nobody can be asked for', async () => {
  const wire = await loggedIn();
  const answer = wire.request(query('SELECT a long row'));
  await until(() => connections[0]?.said.includes('long row') ?? false);
  isAway = true;
  connections[0]?.socket.write(Buffer.concat([longRow, commandComplete('SELECT 1'), readyForQuery('I')]));
  expect((await answer).refusal).toBe('tooLong');
});
