/**
 * The service of clients/barista.thrift: reads calls, writes replies, with the library's binary protocol.
 *
 * Responsible for: names, field ids and types as they are published (a test compares them with the file). Reads only messages that message-scanner.ts has found whole and within bounds. Pure.
 */
import type { SqlError } from '../sql/sql-error.ts';
import { BytesTransport } from './bytes-transport.ts';
import { detailsOf, errorCodeOf } from './db-exception.ts';
import { type Protocol, protocolOver } from './protocol.ts';
import { messageType, wireType } from './wire-types.ts';

export const apiVersion = 0.1;

export interface ConnectionParams {
  readonly clientId?: string;
  readonly seqId?: string;
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
}

export interface Connection {
  readonly clientId?: string;
  readonly seqId?: string;
  readonly user?: string;
  readonly database?: string;
}

export type StatementMethod = 'execute_sql' | 'execute_sql_txn';
export type TransactionMethod = 'begin_txn' | 'commit_txn' | 'rollback_txn';

export type Call =
  | { readonly method: 'get_version' }
  | { readonly method: 'open_connection'; readonly params: ConnectionParams }
  | {
      readonly method: StatementMethod;
      readonly con: Connection;
      readonly query: Buffer | null;
      readonly params: readonly Buffer[];
    }
  | { readonly method: TransactionMethod | 'close_connection'; readonly con: Connection }
  | { readonly method: 'unknown'; readonly name: string };

export interface ReadCall {
  readonly sequence: number;
  readonly name: string;
  readonly call: Call;
}

/** `tuples`: structs, as they go out. */
export interface ResultSet {
  readonly rowCount: number;
  readonly tuples: { readonly count: number; readonly bytes: readonly Buffer[] };
  readonly fieldNames: readonly Buffer[];
  readonly fieldTypes: readonly string[];
}

/** Of the library's TApplicationException. */
export const applicationErrors = { unknownMethod: 1, internalError: 6, protocolError: 7 } as const;

type Readers = Readonly<Record<number, readonly [type: number, read: (protocol: Protocol) => void]>>;

/** A struct: fields that are not known, or are of another type, are passed over. */
function readStruct(protocol: Protocol, readers: Readers): void {
  protocol.readStructBegin();
  for (;;) {
    const { ftype, fid } = protocol.readFieldBegin();
    if (ftype === wireType.stop) break;
    const reader = readers[fid];
    if (reader?.[0] === ftype) reader[1](protocol);
    else protocol.skip(ftype);
    protocol.readFieldEnd();
  }
  protocol.readStructEnd();
}

/** Names of a struct's fields, all strings, by their ids from 1 on. */
function readStrings<Name extends string>(
  protocol: Protocol,
  names: readonly Name[],
): { readonly [K in Name]?: string } {
  const found: { [K in Name]?: string } = {};
  const readers = names.map((name, index) => {
    const read = (from: Protocol): void => {
      found[name] = from.readString();
    };
    return [index + 1, [wireType.string, read] as const] as const;
  });
  readStruct(protocol, Object.fromEntries(readers));
  return found;
}

const paramsFields = ['clientId', 'seqId', 'user', 'password', 'database'] as const;
const connectionFields = ['clientId', 'seqId', 'user', 'database'] as const;

/** @throws Error if it is not what the scanner takes for a message */
export function readCall(message: Buffer): ReadCall {
  const protocol = protocolOver(new BytesTransport(message));
  const { fname: name, rseqid: sequence } = protocol.readMessageBegin();
  return { sequence, name, call: readArguments(protocol, name) };
}

function readArguments(protocol: Protocol, name: string): Call {
  switch (name) {
    case 'get_version':
      return { method: name };
    case 'open_connection': {
      let params: ConnectionParams = {};
      readStruct(protocol, {
        1: [wireType.struct, (from) => (params = readStrings(from, paramsFields))],
      });
      return { method: name, params };
    }
    case 'execute_sql':
    case 'execute_sql_txn': {
      let con: Connection = {};
      let query: Buffer | null = null;
      let params: readonly Buffer[] = [];
      readStruct(protocol, {
        1: [wireType.struct, (from) => (con = readStrings(from, connectionFields))],
        2: [wireType.string, (from) => (query = from.readBinary())],
        3: [wireType.list, (from) => (params = readBinaries(from))],
      });
      return { method: name, con, query, params };
    }
    case 'begin_txn':
    case 'commit_txn':
    case 'rollback_txn':
    case 'close_connection': {
      let con: Connection = {};
      readStruct(protocol, {
        1: [wireType.struct, (from) => (con = readStrings(from, connectionFields))],
      });
      return { method: name, con };
    }
    default:
      return { method: 'unknown', name };
  }
}

function readBinaries(protocol: Protocol): readonly Buffer[] {
  const { etype, size } = protocol.readListBegin();
  const values: Buffer[] = [];
  for (let index = 0; index < size; index += 1) {
    if (etype === wireType.string) values.push(protocol.readBinary());
    else protocol.skip(etype);
  }
  protocol.readListEnd();
  return values;
}

/** What a call is answered: `value` writes field 0 of the result; null: it returns nothing. */
export type Reply = ((protocol: Protocol) => void) | null;

export const versionReply: Reply = (protocol) =>
  field(protocol, wireType.double, 0, () => protocol.writeDouble(apiVersion));

export function connectionReply(con: Connection): Reply {
  return (protocol) => field(protocol, wireType.struct, 0, () => writeConnection(protocol, con));
}

export function resultReply(con: Connection, result: ResultSet): Reply {
  return (protocol) => field(protocol, wireType.struct, 0, () => writeResultSet(protocol, con, result));
}

export function errorReply(error: SqlError): Reply {
  return (protocol) =>
    field(protocol, wireType.struct, 1, () => {
      field(protocol, wireType.i32, 1, () => protocol.writeI32(errorCodeOf(error.sqlState)));
      field(protocol, wireType.string, 2, () => protocol.writeString(error.message));
      field(protocol, wireType.string, 3, () => protocol.writeString(detailsOf(error)));
      protocol.writeFieldStop();
    });
}

function field(protocol: Protocol, type: number, id: number, write: () => void): void {
  protocol.writeFieldBegin('', type, id);
  write();
  protocol.writeFieldEnd();
}

function strings(protocol: Protocol, id: number, values: readonly (string | Buffer)[]): void {
  field(protocol, wireType.list, id, () => {
    protocol.writeListBegin(wireType.string, values.length);
    for (const value of values) protocol.writeString(value);
    protocol.writeListEnd();
  });
}

function writeConnection(protocol: Protocol, con: Connection): void {
  for (const [index, name] of connectionFields.entries()) {
    const value = con[name];
    if (value !== undefined) field(protocol, wireType.string, index + 1, () => protocol.writeString(value));
  }
  protocol.writeFieldStop();
}

function writeResultSet(protocol: Protocol, con: Connection, result: ResultSet): void {
  const { rowCount, tuples, fieldNames, fieldTypes } = result;
  field(protocol, wireType.bool, 1, () => protocol.writeBool(true));
  field(protocol, wireType.struct, 2, () => writeConnection(protocol, con));
  field(protocol, wireType.i32, 3, () => protocol.writeI32(rowCount));
  field(protocol, wireType.list, 4, () => {
    protocol.writeListBegin(wireType.struct, tuples.count);
    for (const bytes of tuples.bytes) protocol.getTransport().write(bytes);
    protocol.writeListEnd();
  });
  strings(protocol, 5, fieldNames);
  strings(protocol, 6, fieldTypes);
  protocol.writeFieldStop();
}

/** A message, in a frame if the client speaks in frames. */
export function replyMessage({ sequence, name }: ReadCall, reply: Reply, isFramed: boolean): Buffer {
  return message(name, messageType.reply, sequence, isFramed, (protocol) => {
    reply?.(protocol);
    protocol.writeFieldStop();
  });
}

/** What Thrift itself tells of a call that cannot be served. */
export function applicationException(
  { sequence, name }: Pick<ReadCall, 'sequence' | 'name'>,
  { type, text }: { readonly type: number; readonly text: string },
  isFramed: boolean,
): Buffer {
  return message(name, messageType.exception, sequence, isFramed, (protocol) => {
    field(protocol, wireType.string, 1, () => protocol.writeString(text));
    field(protocol, wireType.i32, 2, () => protocol.writeI32(type));
    protocol.writeFieldStop();
  });
}

function message(
  name: string,
  type: number,
  sequence: number,
  isFramed: boolean,
  write: (protocol: Protocol) => void,
): Buffer {
  const transport = new BytesTransport();
  const protocol = protocolOver(transport);
  protocol.writeMessageBegin(name, type, sequence);
  write(protocol);
  protocol.writeMessageEnd();
  const bytes = transport.written(isFramed ? 4 : 0);
  if (isFramed) bytes.writeInt32BE(bytes.length - 4, 0);
  return bytes;
}
