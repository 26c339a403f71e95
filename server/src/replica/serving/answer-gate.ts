/**
 * Whether what PostgreSQL has answered may leave: only while this replica is certainly the leader, and only if nothing that is not chosen can have been seen.
 *
 * Responsible for: the check that every answer passes after it was read, and for holding answers back behind a barrier when PostgreSQL has ended a commit's wait early, or when a session is not trusted to wait. Spec: AnswerRead,
 * EndWait and Barrier of OrderedApply.tla; MayAnswer of Lease.tla.
 *
 * Why it is enough: a transaction becomes visible in PostgreSQL only after its wait has ended. Ended by this replica's report, it is chosen. Ended otherwise, PostgreSQL has said so before (endedWaits), or its main
 * process has died (isAlive), or the session had turned the wait off (distrust). So an answer that was read before a check that finds none of it has seen nothing that is not chosen. A barrier is a commit: when it is chosen
 * everything that was visible when it began is chosen, too.
 */
import type { ApplyTraceEvent } from '../../api/events.ts';
import type { WalPosition } from '../../wal/position.ts';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import type { DatabaseServer } from '../../ports/database-server.ts';
import type { ToldAnswers } from './told-answers.ts';

export interface AnswerGateOptions {
  /** At this time of this replica's clock. */
  readonly leaseHeld: (nowMs: number) => boolean;
  readonly told: Pick<ToldAnswers, 'leaves' | 'refused'>;
  readonly server: Pick<DatabaseServer, 'isAlive' | 'endedWaits'>;
  /** A commit of Barista's own: resolves when it is chosen, and not when something else ends its wait. @throws Error if PostgreSQL is away */
  readonly barrier: () => Promise<void>;
  /** What the log comes to here; null: there is no database. */
  readonly position: () => Pick<WalPosition, 'slot' | 'end'> | null;
  readonly onEvent: (event: ApplyTraceEvent) => void;
  readonly timers: Pick<Timers, 'after' | 'nowMs'>;
  readonly leasePollMs: number;
}

export class AnswerGate {
  private readonly options: AnswerGateOptions;
  /** Waits that were ended early, up to which everything is chosen by now. */
  private cleared = -1;
  /** An event has told that answers are held because a wait was ended, and none that they go on. */
  private isShut = false;
  /** One for each reason. */
  private distrusted = new Set<object>();
  private running: Promise<void> | null = null;
  private next: Promise<void> | null = null;

  constructor(options: AnswerGateOptions) {
    this.options = options;
  }

  /** Answers of another PostgreSQL, or of another leadership, from now on. */
  renew(): void {
    this.cleared = -1;
    this.isShut = false;
    // The sessions of before are gone.
    this.distrusted.clear();
  }

  /** True if what was read before this call, by a session of this generation, may leave now. */
  isOpen(generation: number): boolean {
    const nowMs = this.options.timers.nowMs();
    if (!this.isSafe(generation, nowMs) || !this.isTrusted()) return false;
    this.options.told.leaves({ generation, ranMs: nowMs, nowMs });
    return true;
  }

  /** This replica is certainly the leader, and PostgreSQL the one that it was. */
  private isSafe(generation: number, nowMs: number): boolean {
    const { leaseHeld, server, told } = this.options;
    if (leaseHeld(nowMs)) return server.isAlive();
    told.refused(generation, nowMs);
    return false;
  }

  private isTrusted(): boolean {
    const { server } = this.options;
    return this.distrusted.size === 0 && server.endedWaits() === this.cleared;
  }

  /** Every answer waits for a barrier, until the function that is returned is called, or until `renew`. */
  distrust(): () => void {
    const reason = {};
    this.distrusted.add(reason);
    return () => void this.distrusted.delete(reason);
  }

  /** Resolves true once what was read before this call, by a session of this generation, may leave; false as soon as `isOver`. */
  async pass(generation: number, isOver: () => boolean): Promise<boolean> {
    const { server, timers, leasePollMs } = this.options;
    const ranMs = timers.nowMs();
    const maySay = (): boolean => {
      const nowMs = timers.nowMs();
      if (!this.isSafe(generation, nowMs)) return false;
      this.options.told.leaves({ generation, ranMs, nowMs });
      return true;
    };
    while (!isOver()) {
      const seen = server.endedWaits();
      if (this.distrusted.size > 0 || seen !== this.cleared) {
        if (!(await this.barrier(seen))) {
          await pause(timers, leasePollMs);
          continue;
        }
        this.cleared = Math.max(this.cleared, seen);
        // What comes from now on is looked at again; what was read before the barrier began may leave.
        if (!isOver() && maySay()) return true;
      } else if (maySay()) return true;
      await pause(timers, leasePollMs);
    }
    return false;
  }

  /** One that begins after this call; false if it could not be passed. Many wait for the same one. */
  private async barrier(seen: number): Promise<boolean> {
    if (!this.isShut && this.cleared !== -1 && seen !== this.cleared) {
      this.isShut = true;
      this.options.onEvent({ name: 'EndWait' });
    }
    try {
      await this.afterNow();
      return true;
    } catch {
      // PostgreSQL is away: the end of the generation is near.
      return false;
    }
  }

  /** Resolves when everything that is visible now is chosen. @throws Error if PostgreSQL is away */
  afterNow(): Promise<void> {
    if (this.running === null) return this.begin();
    this.next ??= this.running.then(
      () => this.begin(),
      () => this.begin(),
    );
    return this.next;
  }

  private begin(): Promise<void> {
    this.next = null;
    const seen = this.options.server.endedWaits();
    const running = this.options
      .barrier()
      .then(() => this.passed(seen))
      .finally(() => {
        if (this.running === running) this.running = null;
      });
    this.running = running;
    return running;
  }

  /** A barrier, before which so many waits had been ended. */
  private passed(seen: number): void {
    const { server, position, onEvent } = this.options;
    const opens = this.isShut && server.endedWaits() === seen;
    if (opens) this.isShut = false;
    const at = position();
    if (at !== null) onEvent({ name: 'Barrier', slot: at.slot, position: at.end, opens });
  }
}
