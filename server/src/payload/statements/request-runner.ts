/**
 * Runs a planned request in its session at PostgreSQL, and notices when it waits for the transaction of another session: only one statement runs at a time, so it would wait for ever. Then it is cancelled, and nothing of it is left, though it catches that.
 *
 * All replicas have the same locks, so all of them notice; what waits for anything else (the system's own work) goes on waiting.
 */
import * as send from '../../pgwire/frontend-messages.ts';
import { endsSession, readErrorFields } from '../../pgwire/backend-messages.ts';
import { back } from '../../pgwire/message-types.ts';
import { ownSql } from '../../pgwire/own-sql.ts';
import type { Timers } from '../../ports/clock.ts';
import type { StatementDatabase } from '../../ports/statement-database.ts';
import { pause } from '../pause.ts';
import { AnswerReader } from './answer-reader.ts';
import type { ClientSession } from './client-session.ts';
import { tellsOfMachine } from './machine-errors.ts';
import { ownCall } from './own-statement.ts';
import { movesPointer, noDataToCopy, type RequestPlan } from './request-plan.ts';

export interface RunnerOptions {
  readonly database: Pick<StatementDatabase, 'query' | 'lock'>;
  readonly timers: Pick<Timers, 'after' | 'nowMs'>;
  readonly answerBytesMax: number;
  /** It is not gathered: one request may bring very many. */
  readonly onNotified: (session: ClientSession, message: Buffer) => void;
  /** The session that has this process at PostgreSQL. */
  readonly sessionOf: (processId: number) => number | undefined;
}

export interface RunOptions {
  /** Own statements that are run in front of it, and must not fail. */
  readonly ahead: readonly string[];
  /** It is in a block, and may be taken back alone. */
  readonly inSavepoint: boolean;
  /** Others hold what it may wait for; then of an advisory lock, by which the advance of the pointer is told that the request was cancelled, whatever it makes of that. Null: nobody does. */
  readonly waitKey: string | null;
}

export interface RunResult {
  readonly reader: AnswerReader;
  /** It was cancelled, for it waited for these; empty: it was not. */
  readonly holders: ReadonlySet<number>;
}

/** So many times as long as requests usually take nobody asks whether one waits, within bounds. */
const usualTimes = 3;
const firstLookMsMin = 1;
const firstLookMsMax = 16;
const lookMsMax = 64;
/** So many waits of one request are cancelled. */
const waitsMax = 100;
/** The weight of each request in what is usual. */
const newWeight = 0.1;
const cancelled = '57014';
const savepoint = 'pg_barista_waits';

export class RequestRunner {
  /** What PostgreSQL said when it ended a session. */
  lastWords: Buffer | null = null;
  /** The last error that tells of the machine, in answer to whatever was sent. Whoever begins a run sets it to null. */
  ofMachine: Buffer | null = null;
  private readonly options: RunnerOptions;
  /** How long requests take that wait for nobody. */
  private usualMs = 0;

  constructor(options: RunnerOptions) {
    this.options = options;
  }

  async run(
    session: ClientSession,
    plan: RequestPlan,
    column: string,
    { ahead, inSavepoint, waitKey }: RunOptions,
  ): Promise<RunResult> {
    const reader = new AnswerReader(plan, column, this.options.answerBytesMax);
    const own = inSavepoint ? [...ahead, `SAVEPOINT ${savepoint}`] : ahead;
    let copies = 0;
    this.lastWords = null;
    let isAhead = own.length > 0;
    const bytes = own.length > 0 ? Buffer.concat([ownCycle(own), plan.bytes]) : plan.bytes;
    const done = this.exchange(session, bytes, (message) => {
      const isEnd = message[0] === back.readyForQuery;
      if (message[0] === back.errorResponse && endsSession(readErrorFields(message)))
        this.lastWords = message;
      if (message[0] === back.notificationResponse) {
        this.options.onNotified(session, message);
        return false;
      }
      if (isAhead) {
        isAhead = !isEnd;
        return false;
      }
      const taken = reader.take(message);
      if (taken === 'copies') {
        copies += 1;
        if (plan.expected === null && copies > plan.copies) session.connection.say(noDataToCopy);
      }
      return taken === 'ends';
    });
    if (waitKey === null) {
      await done;
      return { reader, holders: noSessions };
    }
    const holders = await this.watch(session, done, waitKey);
    const isTakenBack = holders.size > 0 && isUndone(plan, reader);
    if (inSavepoint && isTakenBack)
      await this.own(session, [`ROLLBACK TO ${savepoint}`, `RELEASE ${savepoint}`]);
    // In a block that has failed it goes with the block.
    else if (inSavepoint && reader.status === 'T') await this.own(session, [`RELEASE ${savepoint}`]);
    return { reader, holders: isTakenBack ? holders : noSessions };
  }

  private exchange(
    { connection }: ClientSession,
    bytes: Buffer,
    take: (message: Buffer) => boolean,
  ): Promise<void> {
    return connection.exchange(bytes, (message) => {
      if (message[0] === back.errorResponse && tellsOfMachine(message)) this.ofMachine = message;
      return take(message);
    });
  }

  /** Statements of our own, each a cycle of messages. True: none failed. */
  async own(session: ClientSession, statements: readonly string[]): Promise<boolean> {
    let left = statements.length;
    let failed = false;
    const cycles = statements.map((statement) => ownCycle([statement]));
    await this.exchange(session, Buffer.concat(cycles), (message) => {
      failed ||= message[0] === back.errorResponse;
      if (message[0] === back.readyForQuery) left -= 1;
      return left === 0;
    });
    return !failed;
  }

  /** The session's messages in answer to these bytes, up to ReadyForQuery. */
  async ask(session: ClientSession, bytes: Buffer): Promise<readonly Buffer[]>;
  /** Null: they are longer than `bytesMax`, all together. */
  async ask(session: ClientSession, bytes: Buffer, bytesMax: number): Promise<readonly Buffer[] | null>;
  async ask(
    session: ClientSession,
    bytes: Buffer,
    bytesMax = Number.POSITIVE_INFINITY,
  ): Promise<readonly Buffer[] | null> {
    const messages: Buffer[] = [];
    let room = bytesMax;
    await this.exchange(session, bytes, (message) => {
      room -= message.readInt32BE(1);
      if (room >= 0) messages.push(message);
      return message[0] === back.readyForQuery;
    });
    return room < 0 ? null : messages;
  }

  /** Those for whom it has waited. Each wait is cancelled, for what catches that may wait again; a request that does so without end costs its session. */
  private async watch(
    session: ClientSession,
    done: Promise<void>,
    waitKey: string,
  ): Promise<ReadonlySet<number>> {
    const { timers, database } = this.options;
    const { processId } = session.connection;
    const beganAtMs = timers.nowMs();
    let isDone = false;
    const over = new AbortController();
    const settle = (): void => {
      isDone = true;
      over.abort();
    };
    const ended = done.then(settle, settle).then(() => null);
    const waits: Wait[] = [];
    let lock: Awaited<ReturnType<typeof database.lock>> | null = null;
    const firstMs = Math.max(firstLookMsMin, Math.min(firstLookMsMax, usualTimes * this.usualMs));
    for (let ms = firstMs; ; ms = Math.min(ms * 2, lookMsMax)) {
      await pause(timers, ms, over.signal);
      if (isDone) break;
      // It does not wait for the answer, if it comes to its end meanwhile.
      const wait = await Promise.race([ended, this.waitOf(processId)]);
      if (isDone || wait === null || wait.since === waits.at(-1)?.since) continue;
      lock ??= await database.lock(session.login.database, waitKey).catch(() => null);
      waits.push(wait);
      const end = waits.length > waitsMax ? 'pg_terminate_backend' : 'pg_cancel_backend';
      await database.query(`SELECT pg_catalog.${end}($1)`, [processId]);
      ms = firstLookMsMin;
    }
    try {
      await done;
    } finally {
      await lock?.end().catch(() => undefined);
    }
    if (waits.length === 0) this.usualMs += newWeight * (timers.nowMs() - beganAtMs - this.usualMs);
    return waits[0]?.holders ?? noSessions;
  }

  /** Null: for none. Never rejects: without PostgreSQL the request itself does. */
  private async waitOf(processId: number): Promise<Wait | null> {
    const { database, sessionOf } = this.options;
    try {
      const [row] = await database.query('SELECT pg_catalog.pg_blocking_pids($1) AS pids', [processId]);
      const pids = (row?.['pids'] ?? []) as readonly number[];
      const holders = new Set(pids.map(sessionOf).filter((one) => one !== undefined));
      if (holders.size === 0) return null;
      const [lock] = await database.query(sinceSql, [processId]);
      const since = lock?.['since'];
      return typeof since === 'string' ? { holders, since } : null;
    } catch {
      return null;
    }
  }
}

/** Nothing of a request that was cancelled is committed: it failed, its block is open, or it moves no pointer. A body may catch the cancel and answer otherwise, and then it counts all the same. */
function isUndone(plan: RequestPlan, { sqlState, status }: AnswerReader): boolean {
  if (sqlState === cancelled || status !== 'I') return true;
  return plan.isRepeatable && (sqlState !== null || !movesPointer(plan));
}

/** Tells one wait from the next one of the same process; null for a moment at its beginning. */
const sinceSql =
  ownSql(`SELECT pg_catalog.max(l.waitstart)::pg_catalog.text AS since FROM pg_catalog.pg_locks l
  WHERE l.pid = $1 AND NOT l.granted`);

interface Wait {
  readonly holders: ReadonlySet<number>;
  readonly since: string;
}

const noSessions: ReadonlySet<number> = new Set();

/** Answered with one ReadyForQuery. */
function ownCycle(statements: readonly string[]): Buffer {
  const calls = statements.flatMap((sql) => ownCall(sql).map(([message]) => message));
  return Buffer.concat([...calls, send.sync]);
}
