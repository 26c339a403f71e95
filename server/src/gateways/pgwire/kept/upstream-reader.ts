/**
 * Reads along in what an upstream sends for a client, and takes out what is meant for the gateway itself.
 *
 * Responsible for: what of the bytes is for the client, and what the client has been told by them. Sends nothing itself.
 * Only whole messages are passed on, so that an upstream may break off anywhere; of long ones (`wholeBytesMax`) parts, the first of which is as long as that. So what is held is bounded.
 */
import {
  endsSession,
  type ErrorFields,
  readErrorFields,
  readParameterStatus,
  statusOf,
} from '../../../pgwire/backend-messages.ts';
import { type Doubt, doubtType, readDoubt } from '../codec/doubt-frame.ts';
import { headerBytes } from '../../../pgwire/frame-splitter.ts';
import { back, comesAnyTime, front, type TransactionStatus } from '../../../pgwire/message-types.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';
import { saysAuthenticated } from '../session/answer-reader.ts';
import type { HiddenBlock } from './hidden-block.ts';

/** Told of what comes, in order. */
export interface UpstreamListener {
  readonly authentication: (isOver: boolean) => void;
  readonly backendKey: (key: Buffer) => void;
  /** Whether the client is told. */
  readonly parameter: (name: string, value: string) => boolean;
  readonly doubt: (doubt: Doubt) => void;
  readonly copyBegan: () => void;
  readonly parseComplete: () => void;
  readonly closeComplete: () => void;
  /** Whether the client is told: as it is, in other words, or not, and nothing more is read either. */
  readonly failed: (fields: ErrorFields) => true | Buffer | 'over';
  /** Whether the client is told. `isBare`: no answer came before it. */
  readonly ready: (status: TransactionStatus, isBare: boolean) => boolean;
}

/** `client`: it was the last one, and the client is told this, or nothing; `skips`: nor anything else up to the next ReadyForQuery. `tells`: it is an error of the request, though what follows is not. `notMine`: it is for the client, and so is all that follows. */
export type OwnTaken =
  | 'goesOn'
  | 'tells'
  | 'notMine'
  | { readonly client: Buffer | null; readonly skips?: true };

/** Takes the answers to what the gateway itself has asked. */
export interface OwnAnswer {
  /** `message`: null if it is too long to be held. */
  take(type: number, message: Buffer | null): OwnTaken;
}

/** Several questions were asked at once. The client is told what the last of them tells it. */
export class AnswersInTurn implements OwnAnswer {
  private readonly answers: OwnAnswer[];

  constructor(answers: readonly OwnAnswer[]) {
    this.answers = [...answers];
  }

  take(type: number, message: Buffer | null): OwnTaken {
    const taken = this.answers[0]?.take(type, message) ?? 'notMine';
    if (typeof taken === 'string' || this.answers.length === 1) return taken;
    this.answers.shift();
    return 'goesOn';
  }
}

const wholeBytesMax = 16_384;
/** The same in both directions. */
const copyData = front.copyData;
const noBytes = Buffer.alloc(0);

export class UpstreamReader {
  /** Part of the answer that is due has been told. */
  begun = false;
  saidFatal = false;
  /** Nothing more is read. */
  isOver = false;
  /** The next answers are to what the gateway has asked. */
  own: OwnAnswer | null = null;
  /** The request that is being answered runs in a block that the client knows nothing of. */
  block: HiddenBlock | null = null;
  /** Nothing is told up to the next ReadyForQuery. */
  skips = false;

  private readonly frameBytesMax: number;
  private readonly listener: UpstreamListener;
  private held: Buffer = noBytes;
  /** What is to come of a long message, and whether the client gets it. */
  private rest = 0;
  private passesRest = true;
  /** What the client is told before the message that is being looked at. */
  private ahead: Buffer | null = null;

  constructor(frameBytesMax: number, listener: UpstreamListener) {
    this.frameBytesMax = frameBytesMax;
    this.listener = listener;
  }

  /** What the client has been told ends between two messages. */
  get atBoundary(): boolean {
    return this.rest === 0 || !this.passesRest;
  }

  /** What of the chunk, and of what was held, is for the client. @throws ProtocolViolation */
  read(chunk: Buffer): readonly Buffer[] {
    const bytes = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    this.held = noBytes;
    const views: Buffer[] = [];
    let at = Math.min(this.rest, bytes.length);
    this.rest -= at;
    /** What has not become a view yet begins here. */
    let from = this.passesRest ? 0 : at;
    while (!this.isOver && bytes.length - at >= headerBytes) {
      const length = this.lengthOf(bytes, at);
      const end = Math.min(at + length, bytes.length);
      const isWhole = end === at + length;
      if (!isWhole && end - at < wholeBytesMax) break;
      const told = this.isPlain(bytes[at]!) ? true : this.take(bytes.subarray(at, end), isWhole);
      if (this.ahead !== null) {
        if (at > from) views.push(bytes.subarray(from, at));
        views.push(this.ahead);
        this.ahead = null;
        from = at;
      }
      this.rest = at + length - end;
      this.passesRest = told === true;
      if (told !== true) {
        if (at > from) views.push(bytes.subarray(from, at));
        if (told !== null) views.push(told);
        from = end;
      }
      at = end;
    }
    if (at > from) views.push(bytes.subarray(from, at));
    if (at < bytes.length && !this.isOver) this.held = Buffer.from(bytes.subarray(at));
    return views;
  }

  /** Nearly all messages of long answers: the client gets them, and nothing is in them for the gateway. */
  private isPlain(type: number): boolean {
    if (this.own !== null || this.skips || (this.block !== null && this.block.tag !== null)) return false;
    if (type !== back.dataRow && type !== copyData) return false;
    this.begun = true;
    return true;
  }

  /** PostgreSQL is at what the gateway has asked: a client that wants to hear what it does for debugging hears nothing of that. */
  private get isOfOwn(): boolean {
    return this.own !== null || this.block?.isAtOwn === true;
  }

  private lengthOf(bytes: Buffer, at: number): number {
    const length = bytes.readInt32BE(at + 1) + 1;
    if (length < headerBytes || length > this.frameBytesMax) {
      throw new ProtocolViolation(`a message of the leader has length ${length - 1}`);
    }
    return length;
  }

  /** The client gets the message as it is, another one, or none. */
  private take(message: Buffer, isWhole: boolean): true | Buffer | null {
    const type = message[0]!;
    // Longer ones may come whole, or not: that they do is not to make a difference.
    const isShort = isWhole && message.length <= wholeBytesMax;
    if (type === doubtType) {
      if (!isShort) throw new ProtocolViolation('a message between replicas is too long');
      this.listener.doubt(readDoubt(message));
      return null;
    }
    // Whatever the gateway has asked: the session ends, and its client is to hear why.
    if (type === back.errorResponse && endsSession(readErrorFields(message.subarray(0, wholeBytesMax))))
      return this.failed(message);
    if (this.own !== null && !comesAnyTime(type)) {
      const taken = this.own.take(type, isWhole ? message : null);
      if (taken === 'goesOn') return null;
      if (taken === 'tells') return this.failed(message);
      this.own = null;
      if (taken !== 'notMine') {
        this.skips = taken.skips === true;
        return taken.client;
      }
    }
    if (type === back.noticeResponse && this.isOfOwn && readErrorFields(message).get('V') !== 'WARNING')
      return null;
    if (this.block === null || comesAnyTime(type)) return this.answer(type, message, isShort);
    const { ahead, tells } = this.block.take(type, message);
    if (tells && type === back.readyForQuery) this.block = null;
    if (ahead !== null) this.begun = true;
    this.ahead = ahead;
    return tells ? this.answer(type, message, isShort) : null;
  }

  private answer(type: number, message: Buffer, isShort: boolean): true | Buffer | null {
    if (type === back.readyForQuery) return this.ready(message);
    if (this.skips && !comesAnyTime(type)) return null;
    if (type === back.errorResponse) return this.failed(message);
    if (!comesAnyTime(type)) this.begun = true;
    return isShort && !this.lookInto(type, message) ? null : true;
  }

  private ready(message: Buffer): true | null {
    this.skips = false;
    const tells = this.listener.ready(statusOf(message[headerBytes]!), !this.begun);
    if (tells) this.begun = false;
    return tells ? true : null;
  }

  private failed(message: Buffer): true | Buffer | null {
    const fields = readErrorFields(message.subarray(0, wholeBytesMax));
    const told = this.listener.failed(fields);
    if (told === 'over') {
      this.isOver = true;
      return null;
    }
    this.saidFatal ||= endsSession(fields);
    this.begun = true;
    return told;
  }

  /** Whether the client gets it. */
  private lookInto(type: number, message: Buffer): boolean {
    const { listener } = this;
    switch (type) {
      case back.authentication:
        listener.authentication(saysAuthenticated(message));
        return true;
      case back.backendKeyData:
        listener.backendKey(Buffer.from(message.subarray(headerBytes)));
        return true;
      case back.parameterStatus: {
        const { name, value } = readParameterStatus(message);
        return listener.parameter(name, value);
      }
      case back.parseComplete:
        listener.parseComplete();
        return true;
      case back.closeComplete:
        listener.closeComplete();
        return true;
      case back.copyInResponse:
        listener.copyBegan();
        return true;
      default:
        return true;
    }
  }
}
