/**
 * Statements as what travels: the payload of ADR 33.
 *
 * Responsible for: taking what is chosen to the executor, in slot order and in the background; telling the replica how far that has come; giving those that wait here for an operation its result. Any protocol may be below: whoever proposes, and however often, an operation is executed once.
 * Invariants: `execute` is called with each slot once and in order; at most `waitersMax` wait.
 */
import { entryLabel } from '../../multipaxos/entry.ts';
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { Ballot, Slot } from '../../multipaxos/types/names.ts';
import type { LogStore } from '../../ports/log-store.ts';
import { ChosenQueue } from '../chosen-queue.ts';
import type { Payload, PayloadHost } from '../payload.ts';
import type { InexactReason, OperationResult, StatementExecutor } from './executor.ts';
import { decodeOperation, encodeOperation, keyOf, type Operation } from './operation.ts';

const readBytesMax = 4 * 1024 * 1024;
const readEntriesMax = 256;
const waitersMax = 10_000;

/** `notLeader`, `windowFull`: it has no slot. `unknown`: it may or may not have one; it may be submitted again, here or elsewhere, and is executed once. */
export type SubmitResult =
  | { readonly code: 'done'; readonly result: OperationResult }
  | { readonly code: 'notLeader' | 'windowFull' | 'unknown' };

export interface StatementsPayloadOptions {
  readonly host: Pick<
    PayloadHost,
    'applied' | 'commitPoint' | 'copyAwaited' | 'fatal' | 'propose' | 'ready' | 'unready'
  >;
  readonly executor: StatementExecutor;
  readonly log: Pick<LogStore, 'read'>;
  /** Only a copy of another replica's database helps; then there is to be another payload. */
  readonly onCopyNeeded: (reason: InexactReason | 'logPurged') => void;
  /** What others are to be told, so that a replica that differs is noticed. */
  readonly onDigest: (slot: Slot, digest: string) => void;
}

type Waiter = (result: SubmitResult) => void;

export class StatementsPayload implements Payload {
  private readonly options: StatementsPayloadOptions;
  private readonly queue = new ChosenQueue({ entriesMax: 4_000, bytesMax: 32 * 1024 * 1024 });
  private readonly waiters = new Map<string, Waiter[]>();
  private waiting = 0;
  private leads: { readonly ballot: Ballot; readonly from: Slot } | null = null;
  private isRunning = false;
  private isStopped = false;
  private wake: () => void = () => undefined;
  private work: Promise<void> = Promise.resolve();

  constructor(options: StatementsPayloadOptions) {
    this.options = options;
  }

  get pointer(): Slot {
    return this.options.executor.pointer;
  }

  get durablePointer(): Slot {
    return this.options.executor.durablePointer;
  }

  start(): void {
    this.work = this.run().catch((error: unknown) => {
      if (!this.isStopped) this.options.host.fatal(error instanceof Error ? error : new Error(String(error)));
    });
  }

  chosen(entries: readonly SlotEntry[]): void {
    this.queue.push(entries);
    this.wake();
  }

  room(): void {
    // Whoever was refused for want of room submits again.
  }

  /** Clients are served when everything has been executed here that was chosen before. */
  lead(ballot: Ballot): void {
    this.leads = { ballot, from: this.options.host.commitPoint() };
    this.look();
  }

  /** What was proposed may be chosen or not. */
  follow(): void {
    this.leads = null;
    this.options.host.unready('this replica does not lead any more');
    const all = [...this.waiters.values()].flat();
    this.waiters.clear();
    this.waiting = 0;
    for (const waiter of all) waiter({ code: 'unknown' });
  }

  purged(): void {
    // What is executed is never read again.
  }

  /** Proposes an operation, and waits until this replica has executed it, by whomever it was proposed. */
  submit(operation: Operation, signal?: AbortSignal): Promise<SubmitResult> {
    if (this.waiting >= waitersMax) return Promise.resolve({ code: 'windowFull' });
    const proposed = this.options.host.propose(encodeOperation(operation));
    if (proposed.code !== 'proposed') return Promise.resolve({ code: proposed.code });
    return this.await(operation, signal);
  }

  /** Waits until this replica has executed it: it was proposed elsewhere. */
  await(operation: Operation, signal?: AbortSignal): Promise<SubmitResult> {
    return new Promise((resolve) => {
      const key = keyOf(operation);
      const abort = (): void => {
        const left = (this.waiters.get(key) ?? []).filter((other) => other !== waiter);
        if (left.length === 0) this.waiters.delete(key);
        else this.waiters.set(key, left);
        this.waiting -= 1;
        resolve({ code: 'unknown' });
      };
      const waiter: Waiter = (result) => {
        signal?.removeEventListener('abort', abort);
        resolve(result);
      };
      if (signal?.aborted === true) {
        resolve({ code: 'unknown' });
        return;
      }
      signal?.addEventListener('abort', abort, { once: true });
      this.waiters.set(key, [...(this.waiters.get(key) ?? []), waiter]);
      this.waiting += 1;
    });
  }

  /** The executor's listener. */
  finished(slot: Slot, operation: Operation, result: OperationResult): void {
    if (result.digest !== null) this.options.onDigest(slot, result.digest);
    const key = keyOf(operation);
    const waiters = this.waiters.get(key);
    if (waiters === undefined) return;
    this.waiters.delete(key);
    this.waiting -= waiters.length;
    for (const waiter of waiters) waiter({ code: 'done', result });
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.follow();
    this.wake();
    await this.options.executor.stop();
    await this.work;
  }

  private async run(): Promise<void> {
    const { executor, host, onCopyNeeded } = this.options;
    const started = await executor.start();
    if (started.code === 'inexact') {
      host.copyAwaited();
      onCopyNeeded(started.reason);
      return;
    }
    this.isRunning = true;
    this.told();
    while (!this.isStopped) {
      const next = (executor.pointer + 1) as Slot;
      const entries = await this.read(next);
      if (entries === 'purged') {
        host.copyAwaited();
        onCopyNeeded('logPurged');
        return;
      }
      if (entries.length === 0) await this.more(next);
      for (const { slot, entry } of entries) {
        if (this.isStopped) return;
        await executor.execute(
          slot,
          entry.kind === 'command' ? readOperation(entry.payload, entryLabel(entry)) : null,
        );
        this.told();
      }
    }
  }

  private async read(next: Slot): Promise<readonly SlotEntry[] | 'purged'> {
    const queued = this.queue.take(next, readEntriesMax, readBytesMax);
    if (queued.length > 0) return queued;
    const end = this.options.host.commitPoint();
    if (end < next) return [];
    const entries = await this.options.log.read(next, end, readBytesMax);
    if (entries.length === 0) return 'purged';
    return entries.map((entry, index) => ({ slot: (next + index) as Slot, entry }));
  }

  private more(next: Slot): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
      if (this.isStopped || this.options.host.commitPoint() >= next) resolve();
    });
  }

  private told(): void {
    this.options.host.applied(this.pointer, this.durablePointer);
    this.look();
  }

  private look(): void {
    const { leads } = this;
    if (leads === null || !this.isRunning || this.pointer < leads.from) return;
    this.leads = null;
    this.options.host.ready(leads.ballot);
  }
}

/** What is chosen was encoded by a replica: bytes that are none are of another version, and this one cannot go on. */
function readOperation(payload: Uint8Array, label: string): Operation {
  try {
    return decodeOperation(payload);
  } catch (cause) {
    throw new Error(`the entry ${label} cannot be read`, { cause });
  }
}
