/**
 * Reads along in what PostgreSQL sends, and finds what the gateway has to know: ReadyForQuery, errors that end the session, and a few rare messages.
 *
 * Responsible for: the meaning of messages, not for where they go. Quick: it looks at the headers of all messages and into very few. A message that is spread over chunks is put together
 * only if it is one of those.
 */
import { endsSession, type ErrorFields, readErrorFields, readParameterStatus, statusOf } from '../codec/backend-messages.ts';
import { FrameSplitter, headerBytes } from '../codec/frame-splitter.ts';
import { back, type TransactionStatus } from '../codec/message-types.ts';

/** Told of messages that are rare. */
export interface AnswerListener {
  readonly authenticated?: () => void;
  /** Process id and secret. */
  readonly backendKey?: (key: Buffer) => void;
  readonly parameter?: (name: string, value: string) => void;
  readonly copyBegan?: () => void;
  readonly error?: (fields: ErrorFields) => void;
}

/** So much of an error is looked at. */
const errorBytesMax = 16_384;
const rareBytesMax = 4_096;

export class AnswerReader {
  /** What the chunk that was read last has brought. */
  readies = 0;
  status: TransactionStatus = 'I';
  /** Behind the last ReadyForQuery, or without one, more has come: an answer has begun. */
  begun = false;
  /** PostgreSQL has said why it ends the session. */
  saidFatal = false;

  readonly splitter: FrameSplitter;
  private readonly listener: AnswerListener;
  private gathered: Buffer[] = [];
  private gatheredBytes = 0;

  /** @throws ProtocolViolation from `read`, if a message is longer than `frameBytesMax` */
  constructor(frameBytesMax: number, listener: AnswerListener) {
    this.splitter = new FrameSplitter(frameBytesMax);
    this.listener = listener;
  }

  read(chunk: Buffer): void {
    this.readies = 0;
    this.begun = false;
    this.splitter.feed(chunk);
    while (this.splitter.next()) this.look(chunk);
  }

  /** One part of a message, where whoever uses this walks over the parts himself. */
  look(chunk: Buffer): void {
    const { type, first, last, payload } = this.splitter;
    if (type === back.readyForQuery) {
      if (!last) return;
      this.readies += 1;
      this.begun = false;
      // The payload is one byte: it is in the last part.
      this.status = statusOf(chunk[this.splitter.end - 1]!);
      return;
    }
    this.begun = true;
    if (!looksInto(type)) return;
    if (first && last) this.rare(type, chunk.subarray(payload - headerBytes, this.splitter.end));
    else this.gather(chunk);
  }

  private gather(chunk: Buffer): void {
    const { type, start, end, last } = this.splitter;
    const max = type === back.errorResponse ? errorBytesMax : rareBytesMax;
    if (this.gatheredBytes < max) {
      this.gathered.push(Buffer.from(chunk.subarray(start, Math.min(end, start + max - this.gatheredBytes))));
      this.gatheredBytes += end - start;
    }
    if (!last) return;
    const frame = Buffer.concat(this.gathered);
    this.gathered = [];
    this.gatheredBytes = 0;
    this.rare(type, frame);
  }

  private rare(type: number, frame: Buffer): void {
    switch (type) {
      case back.errorResponse: {
        const fields = readErrorFields(frame);
        this.saidFatal ||= endsSession(fields);
        this.listener.error?.(fields);
        return;
      }
      case back.authentication:
        if (frame.length >= headerBytes + 4 && frame.readInt32BE(headerBytes) === 0) this.listener.authenticated?.();
        return;
      case back.backendKeyData:
        this.listener.backendKey?.(Buffer.from(frame.subarray(headerBytes)));
        return;
      case back.parameterStatus: {
        const { name, value } = readParameterStatus(frame);
        this.listener.parameter?.(name, value);
        return;
      }
      case back.copyInResponse:
        this.listener.copyBegan?.();
        return;
      default:
    }
  }
}

function looksInto(type: number): boolean {
  return (
    type === back.errorResponse ||
    type === back.parameterStatus ||
    type === back.copyInResponse ||
    type === back.authentication ||
    type === back.backendKeyData
  );
}
