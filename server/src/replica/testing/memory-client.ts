/**
 * A client of a group in memory, and the gateway before it: what PostgreSQL answers leaves only as the replica's service allows it, and what became of a COMMIT that was never answered is asked for, as gateways/pgwire does it.
 *
 * Responsible for: never telling the client more than the service says. Judges nothing.
 */
import type { Ballot, ReplicaId } from '../../multipaxos/types/names.ts';
import type { ModelClient } from '../../payload/wal/testing/model-client.ts';
import { requestKey } from '../../payload/wal/testing/model-server.ts';
import type { CommitMode, Request } from '../../payload/wal/testing/model-session.ts';
import type { NamedRequest, OpenTransaction, RequestOutcome } from '../../ports/client-service.ts';
import type { MemoryGroup } from './memory-group.ts';
import type { MemoryMember, MemberProcess } from './memory-member.ts';

export interface Write {
  readonly key: string;
  readonly value: string;
}

export interface Transaction {
  /** Read before anything is written. */
  readonly reads: readonly string[];
  readonly writes: readonly Write[];
  /** Other than `on`: the gateway has noticed it. */
  readonly mode?: CommitMode;
  readonly request?: NamedRequest;
}

/** `done`: COMMIT was answered. `asked`: it was not, and this is what the group says became of it. `refused`: COMMIT was never sent. */
export type TransactionEnd =
  | { readonly kind: 'done'; readonly lists: readonly (readonly string[])[] }
  | { readonly kind: 'asked'; readonly outcome: RequestOutcome['code'] }
  | { readonly kind: 'refused'; readonly reason: string };

/** What a gateway knows of a COMMIT that is under way. */
interface Doubt {
  readonly leadership: Ballot;
  transaction: OpenTransaction | null;
  readonly request: NamedRequest | null;
}

const lateMs = 6;
const lookMs = 5;
const outcomeWaitMs = 8_000;

/** The session, its replica or its leadership has ended. */
class Cut extends Error {}

export class MemoryClient {
  private readonly group: MemoryGroup;

  constructor(group: MemoryGroup) {
    this.group = group;
  }

  /** One transaction with whoever serves, or seems to. Never rejects; may take long. `onSession` is told of PostgreSQL's session. */
  async transact(
    transaction: Transaction,
    onSession?: (session: ModelClient, member: MemoryMember) => void,
  ): Promise<TransactionEnd> {
    const member = this.pickServing();
    if (member === null) return { kind: 'refused', reason: 'nobody serves' };
    const session = new GatewaySession(this.group, member);
    let doubt: Doubt | null = null;
    try {
      await session.open();
      onSession?.(session.postgres, member);
      const lists = await session.work(transaction);
      doubt = session.doubt(transaction.request ?? null);
      await session.commit(doubt);
      return { kind: 'done', lists };
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
      if (doubt === null) return { kind: 'refused', reason: error.message };
      return { kind: 'asked', outcome: await this.ask(doubt, member) };
    } finally {
      session.close();
    }
  }

  private pickServing(): MemoryMember | null {
    const { members, random } = this.group;
    const serving = members.filter(({ replica }) => replica?.service.service().kind === 'here');
    return serving.length === 0 ? null : random.pick(serving);
  }

  /** A gateway that is left: that of its own replica, or of the follower through which it came. */
  private async ask(doubt: Doubt, served: MemoryMember): Promise<RequestOutcome['code']> {
    const { members, random } = this.group;
    const all = members.filter(({ replica }) => replica !== null);
    const [one] = random.chance(0.5) && served.replica !== null ? [served] : random.shuffled(all);
    const process = one?.process ?? null;
    const service = one?.replica?.service;
    if (process === null || service === undefined) return 'unknown';
    const { transaction, request, leadership } = doubt;
    let asked: Promise<RequestOutcome['code']> | null = null;
    if (request !== null)
      asked = service.outcomeOfRequest(request, leadership, outcomeWaitMs).then(({ code }) => code);
    else if (transaction !== null) asked = service.outcomeOf(transaction, outcomeWaitMs);
    if (asked === null) return 'unknown';
    // Nobody is left to tell it if that replica dies.
    return untilDeath(this.group, process, asked).catch(() => 'unknown' as const);
  }

  /** What a query on this replica finds, as its clients on a standby see it; null: it is no standby that lets anybody in. */
  async readStandby(id: ReplicaId, keys: readonly string[]): Promise<readonly (readonly string[])[] | null> {
    const { process, postgres } = this.group.member(id);
    if (process === null || postgres.run === null || postgres.run.standby === null) return null;
    return untilDeath(this.group, process, process.server.read(keys)).catch(() => null);
  }
}

/** @throws Cut if the process dies before */
function untilDeath<T>(group: MemoryGroup, process: MemberProcess, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = group.time.every(lookMs, () => {
      if (process.timers.dead) over(() => reject(new Cut('the replica has died')));
    });
    function over(tell: () => void): void {
      stop();
      tell();
    }
    work.then(
      (value) => over(() => resolve(value)),
      (error: Error) => over(() => reject(error)),
    );
  });
}

/** One session in one generation of one replica's service. */
class GatewaySession {
  postgres!: ModelClient;
  private readonly process: MemberProcess;
  private readonly generation: number;
  private readonly ended: Promise<never>;
  private endWith: (error: Cut) => void = () => undefined;
  private readonly stopLooking: () => void;
  private trust: (() => void) | null = null;

  constructor(group: MemoryGroup, member: MemoryMember) {
    this.process = member.process!;
    const now = this.service.service();
    this.generation = now.kind === 'here' ? now.generation : -1;
    this.ended = new Promise((_, reject) => {
      this.endWith = reject;
    });
    this.ended.catch(() => undefined);
    const stopListening = this.service.onServiceChange(() => this.endWith(new Cut('leadership has ended')));
    const stopTimer = group.time.every(lookMs, () => {
      if (this.process.timers.dead) this.endWith(new Cut('the replica has died'));
    });
    this.stopLooking = () => {
      stopListening();
      stopTimer();
    };
  }

  private get service() {
    return this.process.assembled!.replica.service;
  }

  private orCut<T>(work: Promise<T>): Promise<T> {
    const failed = work.catch((error: unknown) => {
      throw error instanceof Cut ? error : new Cut(error instanceof Error ? error.message : String(error));
    });
    return Promise.race([failed, this.ended]);
  }

  async open(): Promise<void> {
    this.postgres = await this.orCut(this.process.server.connect());
  }

  /** What PostgreSQL has said leaves when it may. */
  private async passGate(): Promise<void> {
    const { service, generation } = this;
    if (service.mayAnswer(generation)) return;
    if (!(await this.orCut(service.awaitAnswer(generation)))) throw new Cut('the service has ended');
  }

  private async ask(request: Request): Promise<readonly (readonly string[])[]> {
    const answer = await this.orCut(this.postgres.ask(request));
    await this.passGate();
    if (answer.kind === 'error') throw new Cut(answer.message);
    return answer.lists;
  }

  /** Everything but the end. Returns what was read. */
  async work({ reads, writes, mode, request }: Transaction): Promise<readonly (readonly string[])[]> {
    if (mode !== undefined && mode !== 'on') {
      this.trust = this.service.distrust();
      await this.ask({ kind: 'mode', mode });
    }
    const lists = reads.length === 0 ? [] : await this.ask({ kind: 'read', keys: reads });
    for (const { key, value } of writes) await this.ask({ kind: 'append', key, value });
    if (request !== undefined) await this.ask({ kind: 'append', key: requestKey(request), value: 'COMMIT' });
    return lists;
  }

  /** From now on its outcome is in doubt until it is told. */
  doubt(request: NamedRequest | null): Doubt {
    const leadership = this.service.leadership(this.generation);
    if (leadership === null) throw new Cut('the service has ended');
    return { leadership, transaction: null, request };
  }

  async commit(doubt: Doubt): Promise<void> {
    const stop = this.process.timers.every(lateMs, () => void this.findOut(doubt));
    try {
      await this.ask({ kind: 'commit' });
    } finally {
      stop();
    }
  }

  /** A COMMIT that is late is asked after while it can be. */
  private async findOut(doubt: Doubt): Promise<void> {
    const { pid } = this.postgres;
    if (doubt.transaction !== null) return;
    const found = await this.service.openTransactions([pid], this.generation);
    doubt.transaction ??= found.get(pid) ?? null;
  }

  close(): void {
    this.stopLooking();
    this.trust?.();
    if ((this.postgres as ModelClient | undefined) !== undefined) this.postgres.close();
  }
}
