/**
 * One logged-in connection to this replica's own SQL gateway, on which one request at a time is made.
 *
 * Responsible for: logging in, the messages of a request and its answer, cancelling what is too long. What a session is to its client is pgwire-session.ts.
 * Invariants: whatever is answered, no more is held of it than the bounds of an answer; when the connection has ended, every request is answered with why; no
 * cancel is under way when a request is sent, or it would strike that one.
 */
import type { Socket } from 'node:net';
import {
  endsSession,
  type GatewayError,
  readErrorFields,
  statusOf,
} from '../../../pgwire/backend-messages.ts';
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { FrameSplitter, headerBytes } from '../../../pgwire/frame-splitter.ts';
import { terminate } from '../../../pgwire/frontend-messages.ts';
import { back, type TransactionStatus } from '../../../pgwire/message-types.ts';
import * as errors from '../errors.ts';
import { Answer, errorOf } from './answer.ts';
import * as send from './wire-messages.ts';
import { ScramProof } from './scram-proof.ts';
import { SqlError } from './sql-error.ts';

export interface WireOptions {
  /** How a CancelRequest gets to where the socket leads. */
  readonly connectAgain: () => Promise<Socket>;
  readonly answerBytesMax: number;
  readonly takeBytes: (bytes: number) => boolean;
}

export interface WireLogin {
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly timeoutMs: number;
}

/** PostgreSQL's own bound. */
const frameBytesMax = 2 ** 30 + 8;
/** Beyond the values of a row: its lengths, and messages that are no rows. */
const frameBytesMore = 300_000;
const lingerMs = 1_000;
/** Until a cancel that nobody takes is given up. */
const cancelMs = 5_000;

interface Waiting {
  readonly answer: Answer;
  /** Of ReadyForQuery. */
  readonly resolve: (answer: Answer) => void;
}

export class SqlWire {
  status: TransactionStatus = 'I';
  /** Null: it is there. */
  ended: SqlError | null = null;
  onEnd: () => void = () => {};
  private readonly socket: Socket;
  private readonly options: WireOptions;
  private readonly splitter = new FrameSplitter(frameBytesMax);
  private readonly gatherer: FrameGatherer;
  private key: Buffer | null = null;
  private waiting: Waiting | null = null;
  private lastWords: GatewayError | null = null;
  /** Of the request that is waited for: ends when the cancel has been delivered, or never will be. */
  private cancelled: Promise<void> | null = null;
  private onLogin: ((code: number, data: Buffer) => void) | null = null;

  private constructor(socket: Socket, options: WireOptions) {
    this.socket = socket;
    this.options = options;
    this.gatherer = new FrameGatherer(options.answerBytesMax + frameBytesMore);
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.end());
  }

  /** @throws SqlError: who may not log in, or why nobody can just now */
  static async logIn(socket: Socket, login: WireLogin, options: WireOptions): Promise<SqlWire> {
    const wire = new SqlWire(socket, options);
    const timer = setTimeout(() => {
      wire.lastWords ??= errors.loginTimedOut();
      socket.destroy();
    }, login.timeoutMs);
    try {
      await wire.logIn(login);
      return wire;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  private async logIn({ user, password, database }: WireLogin): Promise<void> {
    const proof = new ScramProof(password);
    this.onLogin = (code, data) => {
      void this.prove(proof, code, data).catch((error: unknown) => {
        this.lastWords ??= errors.noDatabase(error instanceof Error ? error.message : String(error));
        this.socket.destroy();
      });
    };
    const { error } = await this.request(send.startup({ user, database }));
    this.onLogin = null;
    if (this.ended !== null) throw this.ended;
    if (error !== null) throw new SqlError(error);
  }

  private async prove(proof: ScramProof, code: number, data: Buffer): Promise<void> {
    const text = data.toString('latin1');
    if (code === send.authenticationOk) return;
    if (code === send.saslAsked) this.socket.write(send.saslFirst(proof.first));
    else if (code === send.saslContinued) this.socket.write(send.saslAnswer(await proof.final(text)));
    else if (code !== send.saslEnded || !proof.isServer(text))
      throw new Error('the SQL gateway does not prove that it knows the password');
  }

  /** Sends messages that are answered with one ReadyForQuery. Never rejects: an answer without one has the error that ended the connection. */
  request(messages: Buffer): Promise<Answer> {
    const { answerBytesMax, takeBytes } = this.options;
    const answer = new Answer(answerBytesMax, takeBytes);
    return new Promise((resolve) => {
      this.waiting = { answer, resolve };
      this.cancelled = null;
      if (this.ended === null) this.socket.write(messages);
      else this.fail();
    });
  }

  /** `why`: what is told from now on. */
  close(why: SqlError): void {
    this.ended ??= why;
    this.socket.end(terminate);
    setTimeout(() => this.socket.destroy(), lingerMs).unref();
  }

  private read(chunk: Buffer): void {
    const { splitter, gatherer } = this;
    try {
      splitter.feed(chunk);
      while (splitter.next()) {
        const frame = gatherer.add(splitter, chunk);
        if (frame !== null) this.take(splitter.type, frame);
        // A row that is too long is not waited for.
        else if (this.waiting?.answer.refusal === 'tooLong') this.cancel();
      }
    } catch {
      this.socket.destroy();
    }
  }

  private take(type: number, frame: Buffer): void {
    if (type === back.readyForQuery) {
      this.status = statusOf(frame[headerBytes] ?? 0);
      if (this.cancelled === null) this.finish();
      else void this.cancelled.then(() => this.finish());
      return;
    }
    if (type === back.authentication) {
      this.onLogin?.(frame.readInt32BE(headerBytes), frame.subarray(headerBytes + 4));
      return;
    }
    if (type === back.backendKeyData) this.key = Buffer.from(frame.subarray(headerBytes));
    if (type === back.errorResponse) {
      const fields = readErrorFields(frame);
      if (endsSession(fields)) this.lastWords = errorOf(fields);
    }
    if (this.waiting === null) return;
    const { answer } = this.waiting;
    answer.add(type, frame, frame.length < frame.readInt32BE(1) + 1);
    if (type === back.copyInResponse) {
      // Which ends it: a cancel would have nothing left to strike.
      this.socket.write(send.refuseCopy);
      this.cancelled ??= Promise.resolve();
    }
    if (answer.refusal !== null) this.cancel();
  }

  /** What is being executed; once. If it does not get there, the answer is read to its end, and thrown away. */
  private cancel(): void {
    if (this.cancelled !== null || this.key === null) return;
    this.cancelled = this.deliver(send.cancelRequest(this.key));
  }

  /** PostgreSQL, and a gateway before it, end a cancel's connection when it has been delivered. */
  private async deliver(request: Buffer): Promise<void> {
    const socket = await this.options.connectAgain().catch(() => null);
    if (socket === null) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => socket.destroy(), cancelMs);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        clearTimeout(timer);
        resolve();
      });
      // Its end is not told here: it would be answered at once.
      socket.resume().write(request);
    });
  }

  private finish(): void {
    const { waiting } = this;
    this.waiting = null;
    waiting?.resolve(waiting.answer);
  }

  private end(): void {
    const wasThere = this.ended === null;
    this.ended ??=
      this.lastWords === null ? errors.sessionEnded('its database has gone') : new SqlError(this.lastWords);
    this.fail();
    if (wasThere) this.onEnd();
  }

  private fail(): void {
    const { waiting } = this;
    this.waiting = null;
    if (waiting === null) return;
    waiting.answer.error ??= this.lastWords ?? errors.outcomeUnknown();
    waiting.resolve(waiting.answer);
  }
}
