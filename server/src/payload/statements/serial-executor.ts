/**
 * Executes operations at this replica's PostgreSQL: one at a time, in slot order, each in the backend of its session.
 *
 * Responsible for: which operation runs when (a request that would wait for another session's transaction is parked, what begins a transaction is held back at a pause), the pointer, and exactly once by session and seq. How a request
 * runs is run-request.ts. Invariants: what is decided follows from the operations alone, so all replicas decide alike; parked requests go on in slot order as soon as a session that they wait for holds nothing more.
 */
import type { Slot } from '../../multipaxos/types/names.ts';
import type { Timers } from '../../ports/clock.ts';
import type { StatementDatabase } from '../../ports/statement-database.ts';
import { ownSql } from '../../pgwire/own-sql.ts';
import { pause } from '../pause.ts';
import { factsOf, superseded, toldAhead } from './calls.ts';
import { DurablePointer } from './durable-pointer.ts';
import { textOf } from './request-text.ts';
import { type ClientSession, settingsBehind } from './client-session.ts';
import type {
  ExecutorListener,
  ForeignProcess,
  OperationResult,
  SessionFacts,
  StartOutcome,
  StatementExecutor,
} from './executor.ts';
import {
  processIdOf,
  type OpenOperation,
  type Operation,
  type RequestOperation,
  type SessionId,
} from './operation.ts';
import { headerBytes } from '../../pgwire/frame-splitter.ts';
import type { Parked } from './parked-requests.ts';
import { reopenSessions } from './reopen-sessions.ts';
import { RequestRunner } from './request-runner.ts';
import { RunRequest } from './run-request.ts';
import { mayBeSerializable } from './serializable.ts';
import { type GuardOptions, GuardedRuns } from './guarded-runs.ts';
import { SessionLife } from './session-life.ts';
import { SessionMemory } from './session-memory.ts';
import { SessionTable } from './session-table.ts';
import {
  cancelledByItself,
  cancelledError,
  closedAnswer,
  failure,
  lastsTooLong,
  nothingAnswered,
  staleAnswer,
  waitErrors,
} from './told-results.ts';
import { WaitingRequests } from './waiting-requests.ts';

export interface SerialExecutorOptions extends GuardOptions {
  readonly database: StatementDatabase;
  readonly timers: Timers;
  readonly listener: ExecutorListener;
  readonly answerBytesMax: number;
  readonly sessionsMax: number;
  /** The database is a copy, of which nothing was gone on from yet. */
  readonly isCopy?: boolean;
  /** What a session is to be run ahead of a request, such as settings that its functions read. */
  readonly ahead?: (request: RequestOperation, beginsTransaction: boolean) => readonly string[];
}

/** So long PostgreSQL is waited for to let go of sessions; whoever stops it comes then. */
const stopMsMax = 5_000;

export class SerialExecutor implements StatementExecutor {
  private readonly options: SerialExecutorOptions;
  private readonly memory: SessionMemory;
  private readonly runner: RequestRunner;
  private readonly runs: RunRequest;
  private readonly sessions = new SessionTable();
  private readonly life: SessionLife;
  private readonly guarded: GuardedRuns;
  private readonly waiting = new WaitingRequests();
  private readonly at: DurablePointer;
  /** That is being executed, or was last. */
  private current = 0 as Slot;
  /** What it does is not told by the pointer yet. */
  private isExecuting = false;
  /** Whose request is at PostgreSQL. */
  private running: ClientSession | null = null;

  constructor(options: SerialExecutorOptions) {
    const { database, timers, answerBytesMax } = options;
    this.options = options;
    this.memory = new SessionMemory(database);
    this.at = new DurablePointer({ memory: this.memory, database, timers });
    this.runner = new RequestRunner({
      database,
      timers,
      answerBytesMax,
      sessionOf: (processId) => this.sessions.ofProcess(processId),
      onNotified: (session, message) => this.notified(session, message),
    });
    this.runs = new RunRequest({
      ...options,
      memory: this.memory,
      runner: this.runner,
      processesBeside: (session) => this.sessions.processesBeside(session),
    });
    this.guarded = new GuardedRuns(options, this.runner);
    const { memory, runner, runs, sessions, waiting } = this;
    this.life = new SessionLife({
      ...options,
      memory,
      runner,
      runs,
      sessions,
      waiting,
      current: () => this.current,
      onNotified: (session, message) => this.notified(session, message),
    });
  }

  get pointer(): Slot {
    return this.at.slot;
  }

  get durablePointer(): Slot {
    return this.at.durable;
  }

  async start(): Promise<StartOutcome> {
    const { database } = this.options;
    const found = await database.readPointer();
    const pointer = found.slot as Slot;
    this.at.startsAt(pointer);
    this.current = pointer;
    const { heldRuns, isCopy = false } = this.options;
    const isKept = heldRuns === undefined || (await heldRuns.startsAt(pointer, isCopy));
    if (!isKept || (await this.memory.isHalfDone())) return { code: 'inexact', pointer, reason: 'halfDone' };
    if (found.open > 0) return { code: 'inexact', pointer, reason: 'openTransactions' };
    if (await database.areSequencesAhead()) return { code: 'inexact', pointer, reason: 'sequences' };
    const stopClocks = (session: ClientSession): Promise<void> => this.runs.stopClocks(session);
    const reopened = await reopenSessions(
      await this.memory.load(pointer, found.step),
      database,
      this.runner,
      stopClocks,
    );
    if (reopened === null) return { code: 'inexact', pointer, reason: 'sessions' };
    this.life.openedAgain(reopened.sessions, reopened.lost);
    this.runs.begin(pointer, found.step);
    const held = await this.memory.loadHeld(pointer);
    if (held.some(([, request]) => this.lacks(request)))
      return { code: 'inexact', pointer, reason: 'sessions' };
    for (const [slot, request] of held) this.holdAgain(slot, request);
    return { code: 'exact', pointer };
  }

  /** As it was at the moment of rest, unless it has been executed since. */
  private holdAgain(slot: number, request: RequestOperation): void {
    const session = this.sessions.get(request.session);
    if (session === undefined || request.seq <= session.seq) return;
    session.seq = request.seq;
    session.last = null;
    session.hadUncompared ||= request.isCompared === false;
    if (this.waiting.has(session)) session.queued.push([slot, request]);
    else this.waiting.held.hold({ slot, number: session.number, request });
  }

  async execute(slot: Slot, operation: Operation | null): Promise<void> {
    if (slot !== this.pointer + 1) throw new Error(`slot ${slot} does not follow ${this.pointer}`);
    this.isExecuting = true;
    this.current = slot;
    this.guarded.begin(slot);
    this.runs.begin(slot);
    if (operation !== null) await this.dispatch(slot, operation);
    await this.settle();
    while (await this.life.endUnwelcome()) await this.settle();
    this.at.slot = slot;
    const { held } = this.waiting;
    if (held.pausing !== null && (this.isResting || held.isFull)) await this.endPause();
    this.isExecuting = false;
    await this.makeDurable(false);
  }

  async goOn(): Promise<void> {
    this.isExecuting = true;
    await this.runHeld();
    this.isExecuting = false;
  }

  async rest(): Promise<boolean> {
    if (!this.isQuiet) return false;
    await this.makeDurable(true);
    return true;
  }

  openSessions(): Iterable<SessionId> {
    return this.sessions.ids();
  }

  lostSessions(): Iterable<SessionId> {
    return this.life.lostSessions();
  }

  lacks(operation: Operation): boolean {
    return this.life.lacks(operation);
  }

  factsOf(id: SessionId): (SessionFacts & { readonly isWaiting: boolean }) | null {
    const session = this.sessions.get(id);
    return session === undefined ? null : { ...factsOf(session), isWaiting: this.waiting.has(session) };
  }

  async blockedBy(): Promise<readonly ForeignProcess[]> {
    const pid = this.running?.connection.processId;
    if (pid === undefined) return [];
    const rows = await this.options.database.query(blockingSql, [pid]);
    const found = rows.map(({ pid: one, application }) => ({
      pid: Number(one),
      application: String(application),
    }));
    return found.filter((one) => this.sessions.ofProcess(one.pid) === undefined);
  }

  openTransactions(): number {
    return this.sessions.openTransactions();
  }

  boundSessions(): readonly SessionId[] {
    return this.sessions.bound();
  }

  async stop(): Promise<void> {
    const { database, timers } = this.options;
    this.guarded.stop();
    await this.makeDurable(true).catch(() => undefined);
    // It may have no end by itself.
    const pid = this.running?.connection.processId;
    if (pid !== undefined)
      await database.query('SELECT pg_catalog.pg_terminate_backend($1)', [pid]).catch(() => undefined);
    const closed = Promise.all(this.sessions.all().map(({ connection }) => connection.close()));
    await Promise.race([closed, pause(timers, stopMsMax)]);
    await database.close();
  }

  private async dispatch(slot: Slot, operation: Operation): Promise<void> {
    const { listener } = this.options;
    switch (operation.kind) {
      case 'open':
        listener.finished(slot, operation, await this.openUnlessGivenUp(slot, operation), slot);
        return;
      case 'request':
        return this.request(slot, operation);
      case 'close':
        await this.life.closeUnused(operation.session, operation.ifSeq);
        listener.finished(slot, operation, nothingAnswered('closed'), slot);
        return;
      case 'closeAll':
        await this.life.closeAll(operation.prefix);
        listener.finished(slot, operation, nothingAnswered('closed'), slot);
        return;
      case 'cancelOpen': {
        const { session, pause: during } = operation;
        const isMoot = during !== undefined && during !== this.waiting.held.pausing;
        for (const one of isMoot ? [] : this.sessions.all())
          if (during === undefined ? session === null || one.id === session : one.status !== 'I')
            await this.cancel(one);
        listener.finished(slot, operation, nothingAnswered('I'), slot);
        return;
      }
      case 'pause':
        if (this.waiting.held.pausing === null) {
          this.waiting.held.pausing = operation.name;
          listener.pausing?.(operation.name);
        }
        listener.finished(slot, operation, nothingAnswered('I'), slot);
        return;
      case 'resume':
        if (this.waiting.held.pausing === operation.name) await this.resume();
        listener.finished(slot, operation, nothingAnswered('I'), slot);
        return;
      case 'hold':
      case 'goOn':
        this.guarded.executed(operation);
        listener.finished(slot, operation, nothingAnswered('I'), slot);
        return;
      case 'adopt':
        listener.finished(slot, operation, nothingAnswered('I'), slot);
        return;
      default:
        operation satisfies never;
    }
  }

  private async openUnlessGivenUp(slot: Slot, operation: OpenOperation): Promise<OperationResult> {
    const ran = await this.guarded.run({
      slot,
      session: operation.session,
      seq: 0,
      work: () => this.life.open(slot, operation),
      digestOf: ({ digest }) => digest,
    });
    return ran === null ? closedAnswer(lastsTooLong) : ran.done;
  }

  private notified({ id }: ClientSession, message: Buffer): void {
    const from = this.sessions.numbered(this.sessions.ofProcess(message.readInt32BE(headerBytes)) ?? 0);
    // Whoever notified is known to clients by what is the same at every replica.
    message.writeInt32BE(from === undefined ? 0 : processIdOf(from.id), headerBytes);
    this.options.listener.notified?.(id, message, this.current + (this.guarded.isPastRest ? 0.5 : 0));
  }

  private async request(slot: Slot, request: RequestOperation): Promise<void> {
    const { listener } = this.options;
    const session = this.sessions.get(request.session);
    if (session === undefined) {
      const error = { sqlState: '08003', message: 'there is no such session' };
      listener.finished(slot, request, closedAnswer(error), slot);
      return;
    }
    if (request.seq <= session.seq) {
      // Of one that has not been executed yet the result is still to come.
      if (this.waiting.isComing(session, request)) return;
      if (request.call === undefined) listener.finished(slot, request, staleAnswer(session, request), slot);
      else listener.finished(slot, request, { ...superseded(session), session: factsOf(session) }, slot);
      return;
    }
    session.seq = request.seq;
    session.last = null;
    session.hadUncompared ||= request.isCompared === false;
    if (this.waiting.has(session)) session.queued.push([slot, request]);
    else await this.run(slot, session, request);
  }

  private async run(slot: number, session: ClientSession, request: RequestOperation): Promise<void> {
    const told = toldAhead(session, request);
    if (told !== null) return this.finish(slot, session, request, told);
    const { held } = this.waiting;
    if (held.pausing !== null && session.status === 'I' && request.what === 'begin') {
      held.hold({ slot, number: session.number, request });
      return;
    }
    const text = textOf(request);
    const isSerializable =
      (session.status !== 'I' && session.isSerializable) || mayBeSerializable(session, text);
    const holders = isSerializable ? this.sessions.serializableBeside(session) : noSessions;
    if (holders.size > 0) return this.park(slot, session, request, { holders, isForEnd: true });
    // Those that are held back have begun for their clients: a crash must not find that nothing was open.
    const stillOpen = this.sessions.holdersBeside(session) + this.waiting.size + session.queued.length;
    const { call, seq } = request;
    const ran = await this.guarded.run({
      slot,
      session: session.id,
      seq,
      work: () => {
        if (call?.isNamed === true) session.calls.begin(call, seq);
        this.running = session;
        return this.runs.run(session, request, { text, stillOpen, isSerializable });
      },
      digestOf: (done) => (done.code === 'done' ? done.result.digest : null),
    });
    if (ran === null) {
      await this.runs.failBlock(session);
      return this.finish(slot, session, request, failure(session, lastsTooLong));
    }
    this.running = null;
    const outcome = ran.done;
    if (session.mayUnwelcome && session.status === 'I') {
      session.mayUnwelcome = false;
      this.life.mayBeUnwelcome();
    }
    if (outcome.code === 'waits')
      return this.park(slot, session, request, { holders: outcome.holders, isForEnd: false });
    session.isSerializable = session.status !== 'I' && isSerializable;
    await this.finish(slot, session, request, outcome.result);
  }

  private async park(
    slot: number,
    session: ClientSession,
    request: RequestOperation,
    waits: Pick<Parked<RequestOperation>, 'holders' | 'isForEnd'>,
  ): Promise<void> {
    const parked = this.waiting.parked.park({ slot, session: session.number, request, ...waits });
    if (parked === 'parked') return;
    await this.runs.failWaiting(session, parked);
    await this.finish(slot, session, request, failure(session, waitErrors[parked]));
  }

  private async finish(
    slot: number,
    session: ClientSession,
    request: RequestOperation,
    result: OperationResult,
  ): Promise<void> {
    session.last = result;
    const { call } = request;
    if (call !== undefined) session.settings = settingsBehind(session.settings, result.answer);
    if (call?.isNamed === true && result.outcome === 'executed') session.calls.end(call, result);
    if (result.status === 'closed') await this.life.close(session);
    else this.memory.behind(session);
    const isThere = call !== undefined && result.status !== 'closed';
    const told = isThere ? { ...result, session: factsOf(session) } : result;
    this.options.listener.finished(slot as Slot, request, told, this.current);
    const next = session.queued.shift();
    if (next !== undefined) await this.run(next[0], session, next[1]);
  }

  /** Whatever may go on now goes on. */
  private async settle(): Promise<void> {
    for (;;) {
      const next = this.waiting.parked.next((number, isForEnd) => this.sessions.holds(number, isForEnd));
      if (next === undefined) return;
      const session = this.sessions.numbered(next.session);
      if (session !== undefined) await this.run(next.slot, session, next.request);
    }
  }

  private async endPause(): Promise<void> {
    if (this.isResting) {
      await this.at.write(this.runs.nextStep(), this.waiting.heldBack(this.sessions));
      await this.options.listener.atRest(this.pointer);
    }
    await this.resume();
  }

  private async resume(): Promise<void> {
    const { held } = this.waiting;
    const { pausing } = held;
    held.pausing = null;
    if (pausing !== null) this.options.listener.resumed?.(pausing);
    await this.runHeld();
  }

  /** What was held back goes on, in slot order. */
  private async runHeld(): Promise<void> {
    this.guarded.isPastRest = true;
    const { held } = this.waiting;
    for (let next = held.take(); next !== undefined; next = held.take()) {
      const session = this.sessions.numbered(next.number);
      // What it leaves is behind the pointer of the moment of rest, though in its slot.
      this.runs.nextStep();
      this.at.passed();
      if (session !== undefined) await this.run(next.slot, session, next.request);
    }
    await this.settle();
    this.guarded.isPastRest = false;
  }

  /** Its transaction is rolled back, and what it waits for given up. Its client finds a block that has failed, if it is in one. */
  private async cancel(session: ClientSession): Promise<void> {
    const waiting = this.waiting.remove(session);
    const isInBlock = session.status !== 'I';
    if (isInBlock) await this.runs.hollow(session);
    const error = isInBlock ? cancelledError : cancelledByItself;
    if (waiting !== null) await this.finish(waiting[0], session, waiting[1], failure(session, error));
    else if (isInBlock) this.memory.behind(session);
  }

  private async makeDurable(atOnce: boolean): Promise<void> {
    if (!this.isQuiet || !this.at.isDue(atOnce)) return;
    await this.at.write(this.runs.nextStep(), []);
    await this.at.forget();
  }

  /** What the database has is what executing everything up to the pointer makes of nothing, and sessions can be opened again as they are. */
  private get isQuiet(): boolean {
    return this.isResting && !this.isExecuting && this.waiting.held.size === 0;
  }

  /** But for what is held back. */
  private get isResting(): boolean {
    return this.waiting.parked.size === 0 && this.sessions.holdsNothing;
  }
}

const blockingSql = ownSql(`SELECT a.pid, a.application_name AS application FROM pg_catalog.pg_stat_activity a
  WHERE a.pid = ANY (pg_catalog.pg_blocking_pids($1))`);
const noSessions: ReadonlySet<number> = new Set();
