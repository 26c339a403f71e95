/**
 * How far this replica is behind what is chosen, and what follows from that.
 *
 * Its clients' operations are executed at the other replicas at once, and their transactions hold locks there until the client has heard of it here and sends the next one. So one that lags lets nobody in, and one that lags far ends its
 * sessions. One that does not come nearer takes the copy of another replica, if that is quicker.
 * One that stands, at a request that another replica has executed, lets nobody in either, and ends its sessions when that lasts.
 * How far it lags is counted in operations, for a request that lasts holds up all replicas alike: each session has one operation under way, so that no more wait behind it than there are sessions.
 */
import type { Logger } from 'pino';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { ForeignProcess } from '../../payload/statements/executor.ts';
import type { Timers } from '../../ports/clock.ts';

export interface FoundCopy {
  readonly slot: Slot;
  readonly bytes: number;
}

export interface LaggingOptions {
  readonly timers: Pick<Timers, 'every' | 'nowMs'>;
  /** Null: nothing is executed here now. */
  readonly position: () => { readonly pointer: Slot; readonly commitPoint: Slot } | null;
  /** Another replica has executed everything up to there. */
  readonly endedElsewhere: () => Slot;
  /** Nothing is executed here for another reason. */
  readonly isHalted: () => boolean;
  /** Who keeps what is being executed waiting. Never rejects. */
  readonly blockedBy: () => Promise<readonly ForeignProcess[]>;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  /** Of the whole group, at most. */
  readonly sessionsMax: number;
  /** There is no other voter. */
  readonly isAlone: () => boolean;
  readonly endSessions: (reason: string) => void;
  /** One of another replica, of that slot or above; null: there is none now. */
  readonly findCopy: (atLeast: Slot) => Promise<FoundCopy | null>;
  /** A copy's, at most. */
  readonly bytesPerSecond: number;
  readonly takeCopy: (atLeast: Slot) => void;
}

const lookMs = 1_000;
/** A request that lasts so long here, and has ended elsewhere, lets nobody in. */
const standsMs = 3_000;
/** And ends sessions after so long. */
const standsLongMs = 30_000;
const slotsMin = 1_000;
/** Ends sessions at so many times what lets nobody in. */
const endsTimes = 3;
/** Is worth a copy. */
const farSlots = 10_000;
/** How fast it comes nearer is measured over so long. */
const measureMs = 30_000;
/** Nearer than that it comes by itself. */
const slowMs = 120_000;
/** Behind a search for a copy. */
const notAgainMs = 120_000;

export class Lagging {
  private readonly options: LaggingOptions;
  private readonly stopLooking: () => void;
  private readonly refusesAt: number;
  private isRefusing = false;
  /** PostgreSQL is being asked who blocks it. */
  private isAsking = false;
  private hasEnded = false;
  /** Ahead of the slot behind the pointer. `blockedBy` null: nobody was asked yet. */
  private stands: {
    readonly pointer: Slot;
    readonly sinceMs: number;
    blockedBy: readonly ForeignProcess[] | null;
    hasEnded: boolean;
  } | null = null;
  private measured: { readonly atMs: number; readonly lag: number; readonly commitPoint: Slot } | null = null;
  private notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(options: LaggingOptions) {
    this.options = options;
    this.refusesAt = slotsMin + 2 * options.sessionsMax;
    this.stopLooking = options.timers.every(lookMs, () => this.look());
  }

  /** Null: it may let clients in. */
  get whyNot(): string | null {
    const { standing } = this;
    if (standing !== null) return standing;
    // Nobody else waits for a group of one.
    const lag = this.options.isAlone() ? 0 : this.lag();
    this.isRefusing = lag > (this.isRefusing ? this.refusesAt / 2 : this.refusesAt);
    return this.isRefusing ? `this replica is ${lag} operations behind the group` : null;
  }

  stop(): void {
    this.stopLooking();
  }

  private lag(): number {
    const position = this.options.position();
    return position === null ? 0 : position.commitPoint - position.pointer;
  }

  /** For people; null: it goes on. */
  private get standing(): string | null {
    const { stands } = this;
    if (stands === null) return null;
    const ms = this.options.timers.nowMs() - stands.sinceMs;
    if (ms < standsMs) return null;
    const names = (stands.blockedBy ?? []).map(
      ({ pid, application }) => `process ${pid} (${application || 'no application_name'})`,
    );
    const blocked = names.length === 0 ? '' : `: ${names.join(', ')} of this PostgreSQL blocks it`;
    return `this replica has been at slot ${stands.pointer + 1} for ${Math.round(ms / 1000)} s, which others have executed${blocked}`;
  }

  private lookWhetherItStands(): void {
    const { timers, position, endedElsewhere, isHalted, endSessions, logger } = this.options;
    const at = position();
    const { stands } = this;
    // While its database is away, or started anew, it goes on standing.
    const isBehind = at === null ? stands !== null || isHalted() : endedElsewhere() > at.pointer;
    const pointer = at?.pointer ?? stands?.pointer ?? (0 as Slot);
    if (!isBehind || stands === null || stands.pointer !== pointer) {
      if (stands?.blockedBy != null) logger.info({ slot: pointer }, 'execution goes on');
      this.stands = isBehind ? { pointer, sinceMs: timers.nowMs(), blockedBy: null, hasEnded: false } : null;
      return;
    }
    const { standing } = this;
    if (standing === null) return;
    void this.askWhoBlocks(stands);
    if (stands.hasEnded || timers.nowMs() - stands.sinceMs < standsLongMs) return;
    stands.hasEnded = true;
    endSessions(standing);
  }

  /** Never rejects. */
  private async askWhoBlocks(stands: NonNullable<Lagging['stands']>): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    const isFirst = stands.blockedBy === null;
    stands.blockedBy ??= [];
    stands.blockedBy = await this.options.blockedBy();
    this.isAsking = false;
    const { blockedBy } = stands;
    if (isFirst && this.stands === stands)
      this.options.logger.warn({ slot: stands.pointer + 1, blockedBy }, this.standing ?? 'execution stands');
  }

  private look(): void {
    this.lookWhetherItStands();
    const lag = this.lag();
    const { whyNot } = this;
    if (whyNot === null) this.hasEnded = false;
    if (whyNot !== null && lag > endsTimes * this.refusesAt && !this.hasEnded) {
      this.hasEnded = true;
      this.options.endSessions(whyNot);
    }
    this.measure(lag);
  }

  private measure(lag: number): void {
    const { timers, position } = this.options;
    const nowMs = timers.nowMs();
    const now = position();
    if (now === null || lag < farSlots) {
      this.measured = null;
      return;
    }
    const { commitPoint } = now;
    this.measured ??= { atMs: nowMs, lag, commitPoint };
    const tookMs = nowMs - this.measured.atMs;
    if (tookMs < measureMs) return;
    const nearer = this.measured.lag - lag;
    const chosenPerMs = (commitPoint - this.measured.commitPoint) / tookMs;
    this.measured = { atMs: nowMs, lag, commitPoint };
    const leftMs = nearer > 0 ? (lag / nearer) * tookMs : Number.POSITIVE_INFINITY;
    if (leftMs > slowMs && nowMs >= this.notBeforeMs) void this.search(leftMs, chosenPerMs);
  }

  private async search(leftMs: number, chosenPerMs: number): Promise<void> {
    const { timers, position, findCopy, bytesPerSecond, takeCopy } = this.options;
    const now = position();
    if (now === null) return;
    this.notBeforeMs = timers.nowMs() + notAgainMs;
    const atLeast = Math.ceil((now.pointer + now.commitPoint) / 2) as Slot;
    const found = await findCopy(atLeast);
    if (found === null || position() === null) return;
    const takesMs = (found.bytes / bytesPerSecond) * 1000;
    // What is chosen meanwhile must be less than what the copy is ahead by.
    if (takesMs < leftMs && takesMs * chosenPerMs < found.slot - now.pointer) takeCopy(atLeast);
  }
}
