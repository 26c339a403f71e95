/**
 * Answers of a database that all are to go on from, and that nobody has a copy of yet: were its replica stopped with transactions open, it would go back to an older copy, draw otherwise, and what was acknowledged would not be so any more.
 * So nothing is acknowledged there before that replica keeps a copy of behind the adoption (specs/StatementAdoption.tla, Tell).
 *
 * Bounded: where a copy takes longer than `holdMsMax`, answers are told without one, and the log says so.
 */
import type { Logger } from 'pino';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { Timers } from '../../ports/clock.ts';

export const holdMsMax = 60_000;

interface Held {
  readonly tell: () => void;
  /** The database is there no more. */
  readonly drop: () => void;
}

export class AnswerHold {
  private readonly timers: Pick<Timers, 'after'>;
  private readonly logger: Logger;
  private readonly onChange: (awaited: Slot | null) => void;
  /** A copy of that slot or above is awaited. */
  private awaited: Slot | null = null;
  private held: Held[] = [];
  private stopWaiting: () => void = () => undefined;

  /** `onChange`: which copy is awaited from now on; null: none. */
  constructor(timers: Pick<Timers, 'after'>, logger: Logger, onChange: (awaited: Slot | null) => void) {
    this.timers = timers;
    this.logger = logger;
    this.onChange = onChange;
  }

  /** A copy of that slot or above is awaited; null: none is. */
  get awaits(): Slot | null {
    return this.awaited;
  }

  /** Behind the adoption at the slot. */
  begin(slot: Slot): void {
    this.stopWaiting();
    this.awaited = slot;
    this.onChange(slot);
    this.stopWaiting = this.timers.after(holdMsMax, () => {
      this.logger.warn(
        { slot },
        'answers are told though this replica keeps no copy yet of the database that all go on from',
      );
      this.end();
    });
  }

  kept(slot: Slot): void {
    if (this.awaited !== null && slot >= this.awaited) this.end();
  }

  /** Tells at once where nothing is awaited. */
  pass(tell: () => void, drop: () => void): void {
    if (this.awaited === null) tell();
    else this.held.push({ tell, drop });
  }

  /** The database is there no more, nor what it has answered. */
  drop(): void {
    this.stopWaiting();
    this.awaited = null;
    for (const { drop } of this.held.splice(0)) drop();
  }

  private end(): void {
    this.stopWaiting();
    this.awaited = null;
    this.onChange(null);
    for (const { tell } of this.held.splice(0)) tell();
  }
}
