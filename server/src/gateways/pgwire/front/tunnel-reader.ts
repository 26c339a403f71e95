/**
 * Reads along in what the leader's gateway sends to a follower's for a client, and takes out what is meant for the gateway itself.
 *
 * Responsible for: what of the bytes is for the client, and what the client has been told by them. Sends nothing itself.
 */
import { endsSession, readErrorFields, readParameterStatus, statusOf } from '../codec/backend-messages.ts';
import { doubtType, readDoubt } from '../codec/doubt-frame.ts';
import { FrameGatherer } from '../codec/frame-gatherer.ts';
import { FrameSplitter } from '../codec/frame-splitter.ts';
import { back, comesAnyTime } from '../codec/message-types.ts';
import { rulesAfter } from '../codec/text-rules.ts';
import { outcomeUnknown } from '../errors.ts';
import { saysAuthenticated } from '../session/answer-reader.ts';
import type { KnownTransaction } from '../session/known-transaction.ts';
import type { RequestTracker } from '../session/request-tracker.ts';

export interface TunnelReaderOptions {
  readonly frameBytesMax: number;
  readonly tracker: RequestTracker;
  readonly known: KnownTransaction;
  readonly onAuthenticated: () => void;
}

/** So much of an error, and of the other messages that are looked into, is looked at. */
const lookedBytesMax = 16_384;
/** So much of an error is held back until it is known whether the client gets it: severity and SQLSTATE come first. */
const heldBytesMax = 1_024;
const unknownState = outcomeUnknown('').sqlState;

export class TunnelReader {
  /** Part of the answer that is due has been told. */
  begun = false;
  saidFatal = false;
  /** The leader says that it does not know what became of a transaction that this gateway has been told of, and can ask for itself. */
  leaderDoubts = false;

  private readonly options: TunnelReaderOptions;
  private readonly splitter: FrameSplitter;
  private readonly gatherer = new FrameGatherer(lookedBytesMax);
  /** The message that is coming in is not passed on until it has been looked into, if at all. */
  private withholds = false;
  /** The beginning of an error that is withheld. */
  private held: Buffer[] = [];
  private heldBytes = 0;
  /** The error that is coming in has been looked into, and goes to the client. */
  private passesRest = false;
  private views: Buffer[] = [];

  constructor(options: TunnelReaderOptions) {
    this.options = options;
    this.splitter = new FrameSplitter(options.frameBytesMax);
  }

  /** What the client has been told ends between two messages. */
  get atBoundary(): boolean {
    return this.splitter.atBoundary || this.withholds;
  }

  /** The views of the chunk that are for the client. @throws ProtocolViolation */
  read(chunk: Buffer): readonly Buffer[] {
    const { splitter } = this;
    this.views = [];
    /** What has not become a view yet begins here. */
    let from = 0;
    splitter.feed(chunk);
    while (splitter.next() && !this.leaderDoubts) {
      if (splitter.first) {
        this.withholds = this.isWithheld(splitter.type);
        this.passesRest = false;
      }
      if (!this.withholds) {
        if (!this.passesRest) this.pass(chunk);
        continue;
      }
      if (splitter.start > from) this.views.push(chunk.subarray(from, splitter.start));
      from = this.takeWithheld(chunk) ? splitter.start : splitter.end;
    }
    if (from < chunk.length && !this.leaderDoubts) this.views.push(from === 0 ? chunk : chunk.subarray(from));
    return this.views;
  }

  private isWithheld(type: number): boolean {
    return type === doubtType || (type === back.errorResponse && this.options.known.doubt !== null);
  }

  /** A part of a message that may not be for the client. Whether the client gets it now. */
  private takeWithheld(chunk: Buffer): boolean {
    const { splitter, gatherer } = this;
    if (splitter.type === doubtType) {
      const message = gatherer.add(splitter, chunk);
      if (message !== null) this.options.known.doubt = readDoubt(message);
      return false;
    }
    const part = chunk.subarray(splitter.start, splitter.end);
    if (!splitter.last && this.heldBytes + part.length < heldBytesMax) {
      this.held.push(Buffer.from(part));
      this.heldBytes += part.length;
      return false;
    }
    const { held } = this;
    this.held = [];
    this.heldBytes = 0;
    return this.judgeError(held, part);
  }

  /** Whether it is for the client: then what was held goes ahead of the part. */
  private judgeError(held: readonly Buffer[], part: Buffer): boolean {
    const fields = readErrorFields(Buffer.concat([...held, part.subarray(0, heldBytesMax)]));
    this.leaderDoubts = fields.get('C') === unknownState && endsSession(fields);
    if (this.leaderDoubts) return false;
    this.saidFatal ||= endsSession(fields);
    this.options.tracker.failed();
    this.begun = true;
    this.withholds = false;
    this.passesRest = true;
    this.views.push(...held);
    return true;
  }

  /** A part of a message that the client gets. */
  private pass(chunk: Buffer): void {
    const { splitter } = this;
    if (splitter.type === back.readyForQuery) {
      if (!splitter.last) return;
      if (this.options.tracker.mayHaveSurplus) this.options.tracker.ready(!this.begun);
      this.options.tracker.told(1, statusOf(chunk[splitter.end - 1]!));
      this.options.known.afterReady();
      this.begun = false;
      return;
    }
    if (!comesAnyTime(splitter.type)) this.begun = true;
    if (isLookedInto(splitter.type)) this.lookInto(chunk);
  }

  private lookInto(chunk: Buffer): void {
    const { tracker, onAuthenticated } = this.options;
    const message = this.gatherer.add(this.splitter, chunk);
    if (message === null) return;
    switch (this.splitter.type) {
      case back.errorResponse:
        this.saidFatal ||= endsSession(readErrorFields(message));
        tracker.failed();
        return;
      case back.authentication:
        if (saysAuthenticated(message)) onAuthenticated();
        return;
      case back.parameterStatus: {
        const { name, value } = readParameterStatus(message);
        tracker.rules = rulesAfter(tracker.rules, name, value);
        return;
      }
      default:
        tracker.copyBegan();
    }
  }
}

function isLookedInto(type: number): boolean {
  return (
    type === back.errorResponse ||
    type === back.parameterStatus ||
    type === back.copyInResponse ||
    type === back.authentication
  );
}
