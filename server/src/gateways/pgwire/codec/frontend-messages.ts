/**
 * Messages that a client sends: reads those that the gateway looks into, writes those that it injects.
 *
 * Pure. Names and SQL are returned as bytes or strings exactly as sent; nothing is interpreted here.
 */
import { headerBytes } from './frame-splitter.ts';
import { front } from './message-types.ts';
import { ProtocolViolation } from './protocol-violation.ts';

/** End of the zero-terminated string that begins at `from`. */
const terminator = (frame: Buffer, from: number): number => {
  const at = frame.indexOf(0, from);
  if (at < 0) throw new ProtocolViolation('a string in a message has no terminator');
  return at;
};

/** The SQL of a Query message, without its terminator. */
export const querySql = (frame: Buffer): Buffer => {
  const end = terminator(frame, headerBytes);
  if (end !== frame.length - 1) throw new ProtocolViolation('a Query message goes on after its string');
  return frame.subarray(headerBytes, end);
};

export interface ParseMessage {
  readonly statement: string;
  readonly sql: Buffer;
  /** Number of parameter types and the types, as sent. */
  readonly parameterTypes: Buffer;
}

export const readParse = (frame: Buffer): ParseMessage => {
  const nameEnd = terminator(frame, headerBytes);
  const sqlEnd = terminator(frame, nameEnd + 1);
  if (frame.length - sqlEnd - 1 < 2) throw new ProtocolViolation('a Parse message is cut short');
  return {
    statement: frame.toString('latin1', headerBytes, nameEnd),
    sql: frame.subarray(nameEnd + 1, sqlEnd),
    parameterTypes: frame.subarray(sqlEnd + 1),
  };
};

export interface BindMessage {
  readonly portal: string;
  readonly statement: string;
}

export const readBind = (frame: Buffer): BindMessage => {
  const portalEnd = terminator(frame, headerBytes);
  const statementEnd = terminator(frame, portalEnd + 1);
  return {
    portal: frame.toString('latin1', headerBytes, portalEnd),
    statement: frame.toString('latin1', portalEnd + 1, statementEnd),
  };
};

export interface Target {
  readonly kind: 'statement' | 'portal';
  readonly name: string;
}

/** Describe and Close have the same form. */
export const readTarget = (frame: Buffer): Target => {
  const kind = frame[headerBytes];
  if (kind !== 0x53 && kind !== 0x50)
    throw new ProtocolViolation('Describe or Close of neither statement nor portal');
  const end = terminator(frame, headerBytes + 1);
  return {
    kind: kind === 0x53 ? 'statement' : 'portal',
    name: frame.toString('latin1', headerBytes + 1, end),
  };
};

/** The portal of an Execute message. */
export const executePortal = (frame: Buffer): string => {
  const end = terminator(frame, headerBytes);
  if (frame.length !== end + 5) throw new ProtocolViolation('an Execute message has the wrong length');
  return frame.toString('latin1', headerBytes, end);
};

// -------------------------------------------------------------------------------------------------------- writing

const message = (type: number, ...parts: readonly (Buffer | Uint8Array)[]): Buffer => {
  let length = 4;
  for (const part of parts) length += part.length;
  const head = Buffer.allocUnsafe(headerBytes);
  head[0] = type;
  head.writeInt32BE(length, 1);
  return Buffer.concat([head, ...parts]);
};

const cString = (text: string): Buffer => Buffer.from(`${text}\0`, 'latin1');
const utf8String = (text: string): Buffer => Buffer.from(`${text}\0`, 'utf8');
const int16 = (value: number): Buffer => Buffer.from([(value >> 8) & 0xff, value & 0xff]);
const int32 = (value: number): Buffer => {
  const buffer = Buffer.allocUnsafe(4);
  buffer.writeInt32BE(value, 0);
  return buffer;
};

const noParameters = int16(0);
const zero = Buffer.from([0]);

export const query = (sql: Buffer): Buffer => message(front.query, sql, zero);

export const parse = (
  statement: string,
  sql: Buffer | string,
  parameterTypes: Buffer = noParameters,
): Buffer =>
  message(
    front.parse,
    cString(statement),
    ...(typeof sql === 'string' ? [utf8String(sql)] : [sql, zero]),
    parameterTypes,
  );

/** Parameters in text; the result in binary if asked for. */
export const bind = (options: {
  readonly portal: string;
  readonly statement: string;
  readonly parameters?: readonly string[];
  readonly binaryResult?: boolean;
}): Buffer => {
  const parameters = options.parameters ?? [];
  const values = parameters.flatMap((parameter) => {
    const bytes = Buffer.from(parameter, 'utf8');
    return [int32(bytes.length), bytes];
  });
  const formats = options.binaryResult === true ? [int16(1), int16(1)] : [int16(0)];
  return message(
    front.bind,
    cString(options.portal),
    cString(options.statement),
    int16(0),
    int16(parameters.length),
    ...values,
    ...formats,
  );
};

export const execute = (portal: string): Buffer => message(front.execute, cString(portal), int32(0));
export const closeStatement = (statement: string): Buffer =>
  message(front.close, Buffer.from('S'), cString(statement));
export const describePortal = (portal: string): Buffer =>
  message(front.describe, Buffer.from('P'), cString(portal));
export const sync = message(front.sync);
export const flush = message(front.flush);
export const terminate = message(front.terminate);
export const copyFail = (reason: string): Buffer => message(front.copyFail, utf8String(reason));
