/**
 * How sessions of clients begin and end at this replica: opened by an operation, opened again behind a restart, closed by an operation or since their role or database lets them in no more.
 *
 * Invariant: which sessions there are follows from the operations alone. Those that a restart could not open again count until an operation closes them.
 */
import type { Slot } from '../../multipaxos/types/names.ts';
import type { StatementDatabase } from '../../ports/statement-database.ts';
import { back } from '../../pgwire/message-types.ts';
import { factsOf } from './calls.ts';
import { type ClientSession, freshSession } from './client-session.ts';
import type { ExecutorListener, OperationResult } from './executor.ts';
import { givenTo, identityOf } from './login-settings.ts';
import { tellsOfMachine } from './machine-errors.ts';
import type { OpenOperation, Operation, SessionId } from './operation.ts';
import type { RequestRunner } from './request-runner.ts';
import type { RunRequest } from './run-request.ts';
import type { RememberedSession, SessionMemory } from './session-memory.ts';
import type { SessionTable } from './session-table.ts';
import { closedAnswer, nothingAnswered } from './told-results.ts';
import type { WaitingRequests } from './waiting-requests.ts';
import { unwelcomeAmong } from './welcome-sessions.ts';

export interface SessionLifeOptions {
  readonly database: StatementDatabase;
  readonly listener: ExecutorListener;
  readonly sessionsMax: number;
  readonly sessions: SessionTable;
  readonly waiting: WaitingRequests;
  readonly memory: SessionMemory;
  readonly runner: RequestRunner;
  readonly runs: RunRequest;
  /** That is being executed, or was last. */
  readonly current: () => Slot;
  readonly onNotified: (session: ClientSession, message: Buffer) => void;
}

export class SessionLife {
  private readonly options: SessionLifeOptions;
  /** Could not be opened again; by their numbers. */
  private readonly lost = new Map<SessionId, readonly [number: number, remembered: RememberedSession]>();
  private someMayBeUnwelcome = false;

  constructor(options: SessionLifeOptions) {
    this.options = options;
  }

  openedAgain(
    opened: readonly ClientSession[],
    lost: Iterable<readonly [number: number, remembered: RememberedSession]>,
  ): void {
    for (const session of opened) this.add(session);
    for (const [number, one] of lost) this.lost.set(one.id, [number, one]);
  }

  lostSessions(): Iterable<SessionId> {
    return this.lost.keys();
  }

  lacks(operation: Operation): boolean {
    return operation.kind === 'request' && this.lost.has(operation.session);
  }

  async open(slot: Slot, operation: OpenOperation): Promise<OperationResult> {
    const { database, sessions, sessionsMax, runner, runs, memory } = this.options;
    const { session: id, user, database: name, parameters } = operation;
    const known = sessions.get(id);
    if (known !== undefined || this.lost.has(id))
      return { ...nothingAnswered(known?.status ?? 'I'), outcome: 'repeated', digest: null };
    if (sessions.size + this.lost.size >= sessionsMax)
      return closedAnswer({ sqlState: '53300', message: 'too many sessions' });
    const login = { user, database: name, parameters };
    const opened = await database.connect(login);
    if (opened.code === 'refused') {
      if (tellsOfMachine(opened.answer)) runner.ofMachine = opened.answer;
      return { outcome: 'executed', answer: opened.answer, status: 'closed', digest: null };
    }
    const { connection } = opened;
    const given = await givenTo(login, database);
    const identity = await identityOf(login, database);
    const session = freshSession({ id, number: slot, login, given, identity, connection });
    this.add(session);
    await runs.stopClocks(session);
    memory.behind(session);
    return {
      outcome: 'executed',
      answer: connection.greeting,
      status: 'I',
      digest: 'opened',
      session: factsOf(session),
    };
  }

  async closeAll(prefix: string): Promise<void> {
    for (const one of this.options.sessions.all()) if (one.id.startsWith(prefix)) await this.close(one);
    for (const id of this.lost.keys()) if (id.startsWith(prefix)) this.closeLost(id);
  }

  /** `ifSeq`: unless it has been used since. */
  async closeUnused(id: SessionId, ifSeq: number | undefined): Promise<void> {
    const { sessions, waiting } = this.options;
    const session = sessions.get(id);
    const isUsed =
      session !== undefined && ifSeq !== undefined && (session.seq !== ifSeq || waiting.has(session));
    if (session !== undefined && !isUsed) await this.close(session);
    if (ifSeq === undefined || this.lost.get(id)?.[1].seq === ifSeq) this.closeLost(id);
  }

  async close(session: ClientSession): Promise<void> {
    const { listener, waiting, sessions, memory, current } = this.options;
    // Each is answered, though nobody may be there to hear it.
    const left = waiting.removeAll(session);
    const told = closedAnswer({ sqlState: '57P01', message: 'the session was closed' });
    for (const [at, request] of left) listener.finished(at as Slot, request, told, current());
    sessions.remove(session);
    memory.closed(session);
    await session.connection.close();
  }

  /** A request has ended that may have left some session unwelcome. */
  mayBeUnwelcome(): void {
    this.someMayBeUnwelcome = true;
  }

  /** False: nobody was unwelcome. */
  async endUnwelcome(): Promise<boolean> {
    if (!this.someMayBeUnwelcome) return false;
    this.someMayBeUnwelcome = false;
    const { sessions, database } = this.options;
    const numbers = await unwelcomeAmong(sessions.all(), database);
    for (const number of numbers) {
      const session = sessions.numbered(number);
      if (session !== undefined) await this.close(session);
    }
    return numbers.length > 0;
  }

  private add(session: ClientSession): void {
    this.options.sessions.add(session);
    session.connection.onOther((message) => {
      // What PostgreSQL says of its own end is not for clients: their sessions are opened again.
      if (message[0] === back.notificationResponse) this.options.onNotified(session, message);
    });
  }

  private closeLost(id: SessionId): void {
    const lost = this.lost.get(id);
    if (lost === undefined) return;
    this.lost.delete(id);
    this.options.memory.closedUnopened(...lost);
  }
}
