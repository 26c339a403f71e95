/**
 * Sessions that this replica's clients had in an earlier life of it: nobody comes back to them, and what they hold others wait for. They are closed at all replicas before it opens new ones, without waiting until it has executed everything again.
 *
 * Responsible for: having that agreed on, once for each life. What comes of a session whose client is lost later is session-sweep.ts. Invariant: no session of this life is ordered ahead of it.
 */
import { pause } from '../../payload/pause.ts';
import type { CloseAllOperation } from '../../payload/statements/operation.ts';
import type { Timers } from '../../ports/clock.ts';

export interface EarlierOptions {
  readonly prefix: string;
  /** 32 hexadecimal digits. */
  readonly name: string;
  readonly timers: Pick<Timers, 'after'>;
  /** True: it is executed here. False: that is not known. */
  readonly submit: (operation: CloseAllOperation) => Promise<boolean>;
}

const againMs = 1_000;
/** So long a client waits that wants a session. */
const waitMs = 15_000;

export class EarlierSessions {
  isOver = false;
  private readonly options: EarlierOptions;
  private readonly stopped = new AbortController();
  private readonly over = new AbortController();

  constructor(options: EarlierOptions) {
    this.options = options;
  }

  /** There are none: this is its first life. */
  none(): void {
    this.isOver = true;
    this.over.abort();
  }

  /** Ends when they are closed, or by `stop`. Never rejects. */
  async close(): Promise<void> {
    const { prefix, name, timers, submit } = this.options;
    const { signal } = this.stopped;
    while (!signal.aborted && !(await submit({ kind: 'closeAll', name, prefix })))
      await pause(timers, againMs, signal);
    if (!signal.aborted) this.none();
  }

  /** Until they are, or for as long as a client waits. */
  async whenOver(): Promise<void> {
    if (!this.isOver) await pause(this.options.timers, waitMs, this.over.signal);
  }

  stop(): void {
    this.stopped.abort();
  }
}
