/** Messages that PostgreSQL sends: reads those that the gateway looks into, writes those that it answers itself. Pure. */
import { headerBytes } from './frame-splitter.ts';
import { back, type TransactionStatus } from './message-types.ts';

/** Fields of an ErrorResponse or NoticeResponse by their letters (`V` severity, `C` SQLSTATE, `M` message, `D` detail, ...). */
export type ErrorFields = ReadonlyMap<string, string>;

/** `frame` may be cut short: then the fields that are whole. Values are read as latin1, so that they go out again byte for byte in whatever encoding the client has. */
export function readErrorFields(frame: Buffer): ErrorFields {
  const fields = new Map<string, string>();
  let at = headerBytes;
  while (at < frame.length && frame[at] !== 0) {
    const end = frame.indexOf(0, at + 1);
    if (end < 0) break;
    fields.set(String.fromCharCode(frame[at]!), frame.toString('latin1', at + 1, end));
    at = end + 1;
  }
  return fields;
}

/** Whether this error ends the session. `V` is the severity that is never translated; servers before 9.6 had `S` alone. */
export function endsSession(fields: ErrorFields): boolean {
  const severity = fields.get('V') ?? fields.get('S');
  return severity === 'FATAL' || severity === 'PANIC';
}

/** Fields that were read with `readErrorFields`. */
export function errorFromFields(fields: ErrorFields): Buffer {
  return fieldsFrame(back.errorResponse, fields, 'latin1');
}

/** An error that the gateway itself tells. */
export interface GatewayError {
  readonly sqlState: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
  /** Where in the client's text: characters from 1. */
  readonly position?: number;
}

export function errorResponse(severity: 'ERROR' | 'FATAL', error: GatewayError): Buffer {
  return fieldsFrame(back.errorResponse, gatewayFields(severity, error), 'utf8');
}

export function notice(error: GatewayError): Buffer {
  return fieldsFrame(back.noticeResponse, gatewayFields('NOTICE', error), 'utf8');
}

export function commandComplete(tag: string): Buffer {
  return frameOf(back.commandComplete, Buffer.from(`${tag.replaceAll('\0', '')}\0`, 'latin1'));
}

export function commandTag(frame: Buffer): string {
  return frame.toString('latin1', headerBytes, frame.length - 1);
}

export const parseComplete = frameOf(back.parseComplete, Buffer.alloc(0));
export const bindComplete = frameOf(back.bindComplete, Buffer.alloc(0));
export const closeComplete = frameOf(back.closeComplete, Buffer.alloc(0));
export const noData = frameOf(back.noData, Buffer.alloc(0));

const readyFrames = { I: ready('I'), T: ready('T'), E: ready('E') } as const;

export function readyForQuery(status: TransactionStatus): Buffer {
  return readyFrames[status];
}

/** Of the byte that ReadyForQuery has for a payload. */
export function statusOf(byte: number): TransactionStatus {
  return byte === 0x54 ? 'T' : byte === 0x45 ? 'E' : 'I';
}

export function readParameterStatus(frame: Buffer): { readonly name: string; readonly value: string } {
  const nameEnd = frame.indexOf(0, headerBytes);
  return {
    name: frame.toString('latin1', headerBytes, nameEnd),
    value: frame.toString('latin1', nameEnd + 1, frame.length - 1),
  };
}

/** The first column of a DataRow as text; null for NULL or no column. */
export function firstColumn(frame: Buffer): string | null {
  if (frame.length < headerBytes + 6 || frame.readInt16BE(headerBytes) < 1) return null;
  const length = frame.readInt32BE(headerBytes + 2);
  return length < 0 ? null : frame.toString('latin1', headerBytes + 6, headerBytes + 6 + length);
}

/** Of a DataRow, in latin1; null for NULL. */
export function columnsOf(row: Buffer): (string | null)[] {
  const columns: (string | null)[] = [];
  let at = headerBytes + 2;
  for (let left = row.readInt16BE(headerBytes); left > 0; left -= 1) {
    const length = row.readInt32BE(at);
    at += 4;
    columns.push(length < 0 ? null : row.toString('latin1', at, at + length));
    at += Math.max(0, length);
  }
  return columns;
}

export function frameOf(type: number, payload: Buffer): Buffer {
  const frame = Buffer.allocUnsafeSlow(headerBytes + payload.length);
  frame[0] = type;
  frame.writeInt32BE(payload.length + 4, 1);
  payload.copy(frame, headerBytes);
  return frame;
}

function ready(status: TransactionStatus): Buffer {
  return frameOf(back.readyForQuery, Buffer.from(status, 'latin1'));
}

function gatewayFields(severity: string, error: GatewayError): [string, string][] {
  const { sqlState, message, detail, hint, position } = error;
  return [
    ['S', severity],
    ['V', severity],
    ['C', sqlState],
    ['M', message],
    ...(detail === undefined ? [] : [['D', detail] as [string, string]]),
    ...(hint === undefined ? [] : [['H', hint] as [string, string]]),
    ...(position === undefined ? [] : [['P', String(position)] as [string, string]]),
  ];
}

function fieldsFrame(
  type: number,
  fields: Iterable<readonly [string, string]>,
  encoding: BufferEncoding,
): Buffer {
  const text = [...fields].map(([letter, value]) => `${letter}${value.replaceAll('\0', '')}\0`).join('');
  return frameOf(type, Buffer.from(`${text}\0`, encoding));
}
