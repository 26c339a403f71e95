/** Messages of the PostgreSQL protocol that the Thrift gateway sends, beyond those that pgwire has. Pure. */
import { frameOf } from '../../../pgwire/backend-messages.ts';
import { describePortal, execute, sync } from '../../../pgwire/frontend-messages.ts';
import { front } from '../../../pgwire/message-types.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';

export const authenticationOk = 0;
export const saslAsked = 10;
export const saslContinued = 11;
export const saslEnded = 12;
const protocolVersion = 3 << 16;
const cancelCode = (1234 << 16) | 5678;

/** Of every session. */
export const startupParameters = { client_encoding: 'UTF8', application_name: 'thrift' } as const;

export function startup({ user, database }: { readonly user: string; readonly database: string }): Buffer {
  const parameters = { user, database, ...startupParameters };
  const text = Object.entries(parameters).map(([name, value]) => `${name}\0${value}\0`);
  return untyped(Buffer.concat([int32(protocolVersion), Buffer.from(`${text.join('')}\0`, 'utf8')]));
}

export function cancelRequest(key: Buffer): Buffer {
  return untyped(Buffer.concat([int32(cancelCode), key]));
}

export function saslFirst(text: string): Buffer {
  const said = Buffer.from(text, 'latin1');
  return frameOf(front.password, Buffer.concat([Buffer.from('SCRAM-SHA-256\0'), int32(said.length), said]));
}

export function saslAnswer(text: string): Buffer {
  return frameOf(front.password, Buffer.from(text, 'latin1'));
}

/** One statement, with parameters in text. A query has no zero byte. */
export function statement(sql: Buffer, params: readonly (Buffer | null)[]): Buffer {
  const parsed = frameOf(front.parse, Buffer.concat([Buffer.from([0]), sql, Buffer.from([0, 0, 0])]));
  const values = params.flatMap((value) => (value === null ? [int32(-1)] : [int32(value.length), value]));
  const count = Buffer.alloc(2);
  count.writeUInt16BE(params.length, 0);
  const bound = frameOf(
    front.bind,
    Buffer.concat([Buffer.from([0, 0, 0, 0]), count, ...values, Buffer.from([0, 0])]),
  );
  return Buffer.concat([parsed, bound, describePortal(''), execute(''), sync]);
}

/** What the types of these numbers are called. */
export function typesQuestion(numbers: readonly number[]): Buffer {
  const sql = ownSql(
    `SELECT oid, typname FROM pg_catalog.pg_type WHERE oid = ANY ('{${numbers.join()}}'::pg_catalog.oid[])`,
  );
  return statement(Buffer.from(sql), []);
}

/** PostgreSQL passes over a Sync while it waits for COPY data, so it is sent once more. */
export const refuseCopy = Buffer.concat([
  frameOf(front.copyFail, Buffer.from('COPY from the client is not possible over Thrift\0')),
  sync,
]);

function untyped(rest: Buffer): Buffer {
  return Buffer.concat([int32(rest.length + 4), rest]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value, 0);
  return bytes;
}
