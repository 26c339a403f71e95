/**
 * One request of one session: planned, run, and made known: what the client is told, and what the session is behind it.
 *
 * Does not decide when it runs, nor who waits for whom (serial-executor.ts).
 */
import { readErrorFields, readyForQuery } from '../../pgwire/backend-messages.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { customNamesIn } from '../../pgwire/custom-names.ts';
import { ownSql } from '../../pgwire/own-sql.ts';
import type { Timers } from '../../ports/clock.ts';
import type { StatementDatabase } from '../../ports/statement-database.ts';
import { pause } from '../pause.ts';
import { digestOf } from './answer-digest.ts';
import type { AnswerReader } from './answer-reader.ts';
import { type ClientSession, rulesBehind } from './client-session.ts';
import type { OperationResult } from './executor.ts';
import { inUse } from './databases-in-use.ts';
import { planRequest } from './message-plan.ts';
import { forgetOwn, syntaxQuestion } from './own-statement.ts';
import type { RequestOperation } from './operation.ts';
import type { Advance, RequestPlan } from './request-plan.ts';
import type { RequestRunner, RunOptions, RunResult } from './request-runner.ts';
import type { SessionMemory } from './session-memory.ts';
import {
  askState,
  nameOf,
  noStatements,
  preparedBytesOf,
  readState,
  statementSteps,
  withStatements,
} from './session-state.ts';
import { back } from '../../pgwire/message-types.ts';
import { fieldOf, syntaxErrorOf } from './syntax-error.ts';
import { closedAnswer, endedAnswer, failure } from './told-results.ts';
import { unwelcoming } from './welcome-sessions.ts';

export interface RunRequestOptions {
  readonly database: Pick<StatementDatabase, 'sign' | 'isThere' | 'query'>;
  readonly timers: Pick<Timers, 'after'>;
  readonly memory: SessionMemory;
  readonly runner: RequestRunner;
  readonly answerBytesMax: number;
  readonly ahead?: (request: RequestOperation, beginsTransaction: boolean) => readonly string[];
  /** Of all other sessions. */
  readonly processesBeside: (session: ClientSession) => readonly number[];
}

export type RequestOutcome =
  | { readonly code: 'done'; readonly result: OperationResult }
  | { readonly code: 'waits'; readonly holders: ReadonlySet<number> };

/** `text`: the request's. `stillOpen`: transactions of others. `isSerializable`: that of the request may be (serializable.ts). */
export interface Circumstances {
  readonly text: string;
  readonly stillOpen: number;
  readonly isSerializable: boolean;
}

/** `open`: transactions behind it. `waitKey`: `RunOptions`. */
interface Advanced {
  readonly open: number;
  readonly seqs: string;
  readonly isSerializable: boolean;
  readonly waitKey: string | null;
}

function hasFailed(answer: readonly Buffer[]): boolean {
  return answer.some(([type]) => type === back.errorResponse);
}

/** Statements that PostgreSQL does not run with others in one transaction; a procedure that ends its transaction. */
const needsToBeAlone: ReadonlySet<string> = new Set(['25001', '2D000']);
const customNamesMax = 100;

export class RunRequest {
  private readonly options: RunRequestOptions;
  private slot = 0;
  private step = 0;

  constructor(options: RunRequestOptions) {
    this.options = options;
  }

  /** `step`: the last one that was taken within it. */
  begin(slot: number, step = 0): void {
    this.slot = slot;
    this.step = step;
    this.options.memory.standsAt(slot, step);
  }

  nextStep(): number {
    this.step += 1;
    this.options.memory.standsAt(this.slot, this.step);
    return this.step;
  }

  async run(
    session: ClientSession,
    request: RequestOperation,
    circumstances: Circumstances,
  ): Promise<RequestOutcome> {
    try {
      return await this.attempt(session, request, circumstances);
    } catch (error) {
      if (!(error instanceof Error && error.name === 'SessionEnded')) throw error;
      const { lastWords } = this.options.runner;
      if (lastWords === null || !(await this.isEndedAlone(lastWords))) throw error;
      return { code: 'done', result: endedAnswer(lastWords) };
    }
  }

  /** PostgreSQL has ended this session, as all replicas' do, and goes on itself. Where its main process was killed sessions notice one after the other; where another process was, it ends all of them soon. */
  private async isEndedAlone(lastWords: Buffer): Promise<boolean> {
    const { database, timers } = this.options;
    const sqlState = readErrorFields(lastWords).get('C') ?? '';
    if (sqlState === crashOfAnother) return false;
    await pause(timers, endMs);
    return database.isThere();
  }

  /** Ends the session's transaction and leaves it in a block that has failed, which holds nothing. */
  async hollow(session: ClientSession): Promise<void> {
    await this.options.runner.own(session, ['ROLLBACK', 'BEGIN', '"a failed block"']);
    session.status = 'E';
    session.isHollow = true;
    session.portals = new Map();
  }

  /** What it has waited for cannot come, and what it has done so far in its block is given up. */
  async failWaiting(session: ClientSession, why: 'circle' | 'full'): Promise<void> {
    if (session.status === 'I') return;
    if (why === 'circle') await this.hollow(session);
    else await this.failBlock(session);
  }

  private async attempt(
    session: ClientSession,
    request: RequestOperation,
    { text, stillOpen, isSerializable }: Circumstances,
  ): Promise<RequestOutcome> {
    const { memory, runner, ahead } = this.options;
    const column = `barista_${this.slot}`;
    await this.makeAgain(session, request.bytes);
    const { status, rules, statements, portals } = session;
    const waitKey = stillOpen > 0 ? this.waitKey() : null;
    const advance: Advance = {
      column,
      call: (goesOn) => {
        const open = stillOpen + (goesOn ? 1 : 0);
        return this.call(column, { open, seqs: memory.seqs(session, request.seq), isSerializable, waitKey });
      },
    };
    const plan = planRequest(request.bytes, { status, rules, statements, portals, advance });
    if (plan.code === 'refused') {
      const own =
        plan.text === undefined ? null : syntaxErrorOf(await runner.ask(session, syntaxQuestion(plan.text)));
      if (own !== null) {
        if (session.status === 'T') session.status = 'E';
        const answer = Buffer.concat([own, readyForQuery(session.status)]);
        return {
          code: 'done',
          result: { outcome: 'executed', answer, status: session.status, digest: 'error 42601' },
        };
      }
      await this.failBlock(session);
      return { code: 'done', result: failure(session, plan) };
    }
    const busy = await this.failIfInUse(session, plan);
    if (busy !== null) return { code: 'done', result: busy };
    if (!this.noteWords(session, text, plan)) {
      await this.failBlock(session);
      return { code: 'done', result: failure(session, preparesTooMuch) };
    }
    const isMarked = plan.mode === 'alone' || plan.isDivided;
    const isNamed = request.call?.isNamed === true;
    // Of what is run by itself a replica that stops does not know whether it failed, and so whether its name is to be run again.
    const isUnsure = plan.mayChangeState || session.stateIsOld || (isNamed && isMarked);
    if (isMarked || isUnsure || isNamed) await memory.beforeChange(session, request.seq, isUnsure);
    else await memory.before();
    if (isMarked) await memory.beginAlone(this.slot);
    const options: RunOptions = {
      ahead: status === 'E' ? [] : (ahead?.(request, status === 'I') ?? []),
      inSavepoint: status === 'T' && plan.isRepeatable && stillOpen > 0,
      waitKey,
    };
    let ran = await runner.run(session, plan, column, options);
    if (ran.holders.size > 0 && plan.isRepeatable) {
      const closings = plan.closings.slice(0, ran.reader.parsed);
      if (closings.length > 0) await runner.ask(session, Buffer.concat([...closings, send.sync]));
      // What was planned may hold what a function answered that caught the cancel.
      await runner.own(session, ['DISCARD PLANS']);
      return { code: 'waits', holders: ran.holders };
    }
    if (plan.mode === 'perhapsAlone' && needsToBeAlone.has(ran.reader.sqlState ?? ''))
      ran = await this.runAlone(session, request, plan, stillOpen);
    const result = await this.resultOf(session, plan, ran);
    const isFollowed = await this.follow(session, plan, ran.reader);
    if (isMarked) {
      const open = stillOpen + (session.status === 'I' ? 0 : 1);
      await memory.endAlone(this.slot, this.nextStep(), open);
    }
    return { code: 'done', result: isFollowed ? result : closedAnswer(keepsTooMuch) };
  }

  /** Nothing of a request is executed that would wait for others to leave a database: also where it has other statements ahead of that, which PostgreSQL would have executed. */
  private async failIfInUse(session: ClientSession, { needs }: RequestPlan): Promise<OperationResult | null> {
    const { runner, database, processesBeside } = this.options;
    for (const needed of needs) {
      const ask = (bytes: Buffer): Promise<readonly Buffer[]> => runner.ask(session, bytes);
      const found = await inUse(needed, ask, processesBeside(session), database);
      if (found === null) continue;
      await this.failBlock(session);
      const failed = failure(session, found);
      // A replica of an earlier version has PostgreSQL say it.
      return { ...failed, digest: digestOf(failed.answer) };
    }
    return null;
  }

  /** The request may execute prepared statements that could not be made again: what they are about may be there by now. Only those that it names are tried, so a request costs no more than it says. */
  private async makeAgain(session: ClientSession, bytes: Uint8Array): Promise<void> {
    const { unmade } = session;
    if (unmade === noStatements || session.status !== 'I') return;
    session.unmade = noStatements;
    const text = Buffer.from(bytes).toString('latin1').toLowerCase();
    for (const { step, kept } of statementSteps(unmade)) {
      if (!text.includes(nameOf(kept))) {
        session.unmade = withStatements(session.unmade, kept);
        continue;
      }
      const answer = await this.options.runner.ask(session, step);
      if (answer.some(([type]) => type === back.errorResponse))
        session.unmade = withStatements(session.unmade, kept);
    }
  }

  /** Of this slot alone, and nobody else knows it in time. */
  private waitKey(): string {
    const proof = this.options.database.sign({ slot: this.slot, step: this.step, open: 0 }, 'waits');
    return String(BigInt.asIntN(64, BigInt(`0x${proof.slice(0, 16)}`)));
  }

  private call(column: string, { open, seqs, isSerializable, waitKey }: Advanced): string {
    const pointer = { slot: this.slot, step: this.nextStep(), open };
    const proof = this.options.database.sign(pointer, seqs);
    return `SELECT pg_barista.advance(${pointer.slot},${pointer.step},${pointer.open},'${seqs}',${isSerializable},${waitKey ?? 0},'${proof}') AS "${column}"`;
  }

  private async runAlone(
    session: ClientSession,
    request: RequestOperation,
    plan: RequestPlan,
    stillOpen: number,
  ): Promise<RunResult> {
    const { memory, runner } = this.options;
    const isUnsure = plan.mayChangeState || session.stateIsOld || request.call?.isNamed === true;
    await memory.beforeChange(session, request.seq, isUnsure);
    await memory.beginAlone(this.slot);
    const alone = {
      ...plan,
      bytes: Buffer.from(request.bytes),
      insertions: [],
      text: null,
      isRepeatable: false,
    };
    const options = { ahead: [], inSavepoint: false, waitKey: stillOpen > 0 ? this.waitKey() : null };
    const ran = await runner.run(session, alone, '', options);
    await memory.endAlone(this.slot, this.nextStep(), stillOpen);
    return ran;
  }

  private async resultOf(
    session: ClientSession,
    plan: RequestPlan,
    { reader, holders }: RunResult,
  ): Promise<OperationResult> {
    session.status = reader.status;
    // What has begun since holds something, however it came about.
    if (session.status !== 'E') session.isHollow = false;
    if (holders.size > 0) {
      if (session.status !== 'I') await this.hollow(session);
      return failure(session, waitsElsewhere);
    }
    if (reader.failedAtOwn && session.status !== 'I') {
      // At a COMMIT: the transaction is over, and the client is told why.
      await this.options.runner.own(session, ['ROLLBACK']);
      session.status = 'I';
      return failure(session, {
        sqlState: reader.sqlState ?? '',
        message: fieldOf(reader.answer(), 'M'),
        hint: fieldOf(reader.answer(), 'H'),
      });
    }
    if (reader.isTooLong) {
      if (session.status === 'T') await this.failBlock(session);
      const failed = failure(session, tooLong(this.options.answerBytesMax));
      return { ...failed, answer: Buffer.concat([...reader.parameters, failed.answer]) };
    }
    if (plan.text !== null && reader.failedAtOnce && reader.sqlState === '42601') {
      const own = syntaxErrorOf(await this.options.runner.ask(session, syntaxQuestion(plan.text)));
      if (own !== null) reader.replaceError(own);
    }
    const answer = reader.answer();
    return { outcome: 'executed', answer, status: reader.status, digest: reader.digestText() };
  }

  /** What the session is behind its request. False: it has more than can be kept. */
  private async follow(session: ClientSession, plan: RequestPlan, reader: AnswerReader): Promise<boolean> {
    session.rules = rulesBehind(session.rules, Buffer.concat(reader.parameters));
    for (const [name, meaning] of plan.prepared.slice(0, reader.parsed))
      session.statements.set(name, meaning);
    for (const [name, meaning] of plan.bound.slice(0, reader.bound)) session.portals.set(name, meaning);
    if (session.status === 'I') session.portals = new Map();
    session.stateIsOld ||= plan.mayChangeState;
    if (plan.mayChangeState) await this.stopClocks(session);
    if (session.status !== 'I' || !session.stateIsOld) return true;
    const answer = await this.askStateOf(session);
    if (answer === null) return false;
    // It is asked again behind the next request.
    if (hasFailed(answer)) return true;
    session.state = withStatements(readState(answer, session.state), session.unmade);
    session.preparedBytes = preparedBytesOf(session.state);
    if (session.statements.size > statementsMax) forgetClosed(session);
    session.stateIsOld = false;
    return true;
  }

  /** Null: it is more than can be kept. It may have failed, for want of locks, say: what it was is kept. */
  private async askStateOf(session: ClientSession): Promise<readonly Buffer[] | null> {
    const { runner } = this.options;
    const { customNames } = session;
    const answer = await runner.ask(session, askState(customNames), stateBytesMax);
    if (answer === null || !hasFailed(answer)) return answer;
    const others = [...customNames].filter((name) => /[\x80-\xff]/.test(name));
    // The database, or the client's encoding, has no such letters: nothing else must be lost for that.
    for (const name of others) customNames.delete(name);
    const again =
      others.length === 0 ? answer : await runner.ask(session, askState(customNames), stateBytesMax);
    if (again !== null && hasFailed(again)) await runner.ask(session, forgetOwn);
    return again;
  }

  /** What would end a statement by the clock, and so at one replica and not at another, has no effect. */
  async stopClocks(session: ClientSession): Promise<void> {
    if (session.status === 'E') return;
    const { runner } = this.options;
    // It may itself be ended by what it turns off, again and again on a busy machine: with that clock this replica must not go on.
    for (let tries = 0; !(await runner.own(session, ['SET statement_timeout = 0'])); tries += 1)
      if (tries === clockTriesMax) throw new Error('statement_timeout of a session could not be turned off');
    await runner.own(session, [clocksOff]);
  }

  /** As an error does; what it has done so far is kept until it ends. */
  async failBlock(session: ClientSession): Promise<void> {
    if (session.status !== 'T') return;
    await this.options.runner.own(session, ['"a failed block"']);
    session.status = 'E';
  }

  /** What is to be known of the request besides its plan. False: the session would keep too much prepared. */
  private noteWords(session: ClientSession, text: string, plan: RequestPlan): boolean {
    const { customNames } = session;
    // Other encodings than UTF-8 the gateway refuses; what is no text of it is data that only looks like a name.
    for (const name of customNamesIn(text))
      if (customNames.size < customNamesMax && isUtf8(name)) customNames.add(name);
    session.mayUnwelcome ||= unwelcoming.test(text);
    const prepares = plan.prepared.some(([name]) => name !== '') || preparing.test(text);
    if (!prepares) return true;
    session.preparedBytes += text.length;
    if (session.preparedBytes <= preparedBytesMax) return true;
    session.preparedBytes -= text.length;
    return false;
  }
}

/** `bytes`: as latin1. */
function isUtf8(bytes: string): boolean {
  return Buffer.from(Buffer.from(bytes, 'latin1').toString('utf8')).toString('latin1') === bytes;
}

/** What is known of statements that were closed is of no use. */
function forgetClosed({ state, statements }: ClientSession): void {
  const kept = new Set(state.parsed.map(({ name }) => name));
  for (const name of statements.keys()) if (name !== '' && !kept.has(name)) statements.delete(name);
}

const statementsMax = 1_000;
const preparing = /\bprepare\b/i;
/** They are written down with all else of the session whenever that changes. */
const preparedBytesMax = 4 * 1024 * 1024;
/** Of all that PostgreSQL says a session has. */
const stateBytesMax = 2 * preparedBytesMax;
const keepsTooMuch = {
  sqlState: '53400',
  message: `terminating connection: its settings and prepared statements take more than ${stateBytesMax} bytes`,
  hint: 'The last request was executed.',
};
const preparesTooMuch = {
  sqlState: '53400',
  message: `the session would keep more than ${preparedBytesMax} bytes of statements prepared`,
  hint: 'DEALLOCATE what is not needed any more.',
};

/** "because of crash of another server process" */
const crashOfAnother = '57P02';
/** So long a PostgreSQL that is about to end may take connections yet. */
const endMs = 300;
const clockTriesMax = 10_000;
/** Executed in the client's session, which may find operators of its own first. */
const clocksOff = ownSql(`SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings
  WHERE setting <> '0' AND name = ANY ('{lock_timeout,transaction_timeout,idle_in_transaction_session_timeout,idle_session_timeout}'::pg_catalog.text[])`);

const waitsElsewhere = {
  sqlState: '40001',
  message: 'could not wait for a transaction of another session',
  detail:
    'A COMMIT, a statement that commits by itself, and a request of several transactions cannot be suspended.',
  hint: 'Begin the transaction again.',
};

function tooLong(bytesMax: number): { sqlState: string; message: string; hint: string } {
  return {
    sqlState: '54000',
    message: `the answer is longer than ${bytesMax} bytes`,
    hint: 'The request was executed. Ask for less, or use a cursor.',
  };
}
