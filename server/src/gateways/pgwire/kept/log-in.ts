/**
 * Logs a client that is in already in at another upstream, and gives the new session what the old one had.
 *
 * Responsible for: one attempt, up to the moment at which the session can take the client's next message. The client hears nothing of it; what it should know (settings that are told by themselves, notifications)
 * is in the result.
 */
import type { Duplex } from 'node:stream';
import {
  endsSession,
  type ErrorFields,
  firstColumn,
  type GatewayError,
  readErrorFields,
  readParameterStatus,
} from '../../../pgwire/backend-messages.ts';
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { FrameSplitter, headerBytes } from '../../../pgwire/frame-splitter.ts';
import { back } from '../../../pgwire/message-types.ts';
import * as errors from '../errors.ts';
import { saysAuthenticated } from '../session/answer-reader.ts';
import { meaningOf, saysBackendEnded } from './last-words.ts';
import { type LoginFacts, loginFactsIn, nothingKnown } from './login-defaults.ts';
import { isSafe } from './read-question.ts';
import type { RestoreStep } from './restore.ts';

export type LogInResult =
  | {
      readonly kind: 'in';
      readonly parameters: ReadonlyMap<string, string>;
      readonly key: Buffer | null;
      /** NotificationResponse messages that came meanwhile. */
      readonly notifications: readonly Buffer[];
      /** Prepared statements that could not be made. */
      readonly forgotten: readonly string[];
      /** Whether it may act elsewhere: `t` or `f`; null: it was not asked, or not answered. */
      readonly told: string | null;
      /** The mark of the functions that it may call; null: as `told`. */
      readonly functions: string | null;
      /** So many answers have said that what was under way can only have read. */
      readonly saidSafe: number;
      readonly login: LoginFacts;
    }
  /** `again`: later, or elsewhere, it may succeed; `broke`: the connection was lost, or the process of the session. `failed`: it will not. */
  | { readonly kind: 'again'; readonly error: GatewayError; readonly broke: boolean }
  | { readonly kind: 'failed'; readonly error: GatewayError };

export type LoggedIn = Extract<LogInResult, { kind: 'in' }>;

export interface LogInOptions {
  readonly steps: readonly RestoreStep[];
  readonly timeoutMs: number;
  readonly frameBytesMax: number;
  /** Aborted: nobody wants it any more. */
  readonly signal: AbortSignal;
}

/** So much of a message is looked at. */
const lookedBytesMax = 65_536;
const notificationsMax = 1_000;
/** There is a prepared statement of this name: it was made by an earlier step. */
const madeBefore = '42P05';
/** There is no place in the lock table, or no memory: somebody may let go of it. */
const outOfMemory = '53200';
/** Somebody else holds what a statement needs that is prepared again. */
const lockNotAvailable = '55P03';
/** A step took too long (restore.ts). */
const canceled = '57014';
/** It starts, has no leader, no room, cannot reach the leader. */
const passing: ReadonlySet<string> = new Set(['57P03', '53300', '08001', '57P01', '57P02', outOfMemory]);

/** The startup packet is on its way. The stream is paused afterwards, or destroyed. Never rejects. */
export function logIn(upstream: Duplex, options: LogInOptions): Promise<LogInResult> {
  return new Promise((resolve) => {
    const login = new LogIn(upstream, options, resolve);
    login.begin();
  });
}

class LogIn {
  private readonly upstream: Duplex;
  private readonly options: LogInOptions;
  private readonly resolve: (result: LogInResult) => void;
  private readonly splitter: FrameSplitter;
  private readonly gatherer = new FrameGatherer(lookedBytesMax);
  private readonly parameters = new Map<string, string>();
  private readonly notifications: Buffer[] = [];
  private readonly forgotten: string[] = [];
  private key: Buffer | null = null;
  private told: string | null = null;
  private functions: string | null = null;
  private saidSafe = 0;
  private login = nothingKnown;
  /** -1: it logs in. */
  private step = -1;
  private timer: NodeJS.Timeout | null = null;
  private isOver = false;
  private readonly onData = (chunk: Buffer): void => this.read(chunk);
  private readonly onGone = (): void => this.again(errors.leaderWentAway, true);

  constructor(upstream: Duplex, options: LogInOptions, resolve: (result: LogInResult) => void) {
    this.upstream = upstream;
    this.options = options;
    this.resolve = resolve;
    this.splitter = new FrameSplitter(options.frameBytesMax);
  }

  begin(): void {
    const { upstream } = this;
    const { signal } = this.options;
    if (signal.aborted || upstream.destroyed) {
      this.onGone();
      return;
    }
    signal.addEventListener('abort', this.onGone);
    this.timer = setTimeout(this.onGone, this.options.timeoutMs);
    upstream.on('data', this.onData).on('close', this.onGone).on('end', this.onGone);
    // What is wrong shows in that the connection closes.
    upstream.on('error', () => {});
    upstream.resume();
  }

  private read(chunk: Buffer): void {
    const { splitter, gatherer } = this;
    try {
      splitter.feed(chunk);
      while (!this.isOver && splitter.next()) {
        const message = gatherer.add(splitter, chunk);
        if (message !== null) this.take(splitter.type, message);
      }
    } catch (error) {
      this.fail(errors.internalError(error));
      return;
    }
    const rest = chunk.subarray(splitter.end);
    if (this.isOver && splitter.end > 0 && rest.length > 0 && !this.upstream.destroyed)
      this.upstream.unshift(rest);
  }

  private take(type: number, message: Buffer): void {
    switch (type) {
      case back.authentication:
        if (!saysAuthenticated(message)) this.fail(errors.leaderWentAway);
        return;
      case back.parameterStatus: {
        const { name, value } = readParameterStatus(message);
        this.parameters.set(name, value);
        return;
      }
      case back.backendKeyData:
        this.key = Buffer.from(message.subarray(headerBytes));
        return;
      case back.notificationResponse:
        if (this.notifications.length < notificationsMax) this.notifications.push(Buffer.from(message));
        return;
      case back.errorResponse:
        this.failed(readErrorFields(message));
        return;
      case back.dataRow:
        this.answered(this.options.steps[this.step]?.asks, message);
        return;
      case back.readyForQuery:
        this.next();
        return;
      default:
    }
  }

  private answered(asked: RestoreStep['asks'], row: Buffer): void {
    if (asked === 'effects') this.told = firstColumn(row);
    else if (asked === 'functions') this.functions = firstColumn(row);
    else if (asked === 'login') this.login = loginFactsIn(row);
    else if (asked === 'reads' && isSafe(row)) this.saidSafe += 1;
  }

  private failed(fields: ErrorFields): void {
    const error = { sqlState: fields.get('C') ?? 'XX000', message: fields.get('M') ?? '' };
    if (endsSession(fields)) {
      // PostgreSQL's own words: somebody has ended this very session, which is the client's already.
      const isOrder = error.sqlState === '57P01' && meaningOf(fields) === null && this.step >= 0;
      const mayPass = !isOrder && (passing.has(error.sqlState) || meaningOf(fields) !== null);
      const ended = saysBackendEnded(fields);
      // PostgreSQL ends all processes when one of them crashes, and those that log in without a word. Of one that has logged in, restoring the session may be the reason.
      if (mayPass && (!ended || this.step === -1)) this.again(error, ended);
      else this.fail(error);
      return;
    }
    const step = this.options.steps[this.step];
    const mayPass =
      error.sqlState === outOfMemory ||
      (step !== undefined && error.sqlState === lockNotAvailable) ||
      (step !== undefined && step.asks === undefined && error.sqlState === canceled);
    if (mayPass) this.again(error, false);
    else if (step?.onError === 'forget') {
      if (error.sqlState !== madeBefore) this.forgotten.push(step.statement);
    } else if (step?.onError !== 'expected') this.fail(error);
  }

  /** ReadyForQuery: to the login, or to a step. All steps are sent at once. */
  private next(): void {
    const { steps } = this.options;
    if (this.step === -1 && steps.length > 0)
      this.upstream.write(Buffer.concat(steps.map(({ bytes }) => bytes)));
    this.step += 1;
    if (this.step < steps.length) return;
    const { parameters, key, notifications, forgotten, told, functions, saidSafe, login } = this;
    this.end({ kind: 'in', parameters, key, notifications, forgotten, told, functions, saidSafe, login });
  }

  private again(error: GatewayError, broke: boolean): void {
    this.end({ kind: 'again', error, broke });
  }

  private fail(error: GatewayError): void {
    this.end({ kind: 'failed', error });
  }

  private end(result: LogInResult): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.options.signal.removeEventListener('abort', this.onGone);
    this.upstream.off('data', this.onData).off('close', this.onGone).off('end', this.onGone);
    if (result.kind === 'in') this.upstream.pause();
    else this.upstream.destroy();
    this.resolve(result);
  }
}
