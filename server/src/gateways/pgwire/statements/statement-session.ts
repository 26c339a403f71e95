/**
 * A client of a session that exists at every replica: what it sends is cut into requests, each is agreed on, and what this replica's PostgreSQL answers goes back to it.
 *
 * Responsible for: one client's connection, and the order of its requests: the next one is given away when the one before has been answered. Invariants: what is kept of a client is bounded, for it is not read from while
 * a request of its is under way; the session is closed at all replicas when its client is gone.
 */
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type {
  RequestAnswer,
  SessionId,
  SessionOpening,
  StatementSessions,
} from '../../../ports/statement-sessions.ts';
import {
  errorResponse,
  frameOf,
  type GatewayError,
  readyForQuery,
  statusOf,
} from '../../../pgwire/backend-messages.ts';
import { headerBytes } from '../../../pgwire/frame-splitter.ts';
import { back, front, type TransactionStatus } from '../../../pgwire/message-types.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';
import * as told from '../errors.ts';
import { closeWithWords } from '../session/close-with-words.ts';
import { endOfAnswer } from './answer-ends.ts';
import { notOrdered, orderUnknown, tooManyNotifications } from './errors.ts';
import { type Cut, type CutterBounds, RequestCutter } from './request-cutter.ts';

export interface StatementSessionOptions {
  readonly client: Duplex;
  readonly opening: SessionOpening;
  readonly sessions: StatementSessions;
  readonly bounds: CutterBounds;
  readonly lastWordsMs: number;
  /** The session is there. Returns why there is no room for the client, or null. */
  readonly onAuthenticated: () => GatewayError | null;
  /** For CancelRequests: process id and secret. */
  readonly onKey: (key: Buffer, cancel: () => void) => void;
  readonly onWords: (words: readonly Buffer[]) => void;
}

/** What PostgreSQL gives a client: four bytes of a process id, and as many of a secret. */
const keyBytes = 8;
/** Notifications that wait: behind the answer that is under way, or for a client that does not read. */
const noticeBytesMax = 16 * 1024 * 1024;

export class StatementSession {
  private readonly options: StatementSessionOptions;
  private readonly client: Duplex;
  private readonly cutter: RequestCutter;
  private session: SessionId | null = null;
  private seq = 0;
  private status: TransactionStatus = 'I';
  /** It copies into a table, and the client was asked for the data. */
  private copies: Buffer | null = null;
  /** How often, of the request that is under way. */
  private askedForData = 0;
  private busy = true;
  private notices: Buffer[] = [];
  /** Of those that wait. */
  private noticeBytes = 0;
  private clientEnded = false;
  private over = false;

  constructor(options: StatementSessionOptions) {
    this.options = options;
    this.client = options.client;
    this.cutter = new RequestCutter(options.bounds);
    this.client.on('data', (chunk: Buffer) => this.hear(chunk));
    // What it has sent is done and answered, as by PostgreSQL.
    this.client.on('end', () => {
      this.clientEnded = true;
      if (!this.busy) this.leave();
    });
    this.client.on('close', () => this.leave());
    this.client.pause();
    void this.open();
  }

  /** Behind the answer that is under way, if there is one. */
  private notify(message: Buffer): void {
    this.noticeBytes += message.length;
    if (Math.max(this.noticeBytes, this.client.writableLength) > noticeBytesMax)
      this.end(tooManyNotifications(noticeBytesMax));
    else if (this.busy) this.notices.push(message);
    else {
      this.noticeBytes = 0;
      void this.write([message]);
    }
  }

  /** Last words, for a reason that lies here. */
  end(error: GatewayError): void {
    this.close([errorResponse('FATAL', error)]);
  }

  private async open(): Promise<void> {
    const { sessions, opening, onAuthenticated, onKey } = this.options;
    const answer = await sessions.open(opening, (message) => this.notify(message));
    if (answer.code !== 'answered') {
      this.end(notOrdered(answer.reason));
      return;
    }
    this.session = answer.session;
    const end = endOfAnswer(answer.bytes);
    if (answer.ended || end.readyAt < 0) {
      this.close([answer.bytes]);
      return;
    }
    const refusal = this.over ? null : onAuthenticated();
    if (refusal !== null) this.end(refusal);
    if (this.over) {
      sessions.close(answer.session);
      return;
    }
    const key = randomBytes(keyBytes);
    key.writeInt32BE(answer.processId, 0);
    onKey(key, () => sessions.cancel(answer.session));
    await this.write([
      answer.bytes.subarray(0, end.readyAt),
      frameOf(back.backendKeyData, key),
      answer.bytes.subarray(end.readyAt),
    ]);
    await this.work();
  }

  private hear(chunk: Buffer): void {
    if (this.over) return;
    try {
      this.cutter.feed(chunk);
    } catch (error) {
      this.refuseStream(error);
      return;
    }
    if (!this.busy) void this.work();
  }

  /** What has come, one request after the other; then the client is read from again. */
  private async work(): Promise<void> {
    this.busy = true;
    this.client.pause();
    try {
      for (let cut = this.cutter.take(); cut !== null && !this.over; cut = this.cutter.take())
        await this.serve(cut);
    } catch (error) {
      this.refuseStream(error);
    }
    this.busy = false;
    const { notices } = this;
    this.notices = [];
    this.noticeBytes = 0;
    if (notices.length > 0) void this.write(notices);
    if (this.over) return;
    if (this.clientEnded) this.leave();
    else this.client.resume();
  }

  private refuseStream(error: unknown): void {
    if (error instanceof ProtocolViolation) this.end(told.protocolViolation(error.message));
    else this.end(told.internalError(error));
  }

  private async serve(cut: Cut): Promise<void> {
    switch (cut.kind) {
      case 'terminate':
        this.close([]);
        return;
      case 'refused': {
        const words = [errorResponse('ERROR', cut.error)];
        return this.write(cut.isReady ? [...words, readyForQuery(this.status)] : words);
      }
      case 'request':
        return this.ask(cut.bytes, cut.hidesReady);
      default:
        cut satisfies never;
    }
  }

  private async ask(cut: Buffer, hidesReady: boolean): Promise<void> {
    const { sessions } = this.options;
    const bytes = this.copies === null ? cut : Buffer.concat([this.copies, cut]);
    this.copies = null;
    const asked = this.askedForData;
    this.askedForData = 0;
    const { session } = this;
    if (session === null) return;
    const answer = await sessions.request(session, this.seq + 1, bytes);
    if (this.over) return;
    switch (answer.code) {
      case 'wantsData':
        this.copies = bytes;
        this.askedForData = asked + 1;
        this.cutter.copies(bytes[0] === front.query ? 'simple' : 'extended');
        return this.write([copyInResponse(answer.isBinary)]);
      case 'refused':
        return this.write([errorResponse('ERROR', notOrdered(answer.reason)), readyForQuery(this.status)]);
      case 'unknown':
        this.end(orderUnknown(answer.reason));
        return;
      case 'answered':
        this.seq += 1;
        return this.pass({ ...answer, bytes: withoutCopyInResponses(answer.bytes, asked) }, hidesReady);
      default:
        answer satisfies never;
    }
  }

  private async pass(
    { bytes, ended }: Extract<RequestAnswer, { code: 'answered' }>,
    hidesReady: boolean,
  ): Promise<void> {
    const end = endOfAnswer(bytes);
    if (ended || end.fatal !== null) {
      this.close([bytes]);
      return;
    }
    if (end.readyAt >= 0) this.status = statusOf(bytes[end.readyAt + headerBytes]!);
    this.cutter.answered(end.failed, hidesReady);
    await this.write([hidesReady && end.readyAt >= 0 ? bytes.subarray(0, end.readyAt) : bytes]);
  }

  /** Resolves when the client takes more. */
  private async write(words: readonly Buffer[]): Promise<void> {
    const { client } = this;
    if (this.over || client.destroyed) return;
    client.cork();
    let room = true;
    for (const word of words) if (word.length > 0) room = client.write(word);
    client.uncork();
    if (room || client.destroyed) return;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        client.off('drain', go);
        client.off('close', go);
        resolve();
      };
      client.on('drain', go);
      client.on('close', go);
    });
  }

  private close(words: readonly Buffer[]): void {
    if (!this.giveUp()) return;
    this.options.onWords(words);
    closeWithWords(this.client, words, this.options.lastWordsMs);
  }

  /** The client is gone, or says nothing more. */
  private leave(): void {
    if (this.giveUp()) this.client.end();
  }

  /** False: it was over already. */
  private giveUp(): boolean {
    if (this.over) return false;
    this.over = true;
    if (this.session !== null) this.options.sessions.close(this.session);
    return true;
  }
}

/** Of how many columns is for nobody's use, and known to PostgreSQL alone. */
/** The client was asked for its data already, so often. */
function withoutCopyInResponses(answer: Buffer, asked: number): Buffer {
  let left = asked;
  const kept: Buffer[] = [];
  for (let at = 0; at + headerBytes <= answer.length; ) {
    const end = at + 1 + answer.readInt32BE(at + 1);
    if (left > 0 && answer[at] === back.copyInResponse) left -= 1;
    else kept.push(answer.subarray(at, end));
    at = end;
  }
  return left === asked ? answer : Buffer.concat(kept);
}

function copyInResponse(isBinary: boolean): Buffer {
  return frameOf(back.copyInResponse, Buffer.from([isBinary ? 1 : 0, 0, 0]));
}
