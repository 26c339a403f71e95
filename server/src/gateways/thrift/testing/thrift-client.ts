/** A client of the API for tests: the library's own protocol, and a socket on which one may say anything. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { BytesTransport } from '../codec/bytes-transport.ts';
import { MessageReader } from '../codec/message-reader.ts';
import { type Protocol, protocolOver } from '../codec/protocol.ts';
import { messageType, wireType } from '../codec/wire-types.ts';

/** Values of a struct by their ids: strings, numbers, structs, lists of strings. */
export type Fields = {
  readonly [id: number]: string | Buffer | number | Fields | readonly (string | Buffer)[];
};
/** What a struct was read as. */
export type Values = { [id: number]: Value };
export type Value = Buffer | number | boolean | Values | Value[];

export function writeFields(protocol: Protocol, fields: Fields): void {
  for (const [id, value] of Object.entries(fields)) {
    const field = (type: number): void => protocol.writeFieldBegin('', type, Number(id));
    if (typeof value === 'number') {
      field(wireType.i32);
      protocol.writeI32(value);
    } else if (typeof value === 'string' || Buffer.isBuffer(value)) {
      field(wireType.string);
      protocol.writeString(value);
    } else if (Array.isArray(value)) {
      field(wireType.list);
      protocol.writeListBegin(wireType.string, value.length);
      for (const each of value) protocol.writeString(each);
    } else {
      field(wireType.struct);
      writeFields(protocol, value);
    }
  }
  protocol.writeFieldStop();
}

export function callMessage(
  name: string,
  fields: Fields,
  { sequence = 1, type = messageType.call }: { sequence?: number; type?: number } = {},
): Buffer {
  const transport = new BytesTransport();
  const protocol = protocolOver(transport);
  protocol.writeMessageBegin(name, type, sequence);
  writeFields(protocol, fields);
  protocol.writeMessageEnd();
  return transport.written();
}

export function frameOf(message: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(message.length, 0);
  return Buffer.concat([length, message]);
}

function readValue(protocol: Protocol, type: number): Value {
  switch (type) {
    case wireType.bool:
      return protocol.readBool();
    case wireType.double:
      return protocol.readDouble();
    case wireType.i32:
      return protocol.readI32();
    case wireType.string:
      return protocol.readBinary();
    case wireType.list: {
      const { etype, size } = protocol.readListBegin();
      return Array.from({ length: size }, () => readValue(protocol, etype));
    }
    case wireType.struct: {
      const values: Values = {};
      for (;;) {
        const { ftype, fid } = protocol.readFieldBegin();
        if (ftype === wireType.stop) return values;
        values[fid] = readValue(protocol, ftype);
      }
    }
    default:
      throw new Error(`a type ${type} was answered`);
  }
}

/** `exception`: of Thrift itself. */
export interface Told {
  readonly name: string;
  readonly isException: boolean;
  readonly sequence: number;
  readonly values: Values;
}

export function readReply(message: Buffer): Told {
  const protocol = protocolOver(new BytesTransport(message));
  const { fname: name, mtype, rseqid: sequence } = protocol.readMessageBegin();
  const values = readValue(protocol, wireType.struct) as Values;
  return { name, isException: mtype === messageType.exception, sequence, values };
}

export class DbFailure extends Error {
  readonly errorCode: number;
  readonly details: string;

  constructor(values: Values) {
    super(textOf(values[2]));
    this.errorCode = Number(values[1]);
    this.details = textOf(values[3]);
  }

  get sqlState(): string {
    return this.details.slice(0, 5);
  }
}

export function textOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString() : '';
}

export interface Rows {
  readonly rowCount: number;
  readonly rows: readonly (readonly string[])[];
  readonly names: readonly string[];
  readonly types: readonly string[];
}

export interface TestClientOptions {
  readonly port: number;
  readonly host?: string;
  readonly isFramed?: boolean;
  readonly tls?: boolean;
}

const bounds = { bytesMax: 2 ** 26, elementsMax: 2 ** 26, depthMax: 16 };

export class TestClient {
  readonly socket: Socket;
  private readonly isFramed: boolean;
  private buffered: Buffer = Buffer.alloc(0);
  private wake: () => void = () => {};
  private sequence = 0;

  private constructor(socket: Socket, isFramed: boolean) {
    this.socket = socket;
    this.isFramed = isFramed;
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      this.buffered = Buffer.concat([this.buffered, chunk]);
      this.wake();
    });
    socket.on('close', () => this.wake());
  }

  static async connect({
    port,
    host = '127.0.0.1',
    isFramed = false,
    tls = false,
  }: TestClientOptions): Promise<TestClient> {
    const socket = tls ? connectTls({ host, port, rejectUnauthorized: false }) : connect({ host, port });
    await new Promise<void>((resolve, reject) => {
      socket.once(tls ? 'secureConnect' : 'connect', resolve).once('error', reject);
    });
    return new TestClient(socket, isFramed);
  }

  send(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  /** Null: it was closed. */
  async reply(): Promise<Told | null> {
    for (;;) {
      const message = this.whole();
      if (message !== null) return readReply(message);
      if (this.socket.destroyed || this.socket.readableEnded) return null;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  /** An answer begins as a call does, but for its type. */
  private whole(): Buffer | null {
    if (this.buffered.length < 8) return null;
    const bytes = Buffer.from(this.buffered);
    bytes[this.isFramed ? 7 : 3] = messageType.call;
    const reader = new MessageReader(bounds);
    reader.feed(bytes);
    const message = reader.next();
    if (message === null) return null;
    const taken = message.length + (this.isFramed ? 4 : 0);
    const whole = this.buffered.subarray(this.isFramed ? 4 : 0, taken);
    this.buffered = this.buffered.subarray(taken);
    return whole;
  }

  /** @throws DbFailure */
  async call(name: string, fields: Fields): Promise<Value | undefined> {
    this.sequence += 1;
    const message = callMessage(name, fields, { sequence: this.sequence });
    this.send(this.isFramed ? frameOf(message) : message);
    const told = await this.reply();
    if (told === null) throw new Error('the connection was closed');
    if (told.isException) throw new Error(`Thrift: ${textOf(told.values[1])}`);
    if (told.sequence !== this.sequence || told.name !== name)
      throw new Error('it is the answer to another call');
    if (told.values[1] !== undefined) throw new DbFailure(told.values[1] as Values);
    return told.values[0];
  }

  async open(params: Fields): Promise<Fields> {
    return (await this.call('open_connection', { 1: params })) as Fields;
  }

  async sql(
    con: Fields,
    sql: string | Buffer,
    params: readonly (string | Buffer)[] = [],
    method = 'execute_sql',
  ): Promise<Rows> {
    const values = (await this.call(method, { 1: con, 2: sql, 3: params })) as Values;
    const texts = (id: number): string[] => (values[id] as Value[]).map(textOf);
    const rows = (values[4] as Values[]).map((tuple) => (tuple[1] as Value[]).map(textOf));
    return { rowCount: Number(values[3]), rows, names: texts(5), types: texts(6) };
  }

  close(): void {
    this.socket.destroy();
  }
}
