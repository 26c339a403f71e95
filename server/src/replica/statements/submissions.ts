/**
 * Operations of this replica's clients on their way into the log: given to whoever proposes, again and again, until this replica itself has executed them.
 *
 * Responsible for: whom an operation is given to, when again, and what its client hears if it is not ordered in time. Knows nothing of what an operation does.
 * Invariants: what is under way is bounded in number and bytes; an operation that was given to nobody is said not to be ordered, every other may be yet; each is answered once. That an operation which comes into the log twice is
 * executed once is the executor's business.
 */
import type { Timers } from '../../ports/clock.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { Given } from '../protocols/protocol-host.ts';
import { decodeBatch, encodeBatch } from './operation-batch.ts';

export interface SubmissionsOptions {
  readonly timers: Timers;
  /** Has it ordered, if this replica is who does. */
  readonly propose: (operation: Uint8Array) => Given;
  readonly send: (to: ReplicaId, batch: Uint8Array) => void;
  readonly retryMs: number;
  /** How long a client waits. */
  readonly waitMs: number;
  readonly operationsMax: number;
  readonly bytesMax: number;
  /** Of one message to whoever proposes. */
  readonly batchBytesMax: number;
}

export type Submitted<Result> =
  | { readonly code: 'executed'; readonly result: Result }
  | { readonly code: 'refused' | 'unknown'; readonly reason: string };

interface Pending<Result> {
  readonly bytes: Uint8Array;
  readonly sinceMs: number;
  settle: (submitted: Submitted<Result>) => void;
  /** Somebody may have it. */
  isOut: boolean;
  /** Its slot: it will be executed, and that may take as long as it waits for others. Null: it has none yet. */
  orderedAt: Slot | null;
  givenAtMs: number;
}

export class Submissions<Result> {
  private readonly options: SubmissionsOptions;
  private readonly pending = new Map<string, Pending<Result>>();
  /** Of others, for which there was no room in the window. */
  private foreign: Uint8Array[] = [];
  private foreignBytes = 0;
  private bytes = 0;
  private fresh: string[] = [];
  private turnIsNear = false;
  private readonly stopLooking: () => void;

  constructor(options: SubmissionsOptions) {
    this.options = options;
    this.stopLooking = options.timers.every(options.retryMs, () => this.look());
  }

  /** `name` tells the operation from all others, at every replica. Never rejects. */
  submit(name: string, bytes: Uint8Array): Promise<Submitted<Result>> {
    const { operationsMax, bytesMax, timers } = this.options;
    const known = this.pending.get(name);
    if (known !== undefined) return joined(known);
    if (this.pending.size >= operationsMax || this.bytes + bytes.length > bytesMax) {
      return Promise.resolve({ code: 'refused', reason: 'too many statements wait to be ordered here' });
    }
    return new Promise((settle) => {
      const sinceMs = timers.nowMs();
      this.pending.set(name, { bytes, sinceMs, settle, isOut: false, orderedAt: null, givenAtMs: sinceMs });
      this.bytes += bytes.length;
      this.fresh.push(name);
      this.soon();
    });
  }

  /** It is chosen, and will be executed here. */
  ordered(name: string, slot: Slot): void {
    const one = this.pending.get(name);
    if (one !== undefined) one.orderedAt ??= slot;
  }

  /** The database in use began with everything up to the slot: what is not answered of that was not executed in it, and never is. */
  began(slot: Slot): void {
    for (const [name, { orderedAt }] of this.pending)
      if (orderedAt !== null && orderedAt <= slot)
        this.finish(name, {
          code: 'unknown',
          reason: 'the database was replaced, or began again, while it was executed',
        });
  }

  /** This replica has executed it. */
  executed(name: string, result: Result): void {
    this.finish(name, { code: 'executed', result });
  }

  /** Executed here, and perhaps not where the next primary is: nobody knows. */
  unacknowledged(name: string): void {
    const reason = 'too few replicas have acknowledged it in time';
    this.finish(name, { code: 'unknown', reason });
  }

  has(name: string): boolean {
    return this.pending.has(name);
  }

  get isEmpty(): boolean {
    return this.pending.size === 0;
  }

  /** There is room for proposals again. */
  turn(): void {
    if (this.fresh.length > 0 || this.foreign.length > 0) this.soon();
  }

  /** Another proposes: what is not known to be ordered is given to that one. */
  anew(): void {
    this.fresh = [...this.pending].filter(([, { orderedAt }]) => orderedAt === null).map(([name]) => name);
    if (this.fresh.length > 0) this.soon();
  }

  /** What another replica's clients want. */
  take(batch: Uint8Array): void {
    for (const operation of decodeBatch(batch)) {
      const { operationsMax, bytesMax } = this.options;
      // Who sent it sends it again.
      if (this.foreign.length >= operationsMax || this.foreignBytes + operation.length > bytesMax) break;
      this.foreign.push(operation);
      this.foreignBytes += operation.length;
    }
    this.soon();
  }

  stop(): void {
    this.stopLooking();
    this.giveUpAll('the replica is stopping');
  }

  /** Whatever this replica would answer is not to be believed. */
  giveUpAll(reason: string): void {
    for (const name of this.pending.keys()) this.giveUp(name, reason);
  }

  /** A proposal is never made within a step of the core, from which `executed` and `turn` may come. */
  private soon(): void {
    if (this.turnIsNear) return;
    this.turnIsNear = true;
    this.options.timers.soon(() => {
      this.turnIsNear = false;
      this.give();
    });
  }

  private give(): void {
    const { foreign, fresh } = this;
    this.foreign = [];
    this.foreignBytes = 0;
    this.fresh = [];
    for (const [index, operation] of foreign.entries()) {
      const given = this.options.propose(operation);
      // Who sent it sends it again to whoever proposes then.
      if (given.code === 'elsewhere') break;
      if (given.code === 'full') {
        this.foreign = foreign.slice(index);
        this.foreignBytes = this.foreign.reduce((sum, { length }) => sum + length, 0);
        break;
      }
    }
    this.giveOwn(fresh);
  }

  private giveOwn(names: readonly string[]): void {
    let batch: Uint8Array[] = [];
    let batchBytes = 0;
    let leader: ReplicaId | null = null;
    const flush = (): void => {
      if (leader !== null && batch.length > 0) this.options.send(leader, encodeBatch(batch));
      batch = [];
      batchBytes = 0;
    };
    for (const [index, name] of names.entries()) {
      const one = this.pending.get(name);
      if (one === undefined) continue;
      const given = this.options.propose(one.bytes);
      if (given.code === 'full') {
        this.fresh = [...names.slice(index), ...this.fresh];
        break;
      }
      if (given.code === 'elsewhere') {
        if (given.to === null) continue;
        leader = given.to;
        if (batchBytes + one.bytes.length > this.options.batchBytesMax) flush();
        batch.push(one.bytes);
        batchBytes += one.bytes.length;
      }
      one.isOut = true;
      one.givenAtMs = this.options.timers.nowMs();
    }
    flush();
  }

  /** What has waited too long: given again, or given up. */
  private look(): void {
    const { timers, retryMs, waitMs } = this.options;
    const nowMs = timers.nowMs();
    const again: string[] = [];
    for (const [name, { sinceMs, givenAtMs, orderedAt }] of this.pending) {
      if (orderedAt !== null) continue;
      if (nowMs - sinceMs >= waitMs)
        this.giveUp(name, `no majority of the replicas has agreed on it within ${waitMs / 1000} s`);
      else if (nowMs - givenAtMs >= retryMs) again.push(name);
    }
    const waits = new Set(this.fresh);
    this.fresh.push(...again.filter((name) => !waits.has(name)));
    if (this.fresh.length > 0 || this.foreign.length > 0) this.soon();
  }

  private giveUp(name: string, reason: string): void {
    const code = this.pending.get(name)?.isOut === true ? 'unknown' : 'refused';
    this.finish(name, { code, reason });
  }

  private finish(name: string, submitted: Submitted<Result>): void {
    const one = this.pending.get(name);
    if (one === undefined) return;
    this.pending.delete(name);
    this.bytes -= one.bytes.length;
    one.settle(submitted);
  }
}

/** The same operation, asked for once more while it is under way. */
function joined<Result>(pending: Pending<Result>): Promise<Submitted<Result>> {
  return new Promise((resolve) => {
    const { settle } = pending;
    pending.settle = (submitted) => {
      settle(submitted);
      resolve(submitted);
    };
  });
}
