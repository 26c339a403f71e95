/**
 * Statements as what travels: the payload of ADR 33.
 *
 * Responsible for: taking what is chosen to the executor, in slot order and in the background; telling the replica how far that has come. Any protocol may be below: whoever proposes, and however often, an operation is executed once.
 * What an operation came to the executor tells its listener. Invariant: `execute` is called with each slot once and in order.
 */
import { entryLabel } from '../../multipaxos/entry.ts';
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { LogStore } from '../../ports/log-store.ts';
import { ChosenQueue } from '../chosen-queue.ts';
import type { Payload, PayloadHost } from '../payload.ts';
import type { InexactReason, StatementExecutor } from './executor.ts';
import { type AdoptOperation, decodeOperation, isAdoption, type Operation } from './operation.ts';

const readBytesMax = 4 * 1024 * 1024;
const readEntriesMax = 256;

/** Who waits for a moment in which no transaction is open. */
export interface Resting {
  readonly isAwaited: boolean;
  /** Everything up to the slot is executed, durably. Nothing is executed until it resolves. Never rejects. */
  reached(slot: Slot): Promise<void>;
}

/** Whose database goes on where all differ (replica/statements/adoptions.ts). */
export interface ClaimedDatabase {
  /** The database of this life holds the claim. */
  holds(name: string): Promise<boolean>;
  /** It goes on behind the slot, once that is written down. */
  adopted(slot: Slot, name: string): Promise<void>;
  /** It stands still ahead of the slot. `adopted`: another one goes on; `sessions`: the slot is of a session that this one lacks. */
  standing(slot: Slot, reason: 'adopted' | 'sessions'): void;
  /** Behind that slot there is an adoption which counts instead. */
  passedOver(slot: Slot): void;
}

export interface StatementsPayloadOptions {
  readonly host: Pick<PayloadHost, 'applied' | 'commitPoint' | 'copyAwaited' | 'fatal'>;
  readonly executor: StatementExecutor;
  readonly log: Pick<LogStore, 'read'>;
  /** Only a copy of another replica's database helps; then there is to be another payload. */
  readonly onCopyNeeded: (reason: InexactReason | 'logPurged') => void;
  /** What the database began with, up to the slot, is executed, and what was held back in it has gone on. */
  readonly onBegun: (slot: Slot) => void;
  readonly resting?: Resting;
  readonly claimed: ClaimedDatabase;
}

export class StatementsPayload implements Payload {
  private readonly options: StatementsPayloadOptions;
  private readonly queue = new ChosenQueue({ entriesMax: 4_000, bytesMax: 32 * 1024 * 1024 });
  private isStopped = false;
  /** Why the database of this life is gone. */
  private ended: Error | null = null;
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

  /** Somebody waits for a moment of rest, which may be now. */
  look(): void {
    this.wake();
  }

  /** What is under way fails by itself; where nothing is, nothing else would notice. */
  databaseEnded(reason: string): void {
    this.ended = new Error(reason);
    this.wake();
  }

  room(): void {
    // Whoever was refused for want of room gives its operation again.
  }

  lead(): void {
    // Every replica serves its clients, whoever leads.
  }

  follow(): void {
    // Likewise.
  }

  purged(): void {
    // What is executed is never read again.
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.wake();
    await this.options.executor.stop();
    await this.work;
  }

  private async run(): Promise<void> {
    const { executor, host, onCopyNeeded, onBegun } = this.options;
    const started = await executor.start();
    if (started.code === 'inexact') {
      // What may be whole is not left behind by its log.
      if (started.reason !== 'presumedDamaged') host.copyAwaited();
      onCopyNeeded(started.reason);
      return;
    }
    this.told();
    await executor.goOn();
    onBegun(started.pointer);
    while (!this.isStopped) {
      if (this.ended !== null) throw this.ended;
      const next = (executor.pointer + 1) as Slot;
      const entries = await this.read(next);
      if (entries === 'purged') {
        host.copyAwaited();
        onCopyNeeded('logPurged');
        return;
      }
      if (entries.length === 0) {
        await this.rest();
        await this.more(next);
      }
      for (const { slot, entry } of entries) {
        const operation = entry.kind === 'command' ? readOperation(entry.payload, entryLabel(entry)) : null;
        if (operation?.kind === 'adopt') await this.adopt(slot, operation);
        else if (operation !== null && executor.lacks(operation)) await this.stand(slot, 'sessions');
        if (this.isStopped) return;
        await executor.execute(slot, operation);
        this.told();
        await this.rest();
      }
    }
  }

  /**
   * Resolves when this replica may go on behind the slot: its database holds the claim, or a later adoption is chosen, which is what counts then (specs/StatementAdoption.tla, Adopt).
   */
  private async adopt(slot: Slot, { name }: AdoptOperation): Promise<void> {
    const { claimed } = this.options;
    if (await claimed.holds(name)) await claimed.adopted(slot, name);
    else await this.stand(slot, 'adopted');
  }

  /** Somebody else's copy takes the place of this life, unless an adoption is chosen behind the slot, by which all go on from one database, whatever that has made of the slot. */
  private async stand(slot: Slot, reason: 'adopted' | 'sessions'): Promise<void> {
    const { claimed, host, log } = this.options;
    for (let seen = slot; !this.isStopped; ) {
      if (this.ended !== null) throw this.ended;
      const next = (seen + 1) as Slot;
      const end = host.commitPoint();
      const entries = end < next ? [] : await log.read(next, end, readBytesMax);
      if (entries.some((entry) => entry.kind === 'command' && isAdoption(entry.payload))) {
        claimed.passedOver(slot);
        return;
      }
      if (entries.length === 0) {
        claimed.standing(slot, reason);
        await this.more(next);
      }
      seen = (seen + entries.length) as Slot;
    }
  }

  private async rest(): Promise<void> {
    const { executor, resting } = this.options;
    if (resting?.isAwaited === true && (await executor.rest())) await resting.reached(executor.pointer);
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
      if (this.isStopped || this.ended !== null || this.options.host.commitPoint() >= next) resolve();
    });
  }

  private told(): void {
    this.options.host.applied(this.pointer, this.durablePointer);
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
