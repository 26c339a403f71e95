/**
 * Whether a PostgreSQL that is coming up, and says nothing yet, hangs. One that replays for long what it has in its directory says nothing, either, and is waited for.
 *
 * Responsible for: telling the two apart, by its main process and by what is done meanwhile. Where the system does not tell what is done, nothing but a stopped main process is a hang.
 */
import type { Timers } from '../../../ports/clock.ts';
import type { DatabaseServer } from '../../../ports/database-server.ts';
import type { LifeContext, LifeTimings } from './context.ts';

export interface StandstillOptions {
  readonly server: Pick<DatabaseServer, 'info' | 'isMoving' | 'workMark'>;
  readonly timers: Pick<Timers, 'nowMs'>;
  readonly timings: Pick<LifeTimings, 'hangMs' | 'pingMs' | 'standstillMs'>;
}

export class Standstill {
  private readonly options: StandstillOptions;
  private movedAtMs: number;
  private lookedAtMs: number;
  private mark: string | null = null;
  /** For how long nothing was done, as far as it was looked at. */
  private stoodMs = 0;

  constructor(options: StandstillOptions) {
    this.options = options;
    this.movedAtMs = options.timers.nowMs();
    this.lookedAtMs = this.movedAtMs;
  }

  /** To be called again and again. Why it is taken for one that hangs; null: it is not. */
  async look(): Promise<string | null> {
    const { server, timers, timings } = this.options;
    const nowMs = timers.nowMs();
    const sinceMs = nowMs - this.lookedAtMs;
    // Before it has a process, it cannot stand still.
    if (server.info().pid === null || server.isMoving()) this.movedAtMs = nowMs;
    if (nowMs - this.movedAtMs >= timings.hangMs)
      return 'PostgreSQL was stopped by a signal while it came up';
    if (sinceMs < timings.pingMs) return this.trouble;
    this.lookedAtMs = nowMs;
    const mark = await server.workMark();
    const stands = mark !== null && mark === this.mark;
    this.mark = mark;
    // A machine that was suspended has done nothing, either.
    this.stoodMs = stands ? this.stoodMs + Math.min(sinceMs, timings.standstillMs / 2) : 0;
    return this.trouble;
  }

  private get trouble(): string | null {
    const { standstillMs } = this.options.timings;
    return this.stoodMs < standstillMs
      ? null
      : `PostgreSQL has done nothing for ${standstillMs} ms while it came up`;
  }
}

/** A start that ends with the replica, and when PostgreSQL hangs: then this replica had better not lead. @throws LaunchError; why it was ended */
export async function startWatched<T>(
  { options, end, wishes }: LifeContext,
  start: (ended: AbortSignal) => Promise<T>,
): Promise<T> {
  const { timers, timings, host, onDown, logger } = options;
  const hung = new AbortController();
  const standstill = new Standstill(options);
  async function look(): Promise<void> {
    // What it lacks to come up is known: a start would go on asking for it.
    const reason = wishes.loss?.reason ?? (await standstill.look());
    if (reason === null || hung.signal.aborted) return;
    logger.error({ reason }, 'a start of PostgreSQL is given up');
    onDown(reason);
    hung.abort(new Error(reason));
    host.stepDown();
  }
  const stopLooking = timers.every(timings.pingMs, () => void look());
  try {
    return await start(AbortSignal.any([end.signal, hung.signal]));
  } finally {
    stopLooking();
  }
}
