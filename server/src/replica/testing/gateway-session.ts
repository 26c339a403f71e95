/**
 * One session of a client with one replica's gateway in a group in memory: what PostgreSQL answers leaves only as the replica's service allows it, as gateways/pgwire does it.
 *
 * Responsible for: never telling the client more than the service says.
 */
import type { Ballot } from '../../multipaxos/types/names.ts';
import type { ModelClient } from '../../payload/wal/testing/model-client.ts';
import { requestKey } from '../../payload/wal/testing/model-server.ts';
import type { Request } from '../../payload/wal/testing/model-session.ts';
import type { NamedRequest, OpenTransaction } from '../../ports/client-service.ts';
import type { Transaction } from './memory-client.ts';
import type { MemoryGroup } from './memory-group.ts';
import type { MemberProcess } from './member-process.ts';
import type { MemoryMember } from './memory-member.ts';

/** What a gateway knows of a COMMIT that is under way. */
export interface Doubt {
  readonly leadership: Ballot;
  transaction: OpenTransaction | null;
  readonly request: NamedRequest | null;
}

/** Sooner than any gateway asks: the more is known of what is in doubt, the more can be asked after. */
const lateMs = 1;
const lookMs = 5;

/** The session, its replica or its leadership has ended. */
export class Cut extends Error {}

/** @throws Cut if the process dies before */
export function untilDeath<T>(group: MemoryGroup, process: MemberProcess, work: Promise<T>): Promise<T> {
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
export class GatewaySession {
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
    const stopListening = this.service.onServiceChange((service) => {
      // What it has begun may end.
      if (service.kind === 'nowhere' && service.drains === this.generation) return;
      this.endWith(new Cut('leadership has ended'));
    });
    const leave = this.service.enter(this.generation);
    const stopTimer = group.time.every(lookMs, () => {
      if (this.process.timers.dead) this.endWith(new Cut('the replica has died'));
    });
    this.stopLooking = () => {
      leave();
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
    for (const { key, value } of writes)
      await this.ask(value === null ? { kind: 'drop', key } : { kind: 'append', key, value });
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
