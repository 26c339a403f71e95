/**
 * A database in memory behind the Database port, for tests: it keeps the order in which transactions took effect, and a crash
 * takes back whatever was not flushed, as PostgreSQL does with synchronous_commit=off.
 */
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { Slot } from '../../multipaxos/types.ts';
import {
  DatabaseError,
  type ApplicationPointer,
  type Database,
  type KeptWithPointer,
  type SlotToApply,
} from '../../ports/database.ts';

interface Contents {
  readonly pointer: Slot;
  readonly above: readonly Slot[];
  readonly keep: KeptWithPointer;
  /** Ids of the transactions in the order in which they took effect. */
  readonly applied: readonly string[];
}

const keepAll: KeptWithPointer = { keepFrom: 1 as Slot, leadership: ballotNone, configuration: null };

export class MemoryDatabase implements Database {
  contents: Contents = { pointer: 0 as Slot, above: [], keep: keepAll, applied: [] };
  private flushed: Contents = this.contents;
  sessionsEnded = 0;
  batches: number[] = [];
  down = false;
  failNextApply: DatabaseError | null = null;

  /** A session of the leader commits its own transaction, its slot recorded with it. */
  commitSession(slot: Slot, transaction: string): void {
    const { above, applied } = this.contents;
    this.contents = { ...this.contents, above: [...above, slot], applied: [...applied, transaction] };
  }

  crash(): void {
    this.contents = this.flushed;
  }

  applicationPointer(): Promise<ApplicationPointer> {
    this.assertUp();
    const { pointer, above, keep } = this.contents;
    return Promise.resolve({ pointer, above, aboveTransactions: [], keep });
  }

  async apply(batch: readonly SlotToApply[], keep: KeptWithPointer): Promise<void> {
    this.assertUp();
    const failure = this.failNextApply;
    this.failNextApply = null;
    if (failure !== null) throw failure;
    this.assertNoGap(batch);
    const applied = [...this.contents.applied];
    for (const { transaction } of batch) {
      if (transaction === null) continue;
      let id = '';
      for await (const part of transaction) id = `${part.transaction}#${part.part}`;
      applied.push(id);
    }
    this.batches.push(batch.length);
    const pointer = batch.at(-1)!.slot;
    this.contents = {
      pointer,
      above: this.contents.above.filter((slot) => slot > pointer),
      keep,
      applied,
    };
  }

  movePointer(upTo: Slot, keep: KeptWithPointer): Promise<void> {
    this.assertUp();
    const above = this.contents.above.filter((slot) => slot > upTo);
    this.contents = { ...this.contents, pointer: upTo, above, keep };
    return Promise.resolve();
  }

  flush(): Promise<Slot> {
    this.assertUp();
    this.flushed = this.contents;
    return Promise.resolve(this.contents.pointer);
  }

  endSessions(): Promise<void> {
    this.sessionsEnded++;
    return Promise.resolve();
  }

  /** As PostgreSQL's adapter: the pointer passes over no slot that is neither in nor in the batch. */
  private assertNoGap(batch: readonly SlotToApply[]): void {
    const { pointer, above } = this.contents;
    const inBatch = new Set(batch.map(({ slot }) => slot));
    const last = batch.at(-1)?.slot ?? pointer;
    for (let slot = (pointer + 1) as Slot; slot <= last; slot = (slot + 1) as Slot) {
      if (inBatch.has(slot) || above.includes(slot)) continue;
      throw new DatabaseError('applyFailed', `slot ${slot} is missing: slot ${last} cannot be applied`);
    }
  }

  private assertUp(): void {
    if (this.down) throw new DatabaseError('databaseDown', 'the database is down');
  }
}
