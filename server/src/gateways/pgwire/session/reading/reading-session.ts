/**
 * One client that reads at this replica's own standby: a session of its own there, whose requests wait until the standby is current enough for them. Spec: BeginRead, ReadStandby and TellFound of FollowerReads.tla.
 *
 * Responsible for: the session's life, holding back what the client asks, and telling it why it cannot be answered. What is current, and what may be told, is the replica's to say (ports/standby-reads.ts); that nothing is written
 * is PostgreSQL's.
 * Invariants: a request is passed on only when the standby has what the client asked for, at the time at which the gateway had read it; what a linearizable one has found passes the gate after it was read; a session never outlives
 * the life of the standby at which it began; of what a client sends one chunk waits at most, and while an answer waits no more is read.
 */
import type { Socket } from 'node:net';
import type { StandbyDoor, StandbyReads } from '../../../../ports/standby-reads.ts';
import { errorResponse, type GatewayError, readyForQuery } from '../../../../pgwire/backend-messages.ts';
import { FrameSplitter } from '../../../../pgwire/frame-splitter.ts';
import { ProtocolViolation } from '../../../../pgwire/protocol-violation.ts';
import { freshnessOf, type ReadConsistency, stricter } from '../../codec/read-consistency.ts';
import { type StartupMessage, startupForReading } from '../../codec/startup.ts';
import * as errors from '../../errors.ts';
import type { PgwireLimits } from '../../limits.ts';
import type { AnswerGate } from '../answer-gate.ts';
import { closeWithWords } from '../close-with-words.ts';
import { awaitEnd, connectBackend } from '../connect-backend.ts';
import { Intake } from '../intake.ts';
import { RequestTracker } from '../request-tracker.ts';
import type { ThreadShare } from '../thread-share.ts';
import { followMention } from './follow-mention.ts';
import { HeldSnapshot } from './held-snapshot.ts';
import { raisingQuery } from './raising-query.ts';
import { ReadAnswers } from './read-answers.ts';
import { type ReadRequest, RequestReader } from './request-reader.ts';

export interface ReadingSessionOptions {
  readonly client: Socket;
  readonly door: StandbyDoor;
  readonly startup: StartupMessage;
  readonly consistency: ReadConsistency;
  readonly reads: StandbyReads;
  /** Of what linearizable reads have found, in the standby's life. */
  readonly gate: AnswerGate;
  readonly limits: PgwireLimits;
  /** Of the thread, with all other clients. */
  readonly share: ThreadShare;
  /** PostgreSQL has let the client in. Returns why there is no room for it, or null. */
  readonly onAuthenticated: () => GatewayError | null;
  /** PostgreSQL has closed the connection, or, of a session that had begun, is about to notice that it is closed. */
  readonly onLetGo: () => void;
  /** PostgreSQL has told the client why it ends the session. */
  readonly onFatal: (sqlState: string) => void;
  /** Told what the client is told at the end, before its connection closes. */
  readonly onWords: (words: readonly Buffer[]) => void;
  /** PostgreSQL's key for CancelRequests. */
  readonly onKey: (key: Buffer) => void;
  /** What it is doing for the client is to be given up. */
  readonly onCancel: () => void;
}

export class ReadingSession {
  readonly tracker = new RequestTracker();

  private readonly options: ReadingSessionOptions;
  private readonly client: Socket;
  private readonly fromClient: Intake;
  private readonly backend: Socket;
  private readonly requests: RequestReader;
  /** Of what is passed on. */
  private readonly passed: FrameSplitter;
  private readonly answers: ReadAnswers;
  private consistency: ReadConsistency;
  private readonly snapshot = new HeldSnapshot();
  /** Ends the wait of a request. */
  private giveUp: (() => void) | null = null;
  private isClosed = false;
  /** PostgreSQL has told its key. */
  private isBegun = false;
  private backendReached = false;
  private backendGone = false;
  private clientEnded = false;

  constructor(options: ReadingSessionOptions) {
    const { client, limits, door, startup, consistency } = options;
    this.options = options;
    this.consistency = consistency;
    this.client = client;
    this.fromClient = new Intake(client, options.share, (piece) => this.onClient(piece));
    this.backend = connectBackend(door.socketPath, (bytes) => this.onAnswer(bytes));
    this.requests = new RequestReader(limits.frameBytesMax);
    this.passed = new FrameSplitter(limits.frameBytesMax);
    this.answers = this.createAnswers();
    this.listen();
    this.tracker.startedUp();
    this.backend.write(startupForReading(startup));
    client.resume();
  }

  private createAnswers(): ReadAnswers {
    const { client, gate, limits, consistency, onAuthenticated, onKey, onFatal } = this.options;
    const { backend, tracker } = this;
    const on = {
      authenticated: () => {
        const refusal = onAuthenticated();
        if (refusal !== null) this.close(refusal);
      },
      backendKey: (key: Buffer) => {
        this.isBegun = true;
        onKey(key);
      },
      fatal: onFatal,
      told: () => {
        if (this.backendGone) this.afterLastAnswer();
      },
      refused: () => this.end(this.isOver ? errors.standbyWentAway : errors.notShown(limits.readWaitMs)),
    };
    const { frameBytesMax } = limits;
    // That a role may log in is something found, too.
    const isHeld = consistency.mode === 'linearizable';
    return new ReadAnswers({ client, backend, tracker, gate, frameBytesMax, on }, isHeld);
  }

  private get isOver(): boolean {
    const { reads, door } = this.options;
    return reads.standby()?.life !== door.life;
  }

  private onAnswer(chunk: Buffer): void {
    if (this.isClosed) return;
    try {
      this.answers.take(chunk);
    } catch (error) {
      this.end(errors.internalError(error));
    }
  }

  private onClient(chunk: Buffer): void {
    if (this.isClosed) return;
    try {
      const request = this.requests.read(chunk);
      const before = this.consistency;
      const mayChange = !this.tracker.outstanding && this.tracker.status === 'I';
      const after = followMention(request, { before, begun: this.options.consistency, mayChange });
      if ('sqlState' in after) {
        this.refuse(request, after);
        return;
      }
      this.consistency = after;
      // What comes with a reset may stand before it, or behind it.
      const wanted = stricter(before, after);
      const mustWait = this.mustWait(request, wanted);
      if (!this.tracker.outstanding) this.answers.isHeld = false;
      this.answers.isHeld ||= mustWait && wanted.mode === 'linearizable';
      if (mustWait) void this.beginRead(request, wanted);
      else this.pass(request.chunk);
    } catch (error) {
      const isKnown = error instanceof ProtocolViolation;
      this.end(isKnown ? errors.protocolViolation(error.message) : errors.internalError(error));
    }
  }

  /** To be asked of each request, once, as it comes. */
  private mustWait(
    { asks, mention, isLoneStatement, kind }: ReadRequest,
    { mode }: ReadConsistency,
  ): boolean {
    const { outstanding, status } = this.tracker;
    if (this.snapshot.isHeldFor(kind, outstanding ? null : status)) return false;
    const readsNothing = isLoneStatement && mention !== null && mention.kind !== 'perhapsAll';
    return asks && !readsNothing && mode !== 'snapshot';
  }

  private async beginRead(request: ReadRequest, consistency: ReadConsistency): Promise<void> {
    const { reads, door, limits } = this.options;
    this.fromClient.pause('waiting');
    const isBounded = consistency.mode === 'bounded';
    const waitMs = isBounded ? limits.boundedWaitMs : limits.readWaitMs;
    const cancelled = new Promise<{ readonly code: 'cancelled' }>((resolve) => {
      this.giveUp = () => resolve({ code: 'cancelled' });
    });
    const currency = await Promise.race([
      reads.beginRead(door.life, freshnessOf(consistency), waitMs),
      cancelled,
    ]);
    this.giveUp = null;
    if (this.isClosed) return;
    switch (currency.code) {
      case 'current':
        this.pass(request.chunk);
        break;
      case 'over':
        this.end(errors.standbyWentAway);
        break;
      case 'cancelled':
        this.refuse(request, errors.readCancelled);
        break;
      case 'noAnswer':
      case 'behind':
        this.refuse(
          request,
          isBounded
            ? errors.tooStale(consistency.stalenessMaxMs, currency.staleMs)
            : errors.notCurrent(currency.code, waitMs),
        );
        break;
      default:
        currency satisfies never;
    }
    this.fromClient.resume('waiting');
    if (this.clientEnded) this.endBackend();
  }

  /** All that the client has sent was passed on, and nothing more comes. */
  private endBackend(): void {
    if (this.giveUp === null && this.fromClient.isEmpty) this.backend.end();
  }

  private pass(bytes: Buffer): void {
    const { passed, tracker } = this;
    passed.feed(bytes);
    while (passed.next()) tracker.sent(passed, bytes);
    if (!this.backend.write(bytes)) this.fromClient.pause('full');
  }

  /** As errors of the request, where they can be told in their place; else it ends the session. */
  private refuse({ readies }: ReadRequest, error: GatewayError): void {
    const { tracker, client } = this;
    if (tracker.outstanding || readies === 0) this.end(error);
    else if (tracker.status === 'I') {
      const answer = Buffer.concat([errorResponse('ERROR', error), readyForQuery('I')]);
      for (let times = 0; times < readies; times += 1) client.write(answer);
    } else {
      // One after the other: each is answered by an error and ReadyForQuery, in either protocol.
      for (let times = 0; times < readies; times += 1) this.pass(raisingQuery(error));
    }
  }

  /** Returns true if PostgreSQL has to be told; a request that waits is none of its business yet. */
  onCancelRequest(): boolean {
    if (this.tracker.outstanding) return true;
    this.giveUp?.();
    return false;
  }

  /** The session cannot go on: nothing that it was doing has had any effect. */
  end(reason: GatewayError): void {
    if (this.isClosed) return;
    if (this.tracker.outstanding) this.options.onCancel();
    this.close(reason);
  }

  /** With last words, where they can be told. */
  private close(error: GatewayError | null): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.fromClient.drop();
    if (this.isBegun) this.backend.destroy();
    else awaitEnd(this.backend);
    const { answers } = this;
    answers.close();
    const isTold = error !== null && !answers.saidFatal && answers.atBoundary;
    const words = isTold ? [errorResponse('FATAL', error)] : [];
    if (!this.client.destroyed) this.options.onWords(words);
    closeWithWords(this.client, words, this.options.limits.lastWordsMs);
  }

  /** PostgreSQL has closed the connection, and the client has heard all that it said. */
  private afterLastAnswer(): void {
    if (this.tracker.terminated || this.clientEnded || this.answers.saidFatal) this.close(null);
    else this.close(this.backendReached ? errors.standbyWentAway : errors.standbyDown);
  }

  private listen(): void {
    const { client, backend } = this;
    client.on('data', (chunk: Buffer) => this.fromClient.add(chunk));
    client.on('end', () => {
      this.clientEnded = true;
      this.fromClient.whenEmpty(() => this.endBackend());
    });
    client.on('close', () => {
      if (!this.isClosed && this.tracker.outstanding) this.options.onCancel();
      this.close(null);
    });
    backend.on('connect', () => {
      this.backendReached = true;
    });
    backend.on('drain', () => this.fromClient.resume('full'));
    // What is wrong shows in that the connection closes.
    backend.on('error', () => {});
    backend.on('close', () => {
      this.backendGone = true;
      this.options.onLetGo();
      if (this.answers.isTold) this.afterLastAnswer();
    });
  }
}
