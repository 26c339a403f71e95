/** An executor without a database, which remembers what it was given. */
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { ForeignProcess, StartOutcome, StatementExecutor } from '../executor.ts';
import type { Operation } from '../operation.ts';

export class ModelExecutor implements StatementExecutor {
  readonly executed: (readonly [slot: number, operation: Operation | null])[] = [];
  outcome: StartOutcome = { code: 'exact', pointer: 0 as Slot };
  pointer = 0 as Slot;
  /** Survives a crash only when that is said. */
  durablePointer = 0 as Slot;
  open = 0;
  /** What is executed waits for it. */
  gate: Promise<void> = Promise.resolve();

  start(): Promise<StartOutcome> {
    this.pointer = this.outcome.pointer;
    return Promise.resolve(this.outcome);
  }

  async execute(slot: Slot, operation: Operation | null): Promise<void> {
    await this.gate;
    this.executed.push([slot, operation]);
    this.pointer = slot;
  }

  /** Of sessions with these names it executes nothing. */
  readonly lost = new Set<string>();

  lostSessions(): Iterable<string> {
    return this.lost;
  }

  lacks(operation: Operation): boolean {
    return operation.kind === 'request' && this.lost.has(operation.session);
  }

  boundSessions(): readonly string[] {
    return [];
  }

  goOn(): Promise<void> {
    return Promise.resolve();
  }

  rest(): Promise<boolean> {
    return Promise.resolve(this.openTransactions() === 0);
  }

  openSessions(): Iterable<string> {
    return [];
  }

  factsOf(): null {
    return null;
  }

  blockedBy(): Promise<readonly ForeignProcess[]> {
    return Promise.resolve([]);
  }

  openTransactions(): number {
    return this.open;
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
