/**
 * What a standby's PostgreSQL answers to one session, on its way to the client: of linearizable reads it is held back until it may be told. Spec: TellFound of FollowerReads.tla.
 *
 * Responsible for: reading along, the order of bytes, and what the client has been told. When it may be told the gate asks; what becomes of the session is reading-session.ts.
 * Invariants: what a linearizable read has found passes the gate after it was read; while something is held back no more is read.
 */
import type { Socket } from 'node:net';
import { rulesAfter } from '../../../../pgwire/text-rules.ts';
import type { AnswerGate, Gated } from '../answer-gate.ts';
import { type AnswerListener, AnswerReader } from '../answer-reader.ts';
import { Outbox } from '../outbox.ts';
import type { RequestTracker } from '../request-tracker.ts';
import { Valve } from '../valve.ts';

export interface ReadAnswersOptions {
  readonly client: Socket;
  readonly backend: Socket;
  readonly tracker: RequestTracker;
  readonly gate: AnswerGate;
  readonly frameBytesMax: number;
  readonly on: Required<Pick<AnswerListener, 'authenticated' | 'backendKey' | 'fatal'>> & {
    /** Nothing is left that the client is not told. */
    readonly told: () => void;
    /** What was read can never be told. */
    readonly refused: () => void;
  };
}

export class ReadAnswers implements Gated {
  /** What comes is, or may be, what a linearizable read has found. */
  isHeld: boolean;

  private readonly options: ReadAnswersOptions;
  private readonly reader: AnswerReader;
  private readonly outbox: Outbox;
  private isClosed = false;

  constructor(options: ReadAnswersOptions, isHeld: boolean) {
    const { client, backend, tracker, frameBytesMax, on } = options;
    this.options = options;
    this.isHeld = isHeld;
    this.outbox = new Outbox(client, tracker, new Valve(backend));
    this.reader = new AnswerReader(frameBytesMax, {
      authenticated: on.authenticated,
      backendKey: on.backendKey,
      fatal: on.fatal,
      parameter: (name, value) => {
        tracker.rules = rulesAfter(tracker.rules, name, value);
      },
      copyBegan: () => tracker.copyBegan(this.readiesUntold),
      failed: () => tracker.failed(this.readiesUntold),
      ready: (isBare) => {
        if (tracker.mayHaveSurplus) tracker.ready(isBare, this.readiesUntold);
      },
    });
  }

  private get readiesUntold(): number {
    return this.outbox.readiesWaiting + this.reader.readies;
  }

  /** Everything that was read is told. */
  get isTold(): boolean {
    return this.outbox.isEmpty;
  }

  /** What was told ends between two messages. */
  get atBoundary(): boolean {
    return this.outbox.atBoundary;
  }

  /** PostgreSQL has told the client why it ends the session. */
  get saidFatal(): boolean {
    return this.outbox.saidFatal;
  }

  /** @throws ProtocolViolation */
  take(chunk: Buffer): void {
    if (this.isClosed) return;
    this.reader.read(chunk);
    // What is read along may have ended the session.
    if (this.isClosed) return;
    const isFirst = this.outbox.add(chunk, this.reader);
    if (!isFirst || this.outbox.isHolding) return;
    if (this.isHeld) this.options.gate.add(this);
    else this.release();
  }

  release(): void {
    if (this.isClosed) return;
    if (this.outbox.release()) this.options.gate.add(this);
    else this.options.on.told();
  }

  hold(): void {
    if (!this.isClosed) this.outbox.hold();
  }

  refuse(): void {
    if (!this.isClosed) this.options.on.refused();
  }

  /** Nothing that waits is told any more. */
  close(): void {
    this.isClosed = true;
    this.outbox.drop();
  }
}
