/**
 * One session of a Thrift client, on a connection to this replica's own SQL gateway.
 *
 * Responsible for: one request at a time, in the order in which they came; transactions; requests that have a name, which are executed once; ending when nobody uses it.
 * Whatever becomes of the leader is the SQL gateway's to see to: what it tells is told.
 */
import { createHash } from 'node:crypto';
import { query } from '../../../pgwire/frontend-messages.ts';
import type { Connection, ResultSet } from '../codec/barista-api.ts';
import * as errors from '../errors.ts';
import type { ThriftLimits } from '../limits.ts';
import type { Answer } from './answer.ts';
import type { Budget } from './budget.ts';
import { KeptAnswers } from './kept-answers.ts';
import { namesIn, problemOf, resultOf } from './results.ts';
import type { SqlError } from './sql-error.ts';
import type { SqlRequest, SqlSession } from './sql-sessions.ts';
import type { SqlWire } from './sql-wire.ts';
import { TypeNames } from './type-names.ts';
import { statement, typesQuestion } from './wire-messages.ts';

export interface PgwireSessionOptions {
  readonly wire: SqlWire;
  readonly connection: Connection;
  /** The client's own; empty: its requests have no names beyond this session. */
  readonly clientId: string;
  readonly limits: ThriftLimits;
  /** Of answers that are being gathered: what this session's take is given back here. */
  readonly budget: Budget;
  /** It can be used no more, and answers this from now on. */
  readonly onEnd: (why: SqlError) => void;
}

export class PgwireSession implements SqlSession {
  readonly connection: Connection;
  private readonly options: PgwireSessionOptions;
  private readonly wire: SqlWire;
  private readonly kept: KeptAnswers;
  private readonly typeNames = new TypeNames((numbers) => this.askForTypes(numbers));
  /** Settles when all that came before is done. */
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private attached = 0;
  private timer: NodeJS.Timeout | null = null;
  /** PostgreSQL has been told a name that may not be used up. */
  private isNamed = false;

  constructor(options: PgwireSessionOptions) {
    const { wire, connection, limits } = options;
    this.options = options;
    this.connection = connection;
    this.wire = wire;
    this.kept = new KeptAnswers(limits.keptAnswersMax, limits.keptAnswerBytesMax);
    wire.onEnd = () => this.end();
    this.rest();
  }

  get isOver(): boolean {
    return this.wire.ended !== null;
  }

  isName(seqId: string): boolean {
    return seqId !== this.connection.seqId;
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
    if (seqId === null) return this.inTurn(request, null);
    const isFinal = (): boolean => this.wire.ended === null && this.wire.status !== 'I';
    return this.kept.once(seqId, request, () => this.inTurn(request, seqId), isFinal);
  }

  /** Ends it, whatever is under way. */
  close(why: SqlError): void {
    this.wire.close(why);
    this.end();
  }

  private async inTurn(request: SqlRequest, seqId: string | null): Promise<ResultSet | null> {
    if (this.waiting >= this.options.limits.waitingMax) throw errors.tooManyWaiting();
    this.waiting += 1;
    this.rest();
    const done = this.last.then(() => this.perform(request, seqId));
    this.last = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      this.waiting -= 1;
      this.rest();
    }
  }

  private async perform(request: SqlRequest, seqId: string | null): Promise<ResultSet | null> {
    const { wire } = this;
    if (wire.ended !== null) throw wire.ended;
    switch (request.kind) {
      case 'execute':
      case 'executeInTransaction':
        if (request.kind === 'executeInTransaction' && wire.status === 'I')
          throw errors.noTransaction('execute_sql_txn');
        if (wire.status === 'I') await this.name(seqId);
        return this.execute(request.query, request.params);
      case 'begin':
        if (wire.status !== 'I') throw errors.transactionOpen();
        await this.name(null);
        await this.ask('BEGIN');
        return null;
      case 'commit': {
        if (wire.status === 'I') throw errors.noTransaction('commit_txn');
        if (wire.status === 'T') await this.name(seqId);
        if ((await this.ask('COMMIT')) === 'ROLLBACK') throw errors.rolledBack();
        return null;
      }
      case 'rollback':
        if (wire.status === 'I') throw errors.noTransaction('rollback_txn');
        await this.ask('ROLLBACK');
        return null;
      case 'close':
        this.close(errors.noSuchConnection());
        return null;
      default:
        return request satisfies never;
    }
  }

  private async execute(sql: Buffer, params: readonly (Buffer | null)[]): Promise<ResultSet> {
    const answer = await this.answerTo(statement(sql, params));
    return resultOf(answer, this.typeNames);
  }

  /** What is executed next has this name, by which the cluster knows it at every replica (barista.request_id). */
  private async name(seqId: string | null): Promise<void> {
    const { clientId } = this.options;
    const name = seqId === null || clientId === '' ? '' : requestName(clientId, seqId);
    if (name === '' && !this.isNamed) return;
    await this.ask(`SET barista.request_id = '${name}'`);
    this.isNamed = name !== '';
  }

  /** Returns the tag. */
  private async ask(sql: string): Promise<string> {
    const { tag } = await this.answerTo(query(sql));
    return tag ?? '';
  }

  private async askForTypes(numbers: readonly number[]): Promise<readonly (readonly [number, string])[]> {
    if (this.wire.status === 'E') return [];
    return namesIn(await this.answerTo(typesQuestion(numbers)));
  }

  /** @throws SqlError */
  private async answerTo(messages: Buffer): Promise<Answer> {
    const answer = await this.wire.request(messages);
    this.options.budget.give(answer.bytes);
    const problem = problemOf(answer, this.options.limits.resultBytesMax);
    if (problem !== null) throw problem;
    return answer;
  }

  private rest(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    if (this.wire.ended !== null || this.waiting > 0) return;
    const { sessionIdleMs, sessionAloneMs } = this.options.limits;
    const waitMs = this.attached > 0 ? sessionIdleMs : sessionAloneMs;
    this.timer = setTimeout(() => this.close(errors.idleTooLong()), waitMs).unref();
  }

  private end(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.options.onEnd(this.wire.ended ?? errors.noSuchConnection());
  }
}

/** Of letters that no SQL takes for anything else, whatever the client's are. */
function requestName(clientId: string, seqId: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([clientId, seqId]))
    .digest('base64url');
  return `thrift-${hash}`;
}
