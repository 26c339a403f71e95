/**
 * Places ahead of the replicas' Thrift ports that lose one answer: that of the first statement which begins with a given text. Before its connection breaks, its session is closed by another replica: so nobody knows any more what
 * became of it.
 *
 * Reads framed messages of the binary protocol, as the samples send them.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { type Fields, TestClient } from '../../server/src/gateways/thrift/testing/thrift-client.ts';

const host = '127.0.0.1';
const lengthBytes = 4;

export class LossyPlaces {
  /** Answers that were lost. */
  lost = 0;
  private readonly ports: readonly number[];
  private readonly statement: string;
  private servers: Server[] = [];
  private readonly sockets = new Set<Socket>();

  static async ahead(ports: readonly number[], statement: string): Promise<LossyPlaces> {
    const places = new LossyPlaces(ports, statement);
    places.servers = await Promise.all(ports.map((_, index) => places.listen(index)));
    return places;
  }

  private constructor(ports: readonly number[], statement: string) {
    this.ports = ports;
    this.statement = statement;
  }

  get places(): readonly string[] {
    return this.servers.map((server) => `${host}:${(server.address() as AddressInfo).port}`);
  }

  close(): void {
    for (const server of this.servers) server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private listen(index: number): Promise<Server> {
    const server = createServer((client) => this.serve(client, index));
    return new Promise((resolve) => server.listen(0, host, () => resolve(server)));
  }

  private serve(client: Socket, index: number): void {
    const replica = connect(this.ports[index]!, host);
    const both = [client, replica];
    const end = (): void => {
      for (const socket of both) socket.destroy();
    };
    for (const socket of both) {
      this.sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    let waiting = Buffer.alloc(0);
    let handle: Fields | null = null;
    client.on('data', (chunk) => {
      waiting = Buffer.concat([waiting, chunk]);
      while (waiting.length >= lengthBytes && waiting.length >= lengthBytes + waiting.readInt32BE(0)) {
        const length = lengthBytes + waiting.readInt32BE(0);
        const message = waiting.subarray(0, length);
        waiting = waiting.subarray(length);
        if (this.lost === 0 && message.includes(this.statement)) {
          this.lost += 1;
          handle = handleIn(message.subarray(lengthBytes));
        }
        replica.write(message);
      }
    });
    replica.on('data', (chunk) => {
      if (handle === null) client.write(chunk);
      else void this.closeSession(handle, index).finally(end);
    });
  }

  private async closeSession(handle: Fields, index: number): Promise<void> {
    const other = await TestClient.connect({ port: this.ports[(index + 1) % this.ports.length]! });
    await other.call('close_connection', { 1: handle });
    other.close();
  }
}

/** The Connection that is the first argument of a call. */
function handleIn(message: Buffer): Fields {
  const nameLength = message.readInt32BE(4);
  // The name, the number of the call, and the head of the first argument, a struct.
  let at = 8 + nameLength + 4 + 3;
  const fields: Record<number, string> = {};
  while (message[at] !== 0) {
    const id = message.readInt16BE(at + 1);
    const length = message.readInt32BE(at + 3);
    fields[id] = message.toString('utf8', at + 7, at + 7 + length);
    at += 7 + length;
  }
  return fields;
}
