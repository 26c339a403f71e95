/**
 * When a replica makes a copy of its own database, to go on from there when it must.
 *
 * Responsible for: the pace, one at a time, and the moment without open transactions at which a copy is of one slot. How it is made is the adapters' business (ports/kept-copy.ts).
 * Invariants: what is executed again after a stop is bounded by what was executed since the copy, or since it went further, some minutes of work at most where copies can be made; either takes a twentieth of the time at most; a copy is kept only of slots that stay in every log.
 */
import type { Logger } from 'pino';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { Resting } from '../../payload/statements/statements-payload.ts';
import type { Timers } from '../../ports/clock.ts';
import type { BegunCopy, CopyMaker } from '../../ports/kept-copy.ts';

export interface KeeperOptions {
  readonly maker: CopyMaker;
  readonly timers: Pick<Timers, 'nowMs' | 'every' | 'after'>;
  readonly logger: Logger;
  /** What is executed up to the slot is the same in every log for good. */
  readonly isSettled: (slot: Slot) => boolean;
  /** Wakes whoever is to find a moment of rest. */
  readonly wake: () => void;
  /** None has come by itself. */
  readonly askForRest: () => void;
  /** The log cannot be held much longer for the copy that is kept. */
  readonly isLogFilling: () => boolean;
  readonly onKept: (slot: Slot) => void;
  readonly paces?: Partial<Paces>;
}

export interface Paces {
  /** Statements have been executed for so long, and there is none. */
  readonly firstAfterBusyMs: number;
  /** Since the last one. */
  readonly afterBusyMs: number;
  /** Where the last one can go further. */
  readonly furtherAfterBusyMs: number;
  /** And for so many times as long as the last one took to make. */
  readonly timesCost: number;
  /** So long a moment of rest may come by itself, for one and for going further. */
  readonly restAskedMs: number;
  readonly furtherAskedMs: number;
  /** So long it is waited for at all. */
  readonly restMsMax: number;
  /** So much that would be executed again after a stop is worth the end of what keeps a moment of rest from coming. */
  readonly pressedAfterBusyMs: number;
  /** After one that came to nothing, and after going further did. */
  readonly againMs: number;
  readonly furtherAgainMs: number;
}

export const usualPaces: Paces = {
  firstAfterBusyMs: 3_000,
  afterBusyMs: 15_000,
  furtherAfterBusyMs: 3_000,
  timesCost: 20,
  restAskedMs: 2_000,
  furtherAskedMs: 8_000,
  restMsMax: 30_000,
  pressedAfterBusyMs: 120_000,
  againMs: 60_000,
  furtherAgainMs: 5_000,
};
const lookMs = 1_000;
const settleLookMs = 50;
const owedAskedMs = 100;
/** Whoever waits for a copy asks more often. */
const wantedMs = 30_000;

/** What an attempt lacked: a moment of rest, the certainty that its slot stays in every log, or something else. */
type Lack = 'rest' | 'settled' | 'other';

export class CopyKeeper implements Resting {
  private readonly options: KeeperOptions;
  private readonly paces: Paces;
  private readonly stopLooking: () => void;
  private busyMs = 0;
  /** What was executed since the slot of the copy that is kept took so long. */
  private sinceKeptMs = 0;
  private readonly costMs = { whole: 0, further: 0 };
  private notBeforeMs = 0;
  /** One that is under way. Never rejects. */
  private making: Promise<void> | null = null;
  private unwanted = new AbortController();
  /** Resolves `rested` with the slot. */
  private awaited: { readonly copy: BegunCopy; readonly done: (slot: Slot | Error | null) => void } | null =
    null;
  private isStopped = false;
  /** When somebody else has asked for one last. */
  private wantedAtMs = Number.NEGATIVE_INFINITY;
  /** Why the last attempt came to nothing. */
  private lacked: Lack | null = null;
  /** Of the database that is in use. */
  private isUp = false;
  /** Answers wait for a copy of this slot or above. */
  private owed: Slot | null = null;

  constructor(options: KeeperOptions) {
    this.options = options;
    this.paces = { ...usualPaces, ...options.paces };
    this.stopLooking = options.timers.every(lookMs, () => this.look());
  }

  /** The database in use came up. */
  up(): void {
    this.isUp = true;
    const resumed = (this.making ?? Promise.resolve())
      .then(() => this.resume())
      .finally(() => {
        if (this.making === resumed) this.making = null;
      });
    this.making = resumed;
  }

  /** Never rejects. */
  private async resume(): Promise<void> {
    const { maker, logger } = this.options;
    try {
      await maker.resume();
    } catch (error) {
      logger.debug({ err: error }, 'the copy of its own database goes no further');
    }
    if (!this.isUp) maker.lost();
  }

  /** It is there no more: what was begun comes to nothing. */
  down(): void {
    this.isUp = false;
    this.owed = null;
    this.unwanted.abort();
    this.awaited?.done(null);
    this.options.maker.lost();
  }

  /** The database in use, and the copy that is kept, are about to be replaced: when it resolves nothing reads or writes either. */
  async cleared(): Promise<void> {
    this.down();
    await this.making;
  }

  /** Something was executed, and took so long. */
  executed(ms: number): void {
    this.busyMs += ms;
    this.sinceKeptMs += ms;
  }

  /** A moment of rest must come, whatever has to be ended for it: none came by itself, and without a copy the log fills up, another replica has no database, or this one would take long to come back. */
  get isPressed(): boolean {
    const { timers, isLogFilling } = this.options;
    const isWanted = timers.nowMs() - this.wantedAtMs < wantedMs;
    const takesLong = this.sinceKeptMs > this.paces.pressedAfterBusyMs;
    if (this.owed !== null && this.lacked !== 'other') return true;
    return this.lacked === 'rest' && (isWanted || isLogFilling() || takesLong);
  }

  /** For another reason than that no moment of rest came. */
  get cannotKeep(): boolean {
    return this.lacked === 'other';
  }

  get isAwaited(): boolean {
    return this.awaited !== null;
  }

  async reached(slot: Slot): Promise<void> {
    const { awaited } = this;
    if (awaited === null) return;
    try {
      await awaited.copy.atRest(slot);
      awaited.done(slot);
    } catch (error) {
      this.options.logger.warn({ err: error }, 'where the copy that is kept stands could not be told');
      awaited.done(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** At once, and whatever has to be ended for it: nothing is acknowledged before. Null: no more. */
  owe(slot: Slot | null): void {
    this.owed = slot;
    if (slot === null) return;
    this.lacked = null;
    this.notBeforeMs = 0;
    this.look();
  }

  /** Soon, and whatever the pace: somebody wants one. */
  hurry(): void {
    this.wantedAtMs = this.options.timers.nowMs();
    this.busyMs = Number.POSITIVE_INFINITY;
    this.look();
  }

  private look(): void {
    const { maker, timers } = this.options;
    const { firstAfterBusyMs, afterBusyMs, furtherAfterBusyMs, timesCost } = this.paces;
    // It may have gone to sleep just before.
    if (this.awaited !== null) this.options.wake();
    if (this.making !== null || this.isStopped || !this.isUp) return;
    const kind = maker.canGoFurther ? 'further' : 'whole';
    const wholeAfterMs = maker.hasCopy ? afterBusyMs : firstAfterBusyMs;
    const afterMs = kind === 'further' ? furtherAfterBusyMs : wholeAfterMs;
    // A log that fills up waits for no pace.
    const isUrgent = this.isPressed || this.options.isLogFilling();
    if (!isUrgent && this.busyMs < Math.max(afterMs, timesCost * this.costMs[kind])) return;
    if (timers.nowMs() < this.notBeforeMs) return;
    this.unwanted = new AbortController();
    const made = this.make(kind, this.unwanted.signal).finally(() => {
      if (this.making === made) this.making = null;
    });
    this.making = made;
  }

  /** Never rejects. */
  private async make(kind: 'whole' | 'further', signal: AbortSignal): Promise<void> {
    const { maker, timers, logger, onKept } = this.options;
    const beganAtMs = timers.nowMs();
    const busyBefore = this.busyMs;
    let copy: BegunCopy | null = null;
    let failure: Lack = 'other';
    try {
      copy = kind === 'further' ? await maker.further() : await maker.begin(signal);
      // A whole one is next, at its own pace.
      if (copy === null) return;
      let workMs = timers.nowMs() - beganAtMs;
      const slot = await this.rested(copy, kind);
      if (slot instanceof Error) throw slot;
      failure = slot === null ? 'rest' : 'settled';
      if (slot === null) throw new Error('no moment without open transactions');
      if (!(await this.settled(slot))) throw new Error(`slot ${slot} may be taken back yet`);
      failure = 'other';
      const sinceKeptBefore = this.sinceKeptMs;
      const restedAtMs = timers.nowMs();
      const made = await copy.complete();
      workMs += timers.nowMs() - restedAtMs;
      this.costMs[kind] = workMs;
      this.busyMs = Number.isFinite(busyBefore) ? Math.max(0, this.busyMs - busyBefore) : 0;
      const told = { ...made, ms: Math.round(workMs) };
      if (kind === 'whole') logger.info(told, 'a copy of its own database is kept');
      else logger.debug(told, 'the copy of its own database went further');
      this.lacked = null;
      if (this.owed !== null && slot >= this.owed) this.owed = null;
      this.sinceKeptMs -= sinceKeptBefore;
      this.wantedAtMs = Number.NEGATIVE_INFINITY;
      onKept(slot);
    } catch (error) {
      if (!signal.aborted) this.lacked = failure;
      const { againMs, furtherAgainMs } = this.paces;
      const isSoon = kind === 'further' || this.isPressed;
      this.notBeforeMs = timers.nowMs() + (isSoon ? furtherAgainMs : againMs);
      await copy?.giveUp().catch(() => undefined);
      if (!this.isStopped) logger.warn({ err: error }, 'no copy of its own database could be made');
    }
  }

  private rested(copy: BegunCopy, kind: 'whole' | 'further'): Promise<Slot | Error | null> {
    const { timers, wake, askForRest } = this.options;
    const { restAskedMs, furtherAskedMs, restMsMax } = this.paces;
    const askedMs = kind === 'further' ? furtherAskedMs : restAskedMs;
    if (!this.isUp || this.isStopped) return Promise.resolve(null);
    return new Promise((resolve) => {
      const done = (slot: Slot | Error | null): void => {
        stop();
        stopAsking();
        this.awaited = null;
        resolve(slot);
      };
      const stop = timers.after(restMsMax, () => done(null));
      const stopAsking = timers.every(this.owed === null ? askedMs : owedAskedMs, askForRest);
      this.awaited = { copy, done };
      wake();
    });
  }

  private async settled(slot: Slot): Promise<boolean> {
    const { timers, isSettled } = this.options;
    const untilMs = timers.nowMs() + this.paces.restMsMax;
    while (!isSettled(slot)) {
      if (this.isStopped || !this.isUp || timers.nowMs() > untilMs) return false;
      await new Promise<void>((resolve) => {
        timers.after(settleLookMs, () => resolve());
      });
    }
    return true;
  }

  stop(): void {
    this.isStopped = true;
    this.stopLooking();
    this.unwanted.abort();
    this.awaited?.done(null);
    this.options.maker.lost();
  }
}
