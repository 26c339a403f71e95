/**
 * One connection of a Thrift client: reads its calls, has one after the other answered, and writes the answers.
 *
 * Responsible for: the bounds on what one connection may take, in bytes and in time. Invariants: one call is under way at a time, and nothing more is read meanwhile than the system's buffers hold; whatever is wrong with a connection ends it, and
 * no other.
 */
import type { Socket } from 'node:net';
import type { ClientLink } from '../../pgwire/login/client-link.ts';
import * as api from '../codec/barista-api.ts';
import { MessageReader } from '../codec/message-reader.ts';
import { BrokenMessage } from '../codec/message-scanner.ts';
import type { ThriftLimits } from '../limits.ts';
import type { Budget } from '../sql/budget.ts';
import type { SqlError } from '../sql/sql-error.ts';
import type { SqlSession, SqlSessions } from '../sql/sql-sessions.ts';
import type { Crowd, CrowdMember } from './crowd.ts';
import { answer, type Caller } from './dispatch.ts';

export interface ConnectionOptions {
  readonly sessions: SqlSessions;
  readonly limits: ThriftLimits;
  readonly crowd: Crowd;
  /** Of answers that are being written. */
  readonly answers: Budget;
  readonly onAnswered: (method: string, error: SqlError | null) => void;
  readonly onBroken: (why: string) => void;
  readonly onFailure: (error: unknown) => void;
}

const lookAtFirst = 16;

export class ThriftConnection implements CrowdMember, Caller {
  readonly link: ClientLink;
  private readonly socket: Socket;
  private readonly options: ConnectionOptions;
  private readonly reader: MessageReader;
  private readonly detach = new Map<SqlSession, () => void>();
  /** When it has so many, those that have ended are looked for. */
  private lookAt = lookAtFirst;
  private isAnswering = false;
  private isEnding = false;
  private wrongHandles = 0;
  private timer: NodeJS.Timeout | null = null;
  private isTimingMessage = false;
  /** Counted in the budget, and which one that is. */
  private counted: { readonly budget: Budget; readonly bytes: number } | null = null;

  /** `socket`: paused, with everything that has come still in it. */
  constructor(socket: Socket, link: ClientLink, options: ConnectionOptions) {
    const { limits, crowd } = options;
    const { strangerMessageBytesMax: bytesMax, elementsMax, depthMax } = limits;
    this.socket = socket;
    this.link = link;
    this.options = options;
    this.reader = new MessageReader({ bytesMax, elementsMax, depthMax });
    crowd.enter(this);
    socket.on('close', () => this.leave());
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      this.reader.feed(chunk);
      void this.goOn();
    });
    this.limitTime();
    socket.resume();
  }

  get address(): string {
    return this.link.address;
  }

  end(why: string): void {
    if (!this.isEnding) this.options.onBroken(why);
    this.isEnding = true;
    this.socket.destroy();
  }

  onSession(session: SqlSession): void {
    const { crowd, limits } = this.options;
    if (!crowd.become(this)) {
      this.end('there are too many connections');
      return;
    }
    this.reader.bounds = { ...this.reader.bounds, bytesMax: limits.messageBytesMax };
    if (this.detach.has(session) || this.socket.destroyed) return;
    if (this.detach.size >= this.lookAt) this.letGoOfEnded();
    this.detach.set(session, session.attach());
  }

  /** One connection may use any number of sessions, one after the other. */
  private letGoOfEnded(): void {
    for (const [session, detach] of this.detach) {
      if (!session.isOver) continue;
      detach();
      this.detach.delete(session);
    }
    this.lookAt = Math.max(lookAtFirst, 2 * this.detach.size);
  }

  onWrongHandle(): void {
    this.wrongHandles += 1;
  }

  onFailure(error: unknown): void {
    this.options.onFailure(error);
  }

  /** Never rejects. */
  private async goOn(): Promise<void> {
    if (this.isAnswering || this.isEnding) return;
    const { crowd } = this.options;
    this.isAnswering = true;
    this.socket.pause();
    try {
      for (;;) {
        const message = this.reader.next();
        if (!this.count()) break;
        if (message === null || this.isEnding) break;
        this.limitTime('answering');
        crowd.rest(this);
        await this.serve(message);
        if (this.isEnding || this.socket.destroyed) break;
        if (!crowd.members.has(this)) crowd.enter(this);
      }
    } catch (error) {
      this.end(error instanceof BrokenMessage ? error.message : 'it could not be read');
    }
    this.isAnswering = false;
    if (this.isEnding || this.socket.destroyed) return;
    this.limitTime();
    this.socket.resume();
  }

  private async serve(message: Buffer): Promise<void> {
    const { sessions, limits, onAnswered } = this.options;
    const isFramed = this.reader.isFramed === true;
    const read = api.readCall(message);
    if (read.call.method === 'unknown') {
      onAnswered('unknown', null);
      const what = { type: api.applicationErrors.unknownMethod, text: `there is no method ${read.name}` };
      await this.write(api.applicationException(read, what, isFramed));
      return;
    }
    const { reply, error } = await answer(read.call, sessions, this);
    onAnswered(read.call.method, error);
    await this.write(api.replyMessage(read, reply, isFramed));
    if (this.wrongHandles >= limits.wrongHandlesMax)
      this.end('it has shown too many handles that there are not');
  }

  /** Resolves when the client has taken most of it, or has gone. */
  private async write(bytes: Buffer): Promise<void> {
    const { answers, limits } = this.options;
    const { socket } = this;
    if (socket.destroyed) return;
    answers.add(bytes.length);
    const timer = setTimeout(() => this.end('it does not read its answer'), limits.answerTimeoutMs);
    try {
      if (!socket.write(bytes)) {
        await new Promise<void>((resolve) => {
          socket.once('drain', resolve).once('close', resolve);
        });
        socket.removeAllListeners('drain');
      }
    } finally {
      clearTimeout(timer);
      answers.give(bytes.length);
    }
  }

  /** What is held here, among all. False: it is too much, and this is the one that goes. */
  private count(): boolean {
    this.uncount();
    const budget = this.options.crowd.budgetOf(this);
    const { bytes } = this.reader;
    if (!budget.take(bytes)) {
      this.end('requests of all connections take too much memory');
      return false;
    }
    this.counted = { budget, bytes };
    return true;
  }

  private uncount(): void {
    this.counted?.budget.give(this.counted.bytes);
    this.counted = null;
  }

  /** Anew where something is said; a message that has begun is to be whole in time, however it trickles in. */
  private limitTime(phase: 'reading' | 'answering' = 'reading'): void {
    const { limits, crowd } = this.options;
    const isWithin = phase === 'reading' && this.reader.isWithin;
    if (isWithin && this.timer !== null && this.isTimingMessage) return;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.isTimingMessage = isWithin;
    if (phase === 'answering') return;
    const isMember = crowd.members.has(this);
    const idleMs = isMember ? limits.memberIdleMs : limits.strangerIdleMs;
    const why = isWithin ? 'a request is not whole in time' : 'it says nothing';
    this.timer = setTimeout(() => this.end(why), isWithin ? limits.messageTimeoutMs : idleMs).unref();
  }

  private leave(): void {
    this.isEnding = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.uncount();
    this.options.crowd.leave(this);
    for (const detach of this.detach.values()) detach();
    this.detach.clear();
  }
}
