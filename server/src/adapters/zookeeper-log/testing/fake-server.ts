/**
 * A server that speaks just enough of ZooKeeper's protocol to misbehave on purpose. For tests of the client: it keeps no data.
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createJuteReader, createJuteWriter, createPacketSplitter } from '../client/jute.ts';
import { XID_PING } from '../client/protocol.ts';

export interface FakeServer {
  readonly address: string;
  /** Sessions that were asked for, in order; 0n: a new one. */
  readonly asked: bigint[];
  /** Types of the requests that came, pings left out. */
  readonly requests: number[];
  /** What it does with a connection: grants a session, says that it has expired, or says nothing. */
  greeting: 'grant' | 'expired' | 'silence';
  /** What it does with a request: answers, keeps quiet, answers another one's, or hangs up. */
  reply: 'ok' | 'silence' | 'otherXid' | 'hangUp';
  readonly close: () => Promise<void>;
}

export async function startFakeServer(timeoutMs = 300): Promise<FakeServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const split = createPacketSplitter(1_000_000);
    let isGranted = false;
    socket.on('data', (chunk) => {
      for (const packet of split(chunk)) {
        if (isGranted) answer(socket, packet);
        else isGranted = greet(socket, packet);
      }
    });
  });

  const greet = (socket: Socket, packet: Buffer): boolean => {
    const reader = createJuteReader(packet);
    reader.skip(16);
    fake.asked.push(reader.long());
    if (fake.greeting === 'silence') return false;
    const writer = createJuteWriter();
    writer.int(0);
    writer.int(fake.greeting === 'expired' ? 0 : timeoutMs);
    writer.long(77n);
    writer.buffer(new Uint8Array(16));
    socket.write(writer.packet());
    return true;
  };

  const answer = (socket: Socket, packet: Buffer): void => {
    const reader = createJuteReader(packet);
    const xid = reader.int();
    const type = reader.int();
    if (xid !== XID_PING) fake.requests.push(type);
    if (xid !== XID_PING && fake.reply === 'hangUp') socket.destroy();
    if (fake.reply === 'silence' || fake.reply === 'hangUp') return;
    const writer = createJuteWriter();
    writer.int(fake.reply === 'otherXid' && xid !== XID_PING ? xid + 5 : xid);
    writer.long(1n);
    writer.int(0);
    socket.write(writer.packet());
  };

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const fake: FakeServer = {
    address: `127.0.0.1:${address.port}`,
    asked: [],
    requests: [],
    greeting: 'grant',
    reply: 'ok',
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
  return fake;
}
