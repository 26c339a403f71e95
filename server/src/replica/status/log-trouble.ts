/** What a replica whose log cannot be written says of it, and does: it does not lead until it can. */
import type { Logger } from 'pino';
import type { ReplicaEvents } from './events.ts';

export interface LogTroubleOptions {
  readonly events: ReplicaEvents;
  readonly logger: Logger;
  readonly stepDown: () => void;
}

export class LogTrouble {
  /** For people; null: it can be written. */
  reason: string | null = null;
  private readonly options: LogTroubleOptions;

  constructor(options: LogTroubleOptions) {
    this.options = options;
  }

  /** Null: it can be written again. */
  note(error: Error | null): void {
    const { events, logger, stepDown } = this.options;
    this.reason = error?.message ?? null;
    if (error === null) {
      events.operation({ name: 'LogResumed', reason: 'the log can be written again' });
      return;
    }
    logger.error({ err: error }, 'the log cannot be written; this replica does not vote until it can');
    events.operation({ name: 'LogFull', reason: error.message });
    stepDown();
  }
}
