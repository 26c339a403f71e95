/**
 * Reads along in what PostgreSQL sends, and finds what the gateway has to know: ReadyForQuery, errors that end the session, and a few rare messages.
 *
 * Responsible for: the meaning of messages, not for where they go. Quick: it looks at the headers of all messages and into very few. A message that is spread over chunks is put together
 * only if it is one of those.
 */
import {
  endsSession,
  type ErrorFields,
  readErrorFields,
  readParameterStatus,
  statusOf,
} from '../../../pgwire/backend-messages.ts';
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { FrameSplitter, headerBytes } from '../../../pgwire/frame-splitter.ts';
import { back, comesAnyTime, type TransactionStatus } from '../../../pgwire/message-types.ts';
import type { Told } from './outbox.ts';

/** Told of messages that are rare. */
export interface AnswerListener {
  readonly authenticated: () => void;
  /** Process id and secret. */
  readonly backendKey: (key: Buffer) => void;
  readonly parameter: (name: string, value: string) => void;
  readonly copyBegan: () => void;
  readonly failed: () => void;
  /** An error that ends the session. Default: nobody wants to know. */
  readonly fatal?: (sqlState: string) => void;
  /** ReadyForQuery, which is not in `readies` yet. `isBare`: no answer came before it. */
  readonly ready: (isBare: boolean) => void;
}

/** Takes every part of every message, where a session must tell them apart. */
export interface AnswerVisitor {
  part(part: FrameSplitter, chunk: Buffer): void;
  chunkDone(): void;
}

/** So much of an error, and of the other messages that are looked into, is looked at. */
const lookedBytesMax = 16_384;

/** Its fields tell what the chunk that was read last has brought. */
export class AnswerReader implements Told {
  readies = 0;
  status: TransactionStatus = 'I';
  begun = false;
  saidFatal = false;
  /** The last message says why the session ends: a FATAL, or the warning that PostgreSQL gives to all sessions when it stops at once. */
  saidEnd = false;
  /** The last message is the warning that PostgreSQL gives instead of a FATAL where it is told to end a session in the wait of its COMMIT. */
  saidTerminated = false;

  private readonly splitter: FrameSplitter;
  private readonly gatherer = new FrameGatherer(lookedBytesMax);
  private readonly listener: AnswerListener;
  /** Part of the answer that goes on came in earlier chunks. */
  private begunBefore = false;

  constructor(frameBytesMax: number, listener: AnswerListener) {
    this.splitter = new FrameSplitter(frameBytesMax);
    this.listener = listener;
  }

  get atBoundary(): boolean {
    return this.splitter.atBoundary;
  }

  /** Where in the chunk that was read last the message begins that is not whole at its end; null: in an earlier one, or it is whole. */
  get begunAt(): number | null {
    return this.splitter.atBoundary || !this.splitter.first ? null : this.splitter.start;
  }

  /** @throws ProtocolViolation */
  read(chunk: Buffer, visitor: AnswerVisitor | null = null): void {
    const { splitter } = this;
    this.readies = 0;
    this.begunBefore ||= this.begun;
    this.begun = false;
    this.saidFatal = false;
    splitter.feed(chunk);
    while (splitter.next()) {
      this.saidEnd = false;
      this.saidTerminated = false;
      if (splitter.type === back.readyForQuery) this.ready(chunk);
      else {
        if (!comesAnyTime(splitter.type)) this.begun = true;
        if (isLookedInto(splitter.type)) this.lookInto(chunk);
      }
      visitor?.part(splitter, chunk);
    }
    visitor?.chunkDone();
  }

  private ready(chunk: Buffer): void {
    if (!this.splitter.last) return;
    this.listener.ready(!this.begun && !this.begunBefore);
    this.readies += 1;
    this.begun = false;
    this.begunBefore = false;
    // The payload is one byte: it is in the last part.
    this.status = statusOf(chunk[this.splitter.end - 1]!);
  }

  private failed(fields: ErrorFields): void {
    if (endsSession(fields)) {
      this.saidFatal = true;
      this.saidEnd = true;
      this.listener.fatal?.(fields.get('C') ?? '');
    }
    this.listener.failed();
  }

  private warned(fields: ErrorFields): void {
    this.saidTerminated = warnsOfTermination(fields);
    this.saidEnd = !this.saidTerminated && warnsOfEnd(fields);
  }

  private lookInto(chunk: Buffer): void {
    const message = this.gatherer.add(this.splitter, chunk);
    if (message === null) return;
    switch (this.splitter.type) {
      case back.errorResponse:
        this.failed(readErrorFields(message));
        return;
      case back.noticeResponse:
        this.warned(readErrorFields(message));
        return;
      case back.authentication:
        if (saysAuthenticated(message)) this.listener.authenticated();
        return;
      case back.backendKeyData:
        this.listener.backendKey(Buffer.from(message.subarray(headerBytes)));
        return;
      case back.parameterStatus: {
        const { name, value } = readParameterStatus(message);
        this.listener.parameter(name, value);
        return;
      }
      default:
        this.listener.copyBegan();
    }
  }
}

/** Of a message of the type `authentication`. */
export function saysAuthenticated(message: Buffer): boolean {
  return message.length >= headerBytes + 4 && message.readInt32BE(headerBytes) === 0;
}

/** A session that has done nothing hears so when another one crashes (57P02), or at an immediate stop (57P01). */
function warnsOfEnd(fields: ErrorFields): boolean {
  return fields.get('V') === 'WARNING' && ['57P01', '57P02'].includes(fields.get('C') ?? '');
}

/** By the function of PostgreSQL that says it: the text may be in any language, and a stop at once has the same SQLSTATE. */
function warnsOfTermination(fields: ErrorFields): boolean {
  return warnsOfEnd(fields) && fields.get('R') === 'SyncRepWaitForLSN';
}

function isLookedInto(type: number): boolean {
  return (
    type === back.errorResponse ||
    type === back.noticeResponse ||
    type === back.parameterStatus ||
    type === back.copyInResponse ||
    type === back.authentication ||
    type === back.backendKeyData
  );
}
