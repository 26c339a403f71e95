/** An executor without a database: a session is what it was told, and each request is answered with its own bytes. */
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { ExecutorListener, StartOutcome, StatementExecutor } from '../executor.ts';
import type { Operation } from '../operation.ts';

export class ModelExecutor implements StatementExecutor {
  readonly executed: (readonly [slot: number, operation: Operation | null])[] = [];
  listener: Pick<ExecutorListener, 'finished'> | null = null;
  outcome: StartOutcome = { code: 'exact', pointer: 0 as Slot };
  pointer = 0 as Slot;
  /** Survives a crash only when that is said. */
  durablePointer = 0 as Slot;
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
    if (operation === null) return;
    const answer = operation.kind === 'request' ? Buffer.from(operation.bytes) : Buffer.alloc(0);
    this.listener?.finished(slot, operation, {
      outcome: 'executed',
      answer,
      status: 'I',
      digest: `d${slot}`,
    });
  }

  openSessions(): Iterable<string> {
    return [];
  }

  openTransactions(): number {
    return 0;
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
