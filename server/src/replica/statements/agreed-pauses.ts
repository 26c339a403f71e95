/**
 * Pauses that are agreed on, so that a moment comes in which no transaction is open: asked for by whoever needs it, and ended where it does not come soon.
 *
 * Responsible for: when a pause is worth asking for, and when nobody waits any longer. What a pause does is the executor's business (payload/statements/serial-executor.ts).
 * Invariant: clients are held up by a pause for `holdMsMax` and the time that it takes to agree, whatever other clients do.
 */
import type { Timers } from '../../ports/clock.ts';
import type { Operation } from '../../payload/statements/operation.ts';

export interface PausesOptions {
  readonly timers: Pick<Timers, 'after'>;
  /** 32 hexadecimal digits. */
  readonly randomName: () => string;
  readonly submit: (operation: Operation) => void;
  /** A pause that is agreed on now is executed here soon, and may bring the moment. */
  readonly isOfUse: () => boolean;
}

export const holdMsMax = 1_000;

export class AgreedPauses {
  private readonly options: PausesOptions;
  private stopWaiting: () => void = () => undefined;

  constructor(options: PausesOptions) {
    this.options = options;
  }

  ask(): void {
    const { randomName, submit, isOfUse } = this.options;
    if (isOfUse()) submit({ kind: 'pause', name: randomName() });
  }

  /** It is executed here: beginnings are held back. */
  begun(name: string): void {
    this.ended();
    this.stopWaiting = this.options.timers.after(holdMsMax, () => {
      this.options.submit({ kind: 'resume', name });
    });
  }

  /** What was held back goes on here, or the database is there no more. */
  ended(): void {
    this.stopWaiting();
    this.stopWaiting = () => undefined;
  }
}
