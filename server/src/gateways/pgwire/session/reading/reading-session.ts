/**
 * One client that reads at this replica's own standby: a session of its own there, whose requests wait until the standby is current enough for them. Spec: BeginRead and ReadStandby of FollowerReads.tla.
 *
 * Responsible for: the session's life, holding back what the client asks, and telling it why it cannot be answered. What is current is the replica's to say (ports/standby-reads.ts); that nothing is written is PostgreSQL's.
 * Invariants: a request is passed on only when the standby has what the client asked for, at the time at which the gateway had read it; a session never outlives the life of the standby at which it began; of what a client sends
 * one chunk waits at most.
 */
import type { Socket } from 'node:net';
import type { StandbyDoor, StandbyReads } from '../../../../ports/standby-reads.ts';
import { errorResponse, type GatewayError, readyForQuery } from '../../codec/backend-messages.ts';
import { FrameSplitter } from '../../codec/frame-splitter.ts';
import { ProtocolViolation } from '../../codec/protocol-violation.ts';
import {
  changed,
  freshnessOf,
  type ReadConsistency,
  readModes,
  restored,
} from '../../codec/read-consistency.ts';
import { type StartupMessage, startupForReading } from '../../codec/startup.ts';
import { rulesAfter } from '../../codec/text-rules.ts';
import * as errors from '../../errors.ts';
import type { PgwireLimits } from '../../limits.ts';
import { AnswerReader } from '../answer-reader.ts';
import { closeWithWords } from '../close-with-words.ts';
import { connectBackend } from '../connect-backend.ts';
import { RequestTracker } from '../request-tracker.ts';
import { Valve } from '../valve.ts';
import { raisingQuery } from './raising-query.ts';
import { type ReadRequest, RequestReader } from './request-reader.ts';

export interface ReadingSessionOptions {
  readonly client: Socket;
  readonly door: StandbyDoor;
  readonly startup: StartupMessage;
  readonly consistency: ReadConsistency;
  readonly reads: StandbyReads;
  readonly limits: PgwireLimits;
  /** PostgreSQL has let the client in. Returns why there is no room for it, or null. */
  readonly onAuthenticated: () => GatewayError | null;
  /** PostgreSQL's key for CancelRequests. */
  readonly onKey: (key: Buffer) => void;
  /** What it is doing for the client is to be given up. */
  readonly onCancel: () => void;
}

export class ReadingSession {
  readonly tracker = new RequestTracker();

  private readonly options: ReadingSessionOptions;
  private readonly client: Socket;
  private readonly clientValve: Valve;
  private readonly backend: Socket;
  private readonly backendValve: Valve;
  private readonly requests: RequestReader;
  /** Of what is passed on. */
  private readonly passed: FrameSplitter;
  private readonly answers: AnswerReader;
  private consistency: ReadConsistency;
  private isClosed = false;
  private backendReached = false;
  private clientEnded = false;
  private saidFatal = false;

  constructor(options: ReadingSessionOptions) {
    const { client, limits, door, startup, consistency } = options;
    this.options = options;
    this.consistency = consistency;
    this.client = client;
    this.clientValve = new Valve(client);
    this.backend = connectBackend(door.socketPath, (bytes) => this.onAnswer(bytes));
    this.backendValve = new Valve(this.backend);
    this.requests = new RequestReader(limits.frameBytesMax);
    this.passed = new FrameSplitter(limits.frameBytesMax);
    this.answers = this.createReader();
    this.listen();
    this.tracker.startedUp();
    this.backend.write(startupForReading(startup));
    client.resume();
  }

  private createReader(): AnswerReader {
    const { limits, onAuthenticated, onKey } = this.options;
    const { tracker } = this;
    return new AnswerReader(limits.frameBytesMax, {
      authenticated: () => {
        const refusal = onAuthenticated();
        if (refusal !== null) this.close(refusal);
      },
      backendKey: onKey,
      parameter: (name, value) => {
        tracker.rules = rulesAfter(tracker.rules, name, value);
      },
      copyBegan: () => tracker.copyBegan(this.answers.readies),
      failed: () => tracker.failed(this.answers.readies),
      ready: (isBare) => {
        if (tracker.mayHaveSurplus) tracker.ready(isBare, this.answers.readies);
      },
    });
  }

  private onAnswer(chunk: Buffer): void {
    if (this.isClosed) return;
    const { answers } = this;
    try {
      answers.read(chunk);
    } catch (error) {
      this.close(errors.internalError(error));
      return;
    }
    this.saidFatal ||= answers.saidFatal;
    if (answers.readies > 0) this.tracker.told(answers.readies, answers.status);
    if (!this.client.destroyed && !this.client.write(chunk)) this.backendValve.pause('full');
  }

  private onClient(chunk: Buffer): void {
    if (this.isClosed) return;
    try {
      const request = this.requests.read(chunk);
      const error = this.follow(request);
      if (error !== null) this.refuse(request, error);
      else if (this.mustWait(request)) void this.beginRead(request);
      else this.pass(chunk);
    } catch (error) {
      const isKnown = error instanceof ProtocolViolation;
      this.close(isKnown ? errors.protocolViolation(error.message) : errors.internalError(error));
    }
  }

  private mustWait({ asks, mention, isLoneStatement }: ReadRequest): boolean {
    const isSettingOnly = mention !== null && isLoneStatement;
    return asks && !isSettingOnly && this.consistency.mode !== 'snapshot';
  }

  private async beginRead(request: ReadRequest): Promise<void> {
    const { reads, door, limits } = this.options;
    const { consistency } = this;
    this.clientValve.pause('waiting');
    const isBounded = consistency.mode === 'bounded';
    const waitMs = isBounded ? limits.boundedWaitMs : limits.readWaitMs;
    const currency = await reads.beginRead(door.life, freshnessOf(consistency), waitMs);
    if (this.isClosed) return;
    switch (currency.code) {
      case 'current':
        this.pass(request.chunk);
        break;
      case 'over':
        this.end(errors.standbyWentAway);
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
    this.clientValve.resume('waiting');
  }

  /** Takes over how the client wants to read from now on. Returns why it cannot, or null. */
  private follow({ mention, isLoneStatement }: ReadRequest): GatewayError | null {
    if (mention === null) return null;
    const { consistency, tracker } = this;
    const mayChange = !tracker.outstanding && tracker.status === 'I';
    if (mention.kind === 'all') {
      // Poolers send it ahead of a session's next statement: that is to be read as the session began, too.
      if (mayChange) this.consistency = this.options.consistency;
      return null;
    }
    if (mention.kind === 'other' || !isLoneStatement) return errors.readSettingHidden;
    if (!mayChange) return errors.readSettingInTransaction;
    const { name, value } = mention;
    const next =
      value === null
        ? restored(consistency, this.options.consistency, name)
        : changed(consistency, name, value);
    if ('value' in next) return errors.wrongReadSetting(name, next.value, readModes);
    if (next.mode === 'leader') return errors.readModeAtStart;
    this.consistency = next;
    return null;
  }

  private pass(bytes: Buffer): void {
    const { passed, tracker } = this;
    passed.feed(bytes);
    while (passed.next()) tracker.sent(passed, bytes);
    if (!this.backend.write(bytes)) this.clientValve.pause('full');
  }

  /** As an error of the request, where it can be told in its place; else it ends the session. */
  private refuse({ readies }: ReadRequest, error: GatewayError): void {
    const { tracker, client } = this;
    if (tracker.outstanding) this.close(error);
    else if (tracker.status === 'I' && readies > 0) {
      const answer = Buffer.concat([errorResponse('ERROR', error), readyForQuery('I')]);
      for (let times = 0; times < readies; times += 1) client.write(answer);
    } else if (readies === 1) this.pass(raisingQuery(error));
    else this.close(error);
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
    this.backend.destroy();
    const isTold = error !== null && !this.saidFatal && this.answers.atBoundary;
    closeWithWords(
      this.client,
      isTold ? [errorResponse('FATAL', error)] : [],
      this.options.limits.lastWordsMs,
    );
  }

  private onBackendGone(): void {
    if (this.tracker.terminated || this.clientEnded || this.saidFatal) this.close(null);
    else this.close(this.backendReached ? errors.standbyWentAway : errors.standbyDown);
  }

  private listen(): void {
    const { client, backend } = this;
    client.on('data', (chunk: Buffer) => this.onClient(chunk));
    client.on('drain', () => this.backendValve.resume('full'));
    client.on('end', () => {
      this.clientEnded = true;
      backend.end();
    });
    client.on('close', () => {
      if (!this.isClosed && this.tracker.outstanding) this.options.onCancel();
      this.close(null);
    });
    backend.on('connect', () => {
      this.backendReached = true;
    });
    backend.on('drain', () => this.clientValve.resume('full'));
    // What is wrong shows in that the connection closes.
    backend.on('error', () => {});
    backend.on('close', () => this.onBackendGone());
  }
}
