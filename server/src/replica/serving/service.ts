/**
 * Whom clients are served by, and all that a gateway asks of the replica (ports/client-service.ts).
 *
 * Responsible for: the generation of this replica's service, telling gateways when it changes, and putting the gate of answers and the outcomes behind it. Decides nothing about consensus: it is told.
 * Invariant: within one generation the replica led, and its PostgreSQL ran, without a break; whoever shows an old generation gets nothing.
 */
import { sameBallot } from '../../multipaxos/ballot.ts';
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { Ballot, ReplicaId } from '../../multipaxos/types/names.ts';
import type {
  ClientService,
  LookAtLeft,
  FindLogin,
  NamedRequest,
  OpenTransaction,
  PostgresDoor,
  RequestOutcome,
  Service,
  SessionPlace,
  TransactionOutcome,
} from '../../ports/client-service.ts';
import type { FunctionsLook } from '../../ports/client-functions.ts';
import type { LookAtCommits } from '../../ports/commits-look.ts';
import type { DatabaseServer, PrimaryDatabase } from '../../ports/database-server.ts';
import type { StandbyReads } from '../../ports/standby-reads.ts';
import type { AnswerGate } from './answer-gate.ts';
import { CommitLooks, type CommitLooksOptions } from './commit-looks.ts';
import type { Outcomes } from './outcomes.ts';

export interface ServiceOptions {
  readonly id: ReplicaId;
  readonly pgwireOf: (replica: ReplicaId) => { readonly host: string; readonly port: number } | null;
  readonly gate: AnswerGate;
  /** From now on reads run in this generation. */
  readonly onBegins: (generation: number, leadership: Ballot) => void;
  readonly outcomes: Outcomes;
  readonly reads: () => StandbyReads;
  readonly socketPath: () => string;
  readonly reservedUsers: readonly string[];
  readonly findLogin: FindLogin;
  readonly lookAtLeft: LookAtLeft;
  readonly lookAtFunctions: DatabaseServer['lookAtFunctions'];
  readonly primary: () => PrimaryDatabase | null;
  readonly installRequests: (database: string) => Promise<void>;
  /** Called once in each generation: its looks at what makes commits not wait to be chosen without a session's naming it. */
  readonly lookAtCommits: () => LookAtCommits;
  readonly looks: Omit<CommitLooksOptions, 'look'>;
}

interface LooksAhead {
  readonly ballot: Ballot;
  readonly ended: AbortSignal;
  readonly looks: CommitLooks;
}

export class ReplicaService implements ClientService {
  private readonly options: ServiceOptions;
  private generation = 0;
  /** Of the present generation. */
  private ended = new AbortController();
  private ballot: Ballot | null = null;
  private current: Service = { kind: 'nowhere', reason: 'the replica is starting' };
  private readonly listeners = new Set<(service: Service) => void>();
  /** Of the present generation, that may still ask something. */
  private sessions = new Set<object>();
  private waiting: (() => void)[] = [];
  /** Of a leadership under which nobody is served yet. */
  private ahead: LooksAhead | null = null;

  constructor(options: ServiceOptions) {
    this.options = options;
  }

  service(): Service {
    return this.current;
  }

  get reads(): StandbyReads {
    return this.options.reads();
  }

  onServiceChange(listener: (service: Service) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** PostgreSQL is the primary of this leadership, and may be asked: what has to be looked at before anybody is served is looked at from now on. */
  lookAhead(ballot: Ballot): void {
    this.endGeneration();
    if (this.current.kind === 'here') this.change({ kind: 'nowhere', reason: 'another leadership begins' });
    this.ballot = ballot;
    const { gate, lookAtCommits, looks } = this.options;
    gate.renew();
    const ended = this.ended.signal;
    this.ahead = {
      ballot,
      ended,
      looks: new CommitLooks({ ...looks, look: lookAtCommits() }, gate.distrust(), ended),
    };
  }

  /** From now on clients are served here, as soon as it has been looked at what may have their commits not wait. */
  serveHere(ballot: Ballot): void {
    const { ahead } = this;
    const isAhead = ahead !== null && !ahead.ended.aborted && sameBallot(ahead.ballot, ballot);
    if (!isAhead) this.lookAhead(ballot);
    void this.begin(this.ahead!);
    this.ahead = null;
  }

  private async begin({ ballot, ended, looks }: LooksAhead): Promise<void> {
    const { timers, logger } = this.options.looks;
    const sinceMs = timers.nowMs();
    await looks.first();
    if (ended.aborted) return;
    logger.info({ waitedMs: Math.round(timers.nowMs() - sinceMs) }, 'clients are served');
    this.options.onBegins(this.generation, ballot);
    this.change({ kind: 'here', generation: this.generation });
    await looks.goOn();
  }

  /** From now on clients are served by `leader`, if anybody is known. Ends a generation of this replica. */
  serveElsewhere(leader: ReplicaId | null, reason: string): void {
    if (this.ballot !== null) this.endGeneration();
    this.ballot = null;
    const replica = leader === null ? null : replicaOf(leader);
    const address = replica === null || replica === this.options.id ? null : this.options.pgwireOf(replica);
    if (replica === null || address === null) this.change({ kind: 'nowhere', reason });
    else this.change({ kind: 'at', leader: replica, ...address });
  }

  /** Under which leadership clients are served here; null: they are not. */
  get servedUnder(): Ballot | null {
    return this.current.kind === 'here' || this.isDraining ? this.ballot : null;
  }

  private get isDraining(): boolean {
    return this.current.kind === 'nowhere' && this.current.drains === this.generation;
  }

  /** Nobody is let in any more; who is in may end what it has begun. */
  drain(reason: string): void {
    if (this.current.kind === 'here') this.change({ kind: 'nowhere', reason, drains: this.generation });
  }

  /** Resolves when no session of this generation has anything under way. */
  drained(): Promise<void> {
    if (this.sessions.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  enter(generation: number): () => void {
    if (generation !== this.generation) return () => undefined;
    const session = {};
    const { sessions } = this;
    sessions.add(session);
    return () => {
      if (sessions.delete(session) && sessions.size === 0 && sessions === this.sessions) this.tellDrained();
    };
  }

  private tellDrained(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }

  private endGeneration(): void {
    this.generation++;
    this.sessions = new Set();
    this.tellDrained();
    this.ended.abort();
    this.ended = new AbortController();
  }

  private change(service: Service): void {
    const before = this.current;
    this.current = service;
    if (before.kind === 'at' && service.kind === 'at' && before.leader === service.leader) return;
    for (const listener of this.listeners) listener(service);
  }

  private holds(generation: number): boolean {
    return this.generation === generation && (this.current.kind === 'here' || this.isDraining);
  }

  door(): PostgresDoor | null {
    if (this.current.kind !== 'here') return null;
    const { socketPath, reservedUsers, findLogin, lookAtLeft } = this.options;
    return { socketPath: socketPath(), reservedUsers, findLogin, lookAtLeft };
  }

  mayAnswer(generation: number): boolean {
    return this.holds(generation) && this.options.gate.isOpen(generation);
  }

  awaitAnswer(generation: number): Promise<boolean> {
    return this.options.gate.pass(generation, () => !this.holds(generation));
  }

  distrust(): () => void {
    return this.options.gate.distrust();
  }

  async barrier(generation: number): Promise<boolean> {
    try {
      if (!this.holds(generation)) return false;
      await this.options.gate.afterNow();
      return this.holds(generation);
    } catch {
      return false;
    }
  }

  async openTransactions(
    pids: readonly number[],
    generation: number,
  ): Promise<ReadonlyMap<number, OpenTransaction>> {
    const { ballot } = this;
    const primary = this.options.primary();
    if (!this.holds(generation) || ballot === null || primary === null) return new Map();
    try {
      const xids = await primary.openTransactions(pids);
      return new Map([...xids].map(([pid, xid]) => [pid, { leadership: ballot, xid }]));
    } catch {
      return new Map();
    }
  }

  async cancel(pid: number, generation: number): Promise<'done' | 'committing'> {
    const primary = this.options.primary();
    if (!this.holds(generation) || primary === null) return 'done';
    try {
      return await primary.cancel(pid);
    } catch {
      return 'done';
    }
  }

  outcomeOf(transaction: OpenTransaction, waitMs: number): Promise<TransactionOutcome> {
    return this.options.outcomes.ofTransaction(transaction, waitMs);
  }

  outcomeOfRequest(request: NamedRequest, leadership: Ballot, waitMs: number): Promise<RequestOutcome> {
    return this.options.outcomes.ofRequest(request, leadership, waitMs);
  }

  mayActElsewhere(session: SessionPlace, leadership: Ballot | null, waitMs: number): Promise<boolean> {
    return this.options.outcomes.mayActElsewhere(session, leadership, waitMs);
  }

  async lookAtFunctions(
    database: string,
    known: string | null,
    waitMs: number,
  ): Promise<FunctionsLook | null> {
    const { reads } = this;
    const life = reads.standby()?.life ?? null;
    if (life === null && this.servedUnder === null) return null;
    if (life !== null && (await reads.awaitCurrent(life, waitMs)).code !== 'current') return null;
    try {
      return await this.options.lookAtFunctions(database, known);
    } catch {
      return null;
    }
  }

  leadership(generation: number): Ballot | null {
    return this.holds(generation) ? this.ballot : null;
  }

  async prepareRequests(database: string, generation: number): Promise<void> {
    if (!this.holds(generation)) throw new Error('this replica is not the leader any more');
    await this.options.installRequests(database);
  }
}
