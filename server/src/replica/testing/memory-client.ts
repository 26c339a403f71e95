/**
 * A client of a group in memory: takes its transactions to whoever serves, and asks what became of a COMMIT that was never answered, again and again if it wants to, as gateways/pgwire does it.
 *
 * Judges nothing. What a gateway lets out is gateway-session.ts.
 */
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { ModelClient } from '../../payload/wal/testing/model-client.ts';
import type { CommitMode } from '../../payload/wal/testing/model-session.ts';
import type { NamedRequest, RequestOutcome } from '../../ports/client-service.ts';
import { Cut, type Doubt, GatewaySession, untilDeath } from './gateway-session.ts';
import type { Freshness } from '../../ports/standby-reads.ts';
import type { MemoryGroup } from './memory-group.ts';
import type { MemoryMember } from './memory-member.ts';

/** Null: the list of the key is dropped. */
export interface Write {
  readonly key: string;
  readonly value: string | null;
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

/** A transaction whose COMMIT was not answered. */
export interface DoubtfulTransaction {
  readonly transaction: Transaction;
  readonly doubt: Doubt;
}

const outcomeWaitMs = 8_000;
const readWaitMs = 2_000;
/** The oldest are not asked after any more. */
const doubtsMax = 100;

export class MemoryClient {
  /** Of those that can be asked after, whatever was said of them. */
  doubts: readonly DoubtfulTransaction[] = [];
  private readonly group: MemoryGroup;

  constructor(group: MemoryGroup) {
    this.group = group;
  }

  /** One transaction with whoever serves, or seems to; with `at` only, if that is given. Never rejects; may take long. `onSession` is told of PostgreSQL's session. */
  async transact(
    transaction: Transaction,
    onSession?: (session: ModelClient, member: MemoryMember) => void,
    at?: ReplicaId,
  ): Promise<TransactionEnd> {
    const member = this.pickServing(at);
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
      this.doubts = [...this.doubts, { transaction, doubt }].slice(-doubtsMax);
      return { kind: 'asked', outcome: await this.ask(doubt, this.pickGateway(member), outcomeWaitMs) };
    } finally {
      session.close();
    }
  }

  private pickServing(at?: ReplicaId): MemoryMember | null {
    const { members, random } = this.group;
    const serving = members.filter(
      ({ id, replica }) => (at === undefined || id === at) && replica?.service.service().kind === 'here',
    );
    return serving.length === 0 ? null : random.pick(serving);
  }

  /** One that is left: that of its own replica, or of the follower through which it came. */
  private pickGateway(served: MemoryMember): MemoryMember | null {
    const { members, random } = this.group;
    if (random.chance(0.5) && served.replica !== null) return served;
    const all = members.filter(({ replica }) => replica !== null);
    return all.length === 0 ? null : random.pick(all);
  }

  /** What this replica's gateway says, at once or within `waitMs`, of one that nobody was told of. */
  askAgain(
    { doubt }: DoubtfulTransaction,
    member: MemoryMember,
    waitMs: number,
  ): Promise<RequestOutcome['code']> {
    return this.ask(doubt, member, waitMs);
  }

  private async ask(
    { transaction, request, leadership }: Doubt,
    member: MemoryMember | null,
    waitMs: number,
  ): Promise<RequestOutcome['code']> {
    const process = member?.process ?? null;
    const service = member?.replica?.service;
    if (process === null || service === undefined) return 'unknown';
    let asked: Promise<RequestOutcome['code']> | null = null;
    if (request !== null)
      asked = service.outcomeOfRequest(request, leadership, waitMs).then(({ code }) => code);
    else if (transaction !== null) asked = service.outcomeOf(transaction, waitMs);
    if (asked === null) return 'unknown';
    // Nobody is left to tell it if that replica dies.
    return untilDeath(this.group, process, asked).catch(() => 'unknown' as const);
  }

  /** What the reading session of a gateway does with one query at this replica's standby; null: it is refused, or its session ends. */
  async readFollower(
    id: ReplicaId,
    keys: readonly string[],
    freshness: Freshness,
  ): Promise<readonly (readonly string[])[] | null> {
    const { process, replica } = this.group.member(id);
    const reads = replica?.service.reads;
    const door = reads?.standby() ?? null;
    if (process === null || reads === undefined || door === null) return null;
    const asked = reads.beginRead(door.life, freshness, readWaitMs);
    const currency = await untilDeath(this.group, process, asked).catch(() => null);
    if (currency?.code !== 'current') return null;
    const found = await this.readStandby(id, keys);
    if (freshness.kind === 'linearizable' && !reads.mayTell(door.life)) {
      const told = reads.awaitTold(door.life, readWaitMs);
      if (!(await untilDeath(this.group, process, told).catch(() => false))) return null;
    }
    return reads.standby()?.life === door.life ? found : null;
  }

  /** What a query on this replica finds, as its clients on a standby see it; null: it is no standby that lets anybody in. */
  async readStandby(id: ReplicaId, keys: readonly string[]): Promise<readonly (readonly string[])[] | null> {
    const { process, postgres } = this.group.member(id);
    if (process === null || postgres.run === null || postgres.run.standby === null) return null;
    return untilDeath(this.group, process, process.server.read(keys)).catch(() => null);
  }
}
