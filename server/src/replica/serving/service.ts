/**
 * Whom clients are served by, and all that a gateway asks of the replica (ports/client-service.ts).
 *
 * Responsible for: the generation of this replica's service, telling gateways when it changes, and putting the gate of answers and the outcomes behind it. Decides nothing about consensus: it is told.
 * Invariant: within one generation the replica led, and its PostgreSQL ran, without a break; whoever shows an old generation gets nothing.
 */
import type { Logger } from 'pino';
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { Ballot, ReplicaId } from '../../multipaxos/types.ts';
import { pause } from '../../payload/pause.ts';
import type {
  ClientService,
  NamedRequest,
  OpenTransaction,
  PostgresDoor,
  RequestOutcome,
  Service,
  TransactionOutcome,
} from '../../ports/client-service.ts';
import type { Timers } from '../../ports/clock.ts';
import type { CommitsLook, LookAtCommits } from '../../ports/commits-look.ts';
import type { PrimaryDatabase } from '../../ports/database-server.ts';
import type { AnswerGate } from './answer-gate.ts';
import type { Outcomes } from './outcomes.ts';

export interface ServiceOptions {
  readonly id: ReplicaId;
  readonly pgwireOf: (replica: ReplicaId) => { readonly host: string; readonly port: number } | null;
  readonly gate: AnswerGate;
  readonly outcomes: Outcomes;
  readonly socketPath: () => string;
  readonly reservedUsers: readonly string[];
  readonly primary: () => PrimaryDatabase | null;
  readonly installRequests: (database: string) => Promise<void>;
  /** Called once in each generation: its looks at what makes commits not wait to be chosen without a session's naming it. */
  readonly lookAtCommits: () => LookAtCommits;
  readonly timers: Pick<Timers, 'after'>;
  /** How long after a look that told nothing clear the next one comes. */
  readonly lookAgainMs: number;
  readonly logger: Logger;
}

export class ReplicaService implements ClientService {
  private readonly options: ServiceOptions;
  private generation = 0;
  /** Of the present generation. */
  private ended = new AbortController();
  private ballot: Ballot | null = null;
  private current: Service = { kind: 'nowhere', reason: 'the replica is starting' };
  private readonly listeners = new Set<(service: Service) => void>();

  constructor(options: ServiceOptions) {
    this.options = options;
  }

  service(): Service {
    return this.current;
  }

  onServiceChange(listener: (service: Service) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** From now on clients are served here. */
  serveHere(ballot: Ballot): void {
    this.endGeneration();
    this.ballot = ballot;
    this.options.gate.renew();
    void this.look(this.generation, this.options.gate.distrust());
    this.change({ kind: 'here', generation: this.generation });
  }

  /**
   * A role, a database or a function may turn `synchronous_commit` down where no gateway sees it: until it is known that none does, and as long as one does, answers wait behind barriers. What cannot be known now may be known later,
   * so that is looked for again; what is found has perhaps worked already.
   */
  private async look(generation: number, trust: () => void): Promise<void> {
    const { lookAtCommits, logger, timers, lookAgainMs } = this.options;
    const look = lookAtCommits();
    let told: string | null = null;
    for (;;) {
      const seen = await this.lookOnce(look);
      if (!this.holds(generation)) return;
      if (seen.code === 'clean') {
        trust();
        return;
      }
      if (seen.code === 'weakened') {
        const { found } = seen;
        logger.warn(
          { found: found.slice(0, 20), more: Math.max(0, found.length - 20) },
          'commits are told not to wait: every answer waits behind a commit of its own instead',
        );
        return;
      }
      if (seen.reason !== told)
        logger.warn(
          { reason: seen.reason },
          'it is not known yet whether all commits wait: until then every answer waits behind a commit of its own',
        );
      told = seen.reason;
      await pause(timers, lookAgainMs, this.ended.signal);
      if (!this.holds(generation)) return;
    }
  }

  private async lookOnce(look: LookAtCommits): Promise<CommitsLook> {
    try {
      return await look();
    } catch (error) {
      return { code: 'unclear', reason: String(error) };
    }
  }

  /** From now on clients are served by `leader`, if anybody is known. Ends a generation of this replica. */
  serveElsewhere(leader: ReplicaId | null, reason: string): void {
    if (this.current.kind === 'here') this.endGeneration();
    this.ballot = null;
    const replica = leader === null ? null : replicaOf(leader);
    const address = replica === null || replica === this.options.id ? null : this.options.pgwireOf(replica);
    if (replica === null || address === null) this.change({ kind: 'nowhere', reason });
    else this.change({ kind: 'at', leader: replica, ...address });
  }

  private endGeneration(): void {
    this.generation++;
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
    return this.current.kind === 'here' && this.generation === generation;
  }

  door(): PostgresDoor | null {
    if (this.current.kind !== 'here') return null;
    const { socketPath, reservedUsers } = this.options;
    return { socketPath: socketPath(), reservedUsers };
  }

  mayAnswer(generation: number): boolean {
    return this.holds(generation) && this.options.gate.isOpen();
  }

  awaitAnswer(generation: number): Promise<boolean> {
    return this.options.gate.pass(() => !this.holds(generation));
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

  outcomeOf(transaction: OpenTransaction, waitMs: number): Promise<TransactionOutcome> {
    return this.options.outcomes.ofTransaction(transaction, waitMs);
  }

  outcomeOfRequest(request: NamedRequest, leadership: Ballot, waitMs: number): Promise<RequestOutcome> {
    return this.options.outcomes.ofRequest(request, leadership, waitMs);
  }

  leadership(generation: number): Ballot | null {
    return this.holds(generation) ? this.ballot : null;
  }

  async prepareRequests(database: string, generation: number): Promise<void> {
    if (!this.holds(generation)) throw new Error('this replica is not the leader any more');
    await this.options.installRequests(database);
  }
}
