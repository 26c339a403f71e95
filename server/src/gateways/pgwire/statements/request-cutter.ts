/**
 * Cuts what a client sends into requests, each of which is agreed on as one operation.
 *
 * A request is a Query, a FunctionCall, or the messages of the extended protocol up to and with a Sync. A Flush ahead of any Execute ends one, too: what it asks for may be answered behind a Sync as well, which is put in its
 * place, and whose ReadyForQuery the client does not get; until its own Sync comes what failed is passed over, as PostgreSQL would. The data of a COPY, which a client is asked for, is one request as well.
 *
 * Pure. Holds whole messages. Invariant: no request, and no message, is longer than its bound.
 */
import { copyFail, sync } from '../../../pgwire/frontend-messages.ts';
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { front } from '../../../pgwire/message-types.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';
import type { GatewayError } from '../../../pgwire/backend-messages.ts';
import { flushBehindExecute, queryBehindExtended, requestTooLong } from './errors.ts';

/** `hidesReady`: the client expects no ReadyForQuery of its own accord. `refused`: nothing of it runs; the client is told so, and of readiness if `isReady`. */
export type Cut =
  | { readonly kind: 'request'; readonly bytes: Buffer; readonly hidesReady: boolean }
  | { readonly kind: 'refused'; readonly error: GatewayError; readonly isReady: boolean }
  | { readonly kind: 'terminate' };

/** Whether the client is asked for data. `extended`: a Sync ends what comes behind the data. */
export type CopyMode = 'none' | 'simple' | 'extended';

export interface CutterBounds {
  readonly frameBytesMax: number;
  readonly requestBytesMax: number;
  /** Of a COPY's data. */
  readonly copyBytesMax: number;
}

export class RequestCutter {
  private readonly bounds: CutterBounds;
  private readonly splitter: FrameSplitter;
  private readonly gatherer: FrameGatherer;
  private readonly messages: Buffer[] = [];
  /** Of the request that is not whole. */
  private open: Buffer[] = [];
  private openBytes = 0;
  private executes = false;
  /** Nothing is heard before a Sync: something ahead of it failed, or was refused. */
  private passesOver = false;
  private copy: CopyMode = 'none';
  private copyEnds = false;
  private copyIsTooLong = false;

  constructor(bounds: CutterBounds) {
    this.bounds = bounds;
    this.splitter = new FrameSplitter(bounds.frameBytesMax);
    this.gatherer = new FrameGatherer(bounds.frameBytesMax);
  }

  /** Messages that are whole, and not taken. */
  get isEmpty(): boolean {
    return this.messages.length === 0;
  }

  /** @throws ProtocolViolation when a length cannot be right */
  feed(chunk: Buffer): void {
    const { splitter } = this;
    splitter.feed(chunk);
    while (splitter.next()) {
      const message = this.gatherer.add(splitter, chunk);
      if (message !== null) this.messages.push(message);
    }
  }

  /** The client is asked for the data of a COPY that was its last request. */
  copies(mode: Exclude<CopyMode, 'none'>): void {
    this.copy = mode;
    this.copyEnds = false;
    this.copyIsTooLong = false;
  }

  /** The answer to the last request has come. `failed`: with an error. */
  answered(failed: boolean, hidReady: boolean): void {
    this.copy = 'none';
    this.copyEnds = false;
    this.copyIsTooLong = false;
    if (hidReady && failed) this.passesOver = true;
  }

  /** Null: more is needed. @throws ProtocolViolation for what no client may send */
  take(): Cut | null {
    for (let message = this.messages.shift(); message !== undefined; message = this.messages.shift()) {
      const cut = this.copy === 'none' ? this.takeOne(message) : this.takeCopied(message);
      if (cut !== null) return cut;
    }
    return null;
  }

  private takeOne(message: Buffer): Cut | null {
    const type = message[0]!;
    if (type === front.terminate) return { kind: 'terminate' };
    if (this.passesOver && type !== front.sync) return null;
    switch (type) {
      case front.query:
      case front.functionCall:
        if (this.openBytes > 0) return this.refuse(queryBehindExtended, true);
        return this.add(message) ?? this.request(false);
      case front.sync:
        this.passesOver = false;
        return this.add(message) ?? this.request(false);
      case front.flush:
        return this.flush();
      case front.execute:
        this.executes = true;
        return this.add(message);
      case front.parse:
      case front.bind:
      case front.describe:
      case front.close:
        return this.add(message);
      case front.copyData:
      case front.copyDone:
      case front.copyFail:
        // Of a COPY that has failed meanwhile: PostgreSQL ignores it, too.
        return null;
      default:
        throw new ProtocolViolation(`invalid frontend message type ${type}`);
    }
  }

  private flush(): Cut | null {
    if (this.openBytes === 0) return null;
    if (this.executes) return this.refuse(flushBehindExecute, false);
    return this.add(sync) ?? this.request(true);
  }

  /** All of the data is one request: where it ends, what it leaves is the same everywhere. Whatever else comes meanwhile PostgreSQL would not hear either. */
  private takeCopied(message: Buffer): Cut | null {
    const type = message[0]!;
    if (type === front.terminate) return { kind: 'terminate' };
    if (this.copyEnds) {
      if (type !== front.sync) return null;
      this.hold(message);
      return this.request(false);
    }
    if (type === front.flush || type === front.sync) return null;
    this.copyEnds = type !== front.copyData;
    if (!this.copyIsTooLong) this.hold(message);
    if (this.openBytes > this.bounds.copyBytesMax && !this.copyIsTooLong) {
      this.clear();
      this.hold(copyFail(`more than ${this.bounds.copyBytesMax} bytes is too large for one operation`));
      this.copyIsTooLong = true;
    }
    return this.copyEnds && this.copy === 'simple' ? this.request(false) : null;
  }

  /** Null: there was room for it. */
  private add(message: Buffer): Cut | null {
    this.hold(message);
    if (this.openBytes <= this.bounds.requestBytesMax) return null;
    const isWhole =
      message[0] === front.query || message[0] === front.functionCall || message[0] === front.sync;
    return this.refuse(requestTooLong(this.bounds.requestBytesMax), isWhole);
  }

  private hold(message: Buffer): void {
    this.open.push(message);
    this.openBytes += message.length;
  }

  private refuse(error: GatewayError, isReady: boolean): Cut {
    this.clear();
    this.passesOver = !isReady;
    return { kind: 'refused', error, isReady };
  }

  private request(hidesReady: boolean): Cut {
    const bytes = this.open.length === 1 ? this.open[0]! : Buffer.concat(this.open);
    this.clear();
    return { kind: 'request', bytes, hidesReady };
  }

  private clear(): void {
    this.open = [];
    this.openBytes = 0;
    this.executes = false;
  }
}
