/**
 * How far this replica's database is: in memory, and as far as it survives a crash.
 *
 * Responsible for: writing the pointer by itself where nothing is open, now and then, and letting go of what older ones needed. In transactions of clients it is their requests' business (run-request.ts).
 * Invariant: `durable` is never above `slot`.
 */
import type { Slot } from '../../multipaxos/types/names.ts';
import type { Timers } from '../../ports/clock.ts';
import type { StatementDatabase } from '../../ports/statement-database.ts';
import type { SessionMemory } from './session-memory.ts';
import type { SlotRequest } from './waiting-requests.ts';

export interface DurablePointerOptions {
  readonly memory: SessionMemory;
  readonly database: Pick<StatementDatabase, 'forgetPointers'>;
  readonly timers: Pick<Timers, 'nowMs'>;
}

/** It is made durable so often at most, unless somebody asks. */
const everyMs = 500;
/** So many slots are remembered beyond what is of use. */
const forgetEverySlots = 2_000;

export class DurablePointer {
  slot = 0 as Slot;
  durable = 0 as Slot;
  private readonly options: DurablePointerOptions;
  /** Something was executed behind it, in its own slot. */
  private isPassed = false;
  private writtenAtMs = 0;
  private forgotten = 0;

  constructor(options: DurablePointerOptions) {
    this.options = options;
  }

  startsAt(slot: Slot): void {
    this.slot = slot;
    this.durable = slot;
  }

  passed(): void {
    this.isPassed = true;
  }

  isDue(atOnce: boolean): boolean {
    const isOld = this.isPassed || this.slot !== this.durable;
    return isOld && (atOnce || this.options.timers.nowMs() - this.writtenAtMs >= everyMs);
  }

  /** Nothing is open, but that `held` have come, and are held back. */
  async write(step: number, held: readonly SlotRequest[]): Promise<void> {
    const { memory, timers } = this.options;
    const { slot } = this;
    await memory.flush();
    await memory.writeAtRest(slot, step, held);
    this.durable = slot;
    this.isPassed = false;
    this.writtenAtMs = timers.nowMs();
  }

  /** Now and then. */
  async forget(): Promise<void> {
    const { memory, database } = this.options;
    const { durable } = this;
    if (durable - this.forgotten < forgetEverySlots) return;
    this.forgotten = durable;
    await memory.forget(durable);
    await database.forgetPointers(durable);
  }
}
