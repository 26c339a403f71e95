/**
 * One session of a Thrift client where statements travel: it exists at every replica, and its client uses it at whichever it likes.
 *
 * Responsible for: one request at a time here, in the order in which they came; what a request is in PostgreSQL's protocol, and its answer in the API's. What other replicas do with the session meanwhile, and that a request with a
 * name is executed once, is seen to where requests are agreed on (replica/statements/shared-sessions.ts).
 */
import { createHash } from 'node:crypto';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { query } from '../../../pgwire/frontend-messages.ts';
import { back } from '../../../pgwire/message-types.ts';
import type { CallAnswer, SharedCall, SharedSession } from '../../../ports/statement-sessions.ts';
import type { Connection, ResultSet } from '../codec/barista-api.ts';
import * as errors from '../errors.ts';
import type { ThriftLimits } from '../limits.ts';
import { Answer } from './answer.ts';
import type { Budget } from './budget.ts';
import { digestOf } from './kept-answers.ts';
import { namesIn, problemOf, resultOf } from './results.ts';
import { SqlError } from './sql-error.ts';
import type { SqlRequest, SqlSession } from './sql-sessions.ts';
import { TypeNames } from './type-names.ts';
import { statement, typesQuestion } from './wire-messages.ts';

export interface SharedThriftSessionOptions {
  readonly session: SharedSession;
  readonly connection: Connection;
  readonly isName: (seqId: string) => boolean;
  readonly limits: ThriftLimits;
  /** Of answers that are being gathered. */
  readonly budget: Budget;
  /** Nothing is known of it here any more. */
  readonly onEnd: () => void;
}

const noSession = '08003';
/** What stands where there is nothing to tell apart. */
const noDigest = '0'.repeat(32);

export class SharedThriftSession implements SqlSession {
  readonly connection: Connection;
  readonly isName: (seqId: string) => boolean;
  private readonly options: SharedThriftSessionOptions;
  private readonly typeNames = new TypeNames((numbers) => this.askForTypes(numbers));
  /** Settles when all that came before is done. */
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private attached = 0;
  private timer: NodeJS.Timeout | null = null;
  /** Why; null: it is there, as far as this replica knows. */
  private ended: SqlError | null = null;

  constructor(options: SharedThriftSessionOptions) {
    this.options = options;
    this.connection = options.connection;
    this.isName = options.isName;
    this.rest();
  }

  get isOver(): boolean {
    return this.ended !== null;
  }

  attach(): () => void {
    this.attached += 1;
    this.rest();
    return () => {
      this.attached -= 1;
      this.rest();
    };
  }

  async run(request: SqlRequest, seqId: string | null): Promise<ResultSet | null> {
    if (this.waiting >= this.options.limits.waitingMax) throw errors.tooManyWaiting();
    this.waiting += 1;
    this.rest();
    const done = this.last.then(() => this.perform(request, seqId));
    this.last = done.catch(() => undefined);
    try {
      return await done;
    } catch (error) {
      const isGone = error instanceof SqlError && error.sqlState === noSession;
      throw isGone && seqId !== null ? errors.namesGone() : error;
    } finally {
      this.waiting -= 1;
      this.rest();
    }
  }

  /** This replica serves it no more; others do. */
  close(why: SqlError): void {
    this.end(why);
  }

  private async perform(request: SqlRequest, seqId: string | null): Promise<ResultSet | null> {
    const mark = {
      name: seqId === null ? null : digest32(seqId),
      digest: createHash('sha256').update(digestOf(request)).digest('hex').slice(0, 32),
    };
    switch (request.kind) {
      case 'execute':
      case 'executeInTransaction': {
        const needs = request.kind === 'execute' ? 'any' : 'block';
        const bytes = statement(request.query, request.params);
        const answer = await this.ask({ ...mark, needs, bytes }, () =>
          errors.noTransaction('execute_sql_txn'),
        );
        return resultOf(answer, this.typeNames);
      }
      case 'begin':
        await this.ask({ ...mark, needs: 'idle', bytes: query('BEGIN') }, errors.transactionOpen);
        return null;
      case 'commit': {
        const call = { ...mark, needs: 'block', bytes: query('COMMIT') } as const;
        const { tag } = await this.ask(call, () => errors.noTransaction('commit_txn'));
        if (tag === 'ROLLBACK') throw errors.rolledBack();
        return null;
      }
      case 'rollback': {
        const call = { ...mark, needs: 'block', bytes: query('ROLLBACK') } as const;
        await this.ask(call, () => errors.noTransaction('rollback_txn'));
        return null;
      }
      case 'close':
        await this.closeEverywhere();
        return null;
      default:
        return request satisfies never;
    }
  }

  private async closeEverywhere(): Promise<void> {
    const answer = await this.options.session.close();
    if (answer.code === 'refused') throw errors.notAgreed(answer.reason);
    if (answer.code === 'unknown') throw errors.perhapsAgreed(answer.reason);
    this.end(errors.noSuchConnection());
  }

  /** @throws SqlError */
  private async ask(call: SharedCall, unmet: () => SqlError): Promise<Answer> {
    if (this.ended !== null) throw this.ended;
    const told = await this.options.session.call(call);
    switch (told.code) {
      case 'answered':
        return this.gather(told);
      case 'unmet':
        throw unmet();
      case 'differs':
        throw errors.nameTaken();
      case 'notKept':
        throw errors.answerNotKept();
      case 'copies':
        throw errors.noCopy();
      case 'refused':
        throw errors.notAgreed(told.reason);
      case 'unknown':
        throw errors.perhapsAgreed(told.reason);
      default:
        return told satisfies never;
    }
  }

  private gather({ bytes, ended }: Extract<CallAnswer, { code: 'answered' }>): Answer {
    const { budget, limits } = this.options;
    const answer = answerIn(bytes, limits.resultBytesMax, (more) => budget.take(more));
    budget.give(answer.bytes);
    if (ended) this.end(endOf(answer));
    const problem = problemOf(answer, limits.resultBytesMax);
    if (problem !== null) throw problem;
    return answer;
  }

  /** Numbers of types are each replica's own, so it is this one's to say what they are. */
  private async askForTypes(numbers: readonly number[]): Promise<readonly (readonly [number, string])[]> {
    const bytes = typesQuestion(numbers);
    const call = { name: null, digest: noDigest, needs: 'any', bytes, isCompared: false } as const;
    try {
      return namesIn(await this.ask(call, errors.noSuchConnection));
    } catch {
      // In a block that has failed, say: they are called by their numbers.
      return [];
    }
  }

  /** Whoever uses it at another replica goes on. */
  private rest(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    if (this.ended !== null || this.waiting > 0) return;
    const { sessionIdleMs, sessionAloneMs } = this.options.limits;
    const leave = (): void => {
      this.options.session.closeIfUnused();
      this.end(errors.idleTooLong());
    };
    this.timer = setTimeout(leave, this.attached > 0 ? sessionIdleMs : sessionAloneMs).unref();
  }

  private end(why: SqlError): void {
    if (this.ended !== null) return;
    this.ended = why;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.options.onEnd();
  }
}

/** Gathers whole messages. */
export function answerIn(bytes: Buffer, bytesMax: number, take: (bytes: number) => boolean): Answer {
  const answer = new Answer(bytesMax, take);
  const splitter = new FrameSplitter(bytes.length + 1);
  splitter.feed(bytes);
  while (splitter.next())
    if (splitter.type !== back.readyForQuery)
      answer.add(splitter.type, bytes.subarray(splitter.start, splitter.end), false);
  return answer;
}

function endOf({ error }: Answer): SqlError {
  return error === null || error.sqlState === noSession ? errors.noSuchConnection() : new SqlError(error);
}

function digest32(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
