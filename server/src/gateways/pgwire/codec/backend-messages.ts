/** Messages that PostgreSQL sends: reads those that the gateway looks into, writes those that it answers itself. Pure. */
import { headerBytes } from './frame-splitter.ts';
import { back, type TransactionStatus } from './message-types.ts';

/** Fields of an ErrorResponse or NoticeResponse by their letters (`C` SQLSTATE, `M` message, `P` position, ...). */
export type ErrorFields = ReadonlyMap<string, string>;

/** Values are read as latin1, so that they go out again byte for byte in whatever encoding the client has. */
export const readErrorFields = (frame: Buffer): ErrorFields => {
  const fields = new Map<string, string>();
  let at = headerBytes;
  while (at < frame.length && frame[at] !== 0) {
    const end = frame.indexOf(0, at + 1);
    if (end < 0) break;
    fields.set(String.fromCharCode(frame[at] as number), frame.toString('latin1', at + 1, end));
    at = end + 1;
  }
  return fields;
};

const frameOf = (type: number, payload: Buffer): Buffer => {
  const frame = Buffer.allocUnsafe(headerBytes + payload.length);
  frame[0] = type;
  frame.writeInt32BE(payload.length + 4, 1);
  payload.copy(frame, headerBytes);
  return frame;
};

const fieldsFrame = (
  type: number,
  fields: Iterable<readonly [string, string]>,
  encoding: BufferEncoding,
): Buffer => {
  const text = [...fields].map(([letter, value]) => `${letter}${value.replaceAll('\0', '')}\0`).join('');
  return frameOf(type, Buffer.from(`${text}\0`, encoding));
};

/** Fields that were read with readErrorFields. */
export const errorFromFields = (fields: ErrorFields): Buffer =>
  fieldsFrame(back.errorResponse, fields, 'latin1');

export interface GatewayError {
  readonly sqlState: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
}

const gatewayFields = (severity: string, error: GatewayError): [string, string][] => [
  ['S', severity],
  ['V', severity],
  ['C', error.sqlState],
  ['M', error.message],
  ...(error.detail === undefined ? [] : [['D', error.detail] as [string, string]]),
  ...(error.hint === undefined ? [] : [['H', error.hint] as [string, string]]),
];

export const errorResponse = (severity: 'ERROR' | 'FATAL', error: GatewayError): Buffer =>
  fieldsFrame(back.errorResponse, gatewayFields(severity, error), 'utf8');

export const warning = (error: GatewayError): Buffer =>
  fieldsFrame(back.noticeResponse, gatewayFields('WARNING', error), 'utf8');

export const notice = (error: GatewayError): Buffer =>
  fieldsFrame(back.noticeResponse, gatewayFields('NOTICE', error), 'utf8');

export const commandComplete = (tag: string): Buffer =>
  frameOf(back.commandComplete, Buffer.from(`${tag}\0`, 'latin1'));

export const commandTag = (frame: Buffer): string => frame.toString('latin1', headerBytes, frame.length - 1);

export const emptyQueryResponse = frameOf(back.emptyQueryResponse, Buffer.alloc(0));

const ready = (status: TransactionStatus): Buffer =>
  frameOf(back.readyForQuery, Buffer.from(status, 'latin1'));
const readyFrames = { I: ready('I'), T: ready('T'), E: ready('E') } as const;
export const readyForQuery = (status: TransactionStatus): Buffer => readyFrames[status];

export const readyStatus = (frame: Buffer): TransactionStatus => {
  const status = String.fromCharCode(frame[headerBytes] ?? 0x49);
  return status === 'T' || status === 'E' ? status : 'I';
};

export const readParameterStatus = (frame: Buffer): { readonly name: string; readonly value: string } => {
  const nameEnd = frame.indexOf(0, headerBytes);
  return {
    name: frame.toString('latin1', headerBytes, nameEnd),
    value: frame.toString('latin1', nameEnd + 1, frame.length - 1),
  };
};

/** The first column of a DataRow; null for NULL or no column. */
export const firstColumn = (frame: Buffer): Buffer | null => {
  if (frame.length < headerBytes + 6 || frame.readInt16BE(headerBytes) < 1) return null;
  const length = frame.readInt32BE(headerBytes + 2);
  return length < 0 ? null : frame.subarray(headerBytes + 6, headerBytes + 6 + length);
};
