/**
 * The payload of a replica over the lives of its database: when that cannot go on, another one begins, from nothing if need be, and everything is executed again.
 *
 * Responsible for: one life at a time. How a life is made is whoever makes it's business.
 */
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { Ballot, Slot } from '../../multipaxos/types/names.ts';
import type { Payload } from '../../payload/payload.ts';

export class RenewedPayload implements Payload {
  private readonly make: () => Payload;
  private current: Payload;
  private isStopped = false;
  private renewed: Promise<void> = Promise.resolve();

  constructor(make: () => Payload) {
    this.make = make;
    this.current = make();
  }

  get pointer(): Slot {
    return this.current.pointer;
  }

  get durablePointer(): Slot {
    return this.current.durablePointer;
  }

  /** The life of before has ended, or ends now. `between`: nothing runs. One after another, each of the life that the one before has begun. */
  renew(between: () => Promise<void>): Promise<void> {
    const renewed = this.renewed.then(() => this.renewOnce(between));
    this.renewed = renewed.catch(() => undefined);
    return renewed;
  }

  private async renewOnce(between: () => Promise<void>): Promise<void> {
    await this.current.stop();
    if (this.isStopped) return;
    await between();
    if (this.isStopped) return;
    this.current = this.make();
    this.current.start();
  }

  start(): void {
    this.current.start();
  }

  /** What comes while nothing runs is read from the log. */
  chosen(entries: readonly SlotEntry[]): void {
    this.current.chosen(entries);
  }

  room(): void {
    this.current.room();
  }

  lead(ballot: Ballot): void {
    this.current.lead(ballot);
  }

  follow(): void {
    this.current.follow();
  }

  purged(): void {
    this.current.purged();
  }

  stop(): Promise<void> {
    this.isStopped = true;
    return this.current.stop();
  }
}
