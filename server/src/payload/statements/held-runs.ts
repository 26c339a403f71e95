/**
 * Ends a request that lasts too long, or cannot be executed, at all replicas or at none.
 *
 * What one replica has finished, and answered for, cannot be undone at it. So a request fails only where no replica has finished it, and none will: each of them gives its run up and says so in the log ("hold"); it fails when all have. Whoever
 * has finished it already says "go on", and so does whoever waits for one that is away; the first of both in the log counts. Who has given a run up starts its database anew, since what a half of it has left cannot be told (sequences,
 * what it has committed by itself), comes back to the run, and does there what the log says: fails it without running it, or runs it again, and gives it up later than before.
 *
 * Responsible for: when a run is given up, and what becomes of it. Invariants: what this replica may have finished, in whichever life, it does not give up; what it has given up it does not finish without a word from the log, in no life.
 */
import type { Logger } from 'pino';
import type { Entry, SlotEntry } from '../../multipaxos/types/entries.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { Timers } from '../../ports/clock.ts';
import { pause } from '../pause.ts';
import { MachineError } from './machine-errors.ts';
import { decodeOperation, isOfRuns, keyOf, type Operation } from './operation.ts';
import {
  type GoOnOperation,
  type HoldOperation,
  isAtOrBehind,
  isSamePlace,
  type Place,
  RunTally,
  textOfRun,
  type RunName,
  type RunVerdict,
} from './run-name.ts';

export interface Run extends Place {
  readonly session: string;
  readonly seq: number;
}

/** Given up here. `verdict` null: the log has not said yet. */
export interface HeldRun {
  readonly run: RunName;
  readonly session: string;
  readonly seq: number;
  readonly verdict: RunVerdict | null;
}

/** Survives a crash. `at`: a run that lasts: nothing from there on was finished. */
export interface RunRecord {
  readonly held: readonly HeldRun[];
  readonly at: Place | null;
}

export const noRuns: RunRecord = { held: [], at: null };

export interface HeldRunsOptions {
  readonly self: string;
  /** All of the group. */
  readonly replicas: readonly string[];
  readonly record: RunRecord;
  /** Resolves when it is durable. */
  readonly write: (record: RunRecord) => Promise<void>;
  /** As this replica found its log: up to there it may have finished everything in an earlier life. */
  readonly endOfLog: Slot;
  readonly longestMs: number;
  readonly timers: Timers;
  readonly log: {
    /** What is at or below stays in every log. */
    readonly settledTo: Slot;
    readChosen(from: Slot, to: Slot, bytesMax: number): Promise<readonly Entry[]>;
  };
  /** Nothing is done while it is on its way. */
  readonly submit: (key: string, operation: Operation) => void;
  /** All others can be heard: nothing is given up in vain. */
  readonly isWhole: () => boolean;
  readonly logger: Logger;
}

interface Running {
  readonly run: Run;
  readonly round: number;
  readonly sinceMs: number;
  readonly giveUp: (error: Error) => void;
  isMarked: boolean;
  isHeld: boolean;
  /** Its client wants its end: most say so once. */
  isUnwanted: boolean;
}

const lookMs = 200;
/** From then on it is durably known that a run lasts. */
const lastsMs = 1_000;
/** A client's cancel gives a run up that has lasted so long: it costs more than to wait a little. */
const cancelMs = 10_000;
/** So long the word of one that is away is waited for. */
const awayMs = 30_000;
const growth = 4;
/** So often a request may end PostgreSQL, or be too much for what executes it, before it is given up: once it may have been the system's doing. */
const failuresMax = 2;
const roundsMax = 100;
const readBytesMax = 1024 * 1024;
const keptMax = 200;
const seenMax = 100;

/** The executor begins again, with a database that is started anew. */
export class RunHeldError extends Error {
  override readonly name = 'RunHeldError';
}

export class HeldRuns {
  private readonly options: HeldRunsOptions;
  private record: RunRecord;
  private standing: Slot | null = null;
  private running: Running | null = null;
  /** The run that could not be executed last, and how often in a row. */
  private failed: { readonly run: Run; readonly times: number } | null = null;
  /** In this life of the replica. */
  private finished: Place = { slot: 0, turn: 0 };
  /** In this one, or in one before. */
  private mayBeFinished: Place;
  /** What others hold, and this replica has not come to. */
  private readonly seen = new Map<string, HoldOperation>();
  private writing: Promise<void> = Promise.resolve();
  private readonly stopLooking: () => void;

  constructor(options: HeldRunsOptions) {
    this.options = options;
    this.record = options.record;
    const { at } = this.record;
    this.mayBeFinished =
      at === null
        ? { slot: options.endOfLog, turn: Number.POSITIVE_INFINITY }
        : { slot: at.slot, turn: at.turn - 1 };
    this.stopLooking = options.timers.every(lookMs, () => this.look());
  }

  /** The database has everything up to the slot. False: also what this replica had given up, so that it cannot be gone on from. `isCopy`: of a replica that knew better. */
  async startsAt(slot: number, isCopy: boolean): Promise<boolean> {
    this.running = null;
    const isOpen = ({ run, verdict }: HeldRun): boolean => verdict === null && run.slot <= slot;
    const { held, at } = this.record;
    if (!isCopy && held.some(isOpen)) return false;
    const left = held.filter((one) => !isOpen(one));
    const isPast = at !== null && at.slot <= slot;
    if (left.length < held.length || isPast) await this.write({ held: left, at: isPast ? null : at });
    for (const [name, { run }] of this.seen) if (run.slot <= slot) this.seen.delete(name);
    this.note({ slot, turn: Number.POSITIVE_INFINITY });
    return true;
  }

  /** Ahead of a run: whether it is to be run at all. Waits for the log where it was given up. `signal`: nobody waits any more. */
  async ahead(run: Run, signal: AbortSignal): Promise<RunVerdict> {
    const failures = this.failuresOf(run);
    if (this.record.held.length === 0 && this.seen.size === 0 && failures === 0) return 'goesOn';
    await this.forgetOthers(run);
    let last = this.lastOf(run);
    const round = last === undefined ? 0 : last.run.round + 1;
    const isFree = last === undefined || last.verdict === 'goesOn';
    const others = this.seen.get(textOfRun({ slot: run.slot, turn: run.turn, round }));
    const isHeldByOthers = others !== undefined && isOf(others, run);
    const failsTooOften = failures >= failuresMax * growth ** round && this.options.isWhole();
    if (isFree && (isHeldByOthers || failsTooOften) && round <= roundsMax && !this.isPerhapsFinished(run)) {
      if (failsTooOften)
        this.options.logger.warn(
          { run, failures },
          'a request crashes PostgreSQL each time; this replica gives it up',
        );
      last = await this.promise(run, round);
    }
    if (last === undefined) return 'goesOn';
    return last.verdict ?? (await this.decided(last, signal));
  }

  /** @throws RunHeldError: it lasts too long, and is given up; `work` may be under way yet */
  async within<T>(run: Run, work: Promise<T>): Promise<T> {
    let giveUp: (error: Error) => void = () => undefined;
    const promise = new Promise<never>((_, reject) => {
      giveUp = reject;
    });
    promise.catch(() => undefined);
    work.catch(() => undefined);
    const last = this.record.held.length === 0 ? undefined : this.lastOf(run);
    const round = last === undefined ? 0 : last.run.round + 1;
    const sinceMs = this.options.timers.nowMs();
    const running: Running = {
      run,
      round,
      sinceMs,
      giveUp,
      isMarked: false,
      isHeld: false,
      isUnwanted: false,
    };
    this.running = running;
    try {
      const result = await Promise.race([work, promise]);
      if (running.isHeld) await promise;
      const { at } = this.record;
      if (running.isMarked || (at !== null && isAtOrBehind(run, at)))
        await this.write({ ...this.record, at: null });
      this.finished = isAtOrBehind(run, this.finished) ? run : this.finished;
      this.note(run);
      return result;
    } catch (error) {
      // Of the machine, and counted elsewhere (machine-errors.ts): it tells nothing of the request.
      if (!running.isHeld && !(error instanceof MachineError)) await this.noteFailure(run);
      throw error;
    } finally {
      if (this.running === running) this.running = null;
    }
  }

  /** Nobody was answered: whatever of it is in the database is found when that is gone on from, and behind a restart of this replica it may still be given up. */
  private async noteFailure(run: Run): Promise<void> {
    this.failed = { run, times: this.failuresOf(run) + 1 };
    const { slot, turn } = run;
    if (!this.isPerhapsFinished(run)) await this.write({ ...this.record, at: { slot, turn } });
  }

  private failuresOf(run: Run): number {
    const { failed } = this;
    return failed !== null && isSamePlace(failed.run, run) && isOf(failed.run, run) ? failed.times : 0;
  }

  /** A client wants the end of what its session is at. */
  cancel(session: string): void {
    const { running } = this;
    if (running === null || running.run.session !== session) return;
    running.isUnwanted = true;
    this.look();
  }

  chosen(entries: readonly SlotEntry[]): void {
    for (const { entry } of entries) {
      if (entry.kind !== 'command' || !isOfRuns(entry.payload)) continue;
      const operation = decodeOperation(entry.payload);
      if (operation.kind === 'hold') this.heard(operation);
    }
  }

  /** In its turn: everything ahead of it is finished, or has failed. */
  executed(operation: HoldOperation | GoOnOperation): void {
    if (operation.kind !== 'hold') return;
    this.seen.delete(textOfRun(operation.run));
    if (operation.replica !== this.options.self) this.release(operation);
  }

  /** This replica comes to nothing behind the slot before it has another's copy, whose run may wait for this one's word: it gives up what it hears of at once. Null: it goes on. */
  standsAheadOf(slot: Slot | null): void {
    this.standing = slot;
    if (slot !== null) for (const operation of this.seen.values()) this.giveUpAhead(operation);
  }

  stop(): void {
    this.stopLooking();
  }

  private giveUpAhead({ run, session, seq }: HoldOperation): void {
    if (this.standing === null || run.slot <= this.standing) return;
    const { slot, turn, round } = run;
    const isHeld = this.record.held.some((one) => textOfRun(one.run) === textOfRun(run));
    if (isHeld || this.isPerhapsFinished(run)) return;
    this.promise({ slot, turn, session, seq }, round).catch((error: unknown) => {
      this.options.logger.warn({ err: error, run }, 'a request could not be given up here');
    });
  }

  private heard(operation: HoldOperation): void {
    const { running, options } = this;
    const { run, replica } = operation;
    if (replica === options.self) return;
    const isRunning = running !== null && isSamePlace(running.run, run) && running.round === run.round;
    if (isAtOrBehind(this.finished, run)) this.release(operation);
    else if (isRunning && isOf(operation, running.run))
      this.hold(running, options.timers.nowMs() - running.sinceMs);
    else {
      if (this.seen.size < seenMax) this.seen.set(textOfRun(run), operation);
      this.giveUpAhead(operation);
    }
  }

  /** This replica does not give up what it has finished. */
  private release({ run }: HoldOperation): void {
    const own = this.record.held.some((one) => textOfRun(one.run) === textOfRun(run));
    if (!own) this.submit({ kind: 'goOn', run });
  }

  private look(): void {
    const { timers, longestMs, isWhole, self } = this.options;
    for (const { run, session, seq, verdict } of this.record.held)
      if (verdict === null) this.submit({ kind: 'hold', run, session, seq, replica: self });
    const { running } = this;
    if (running === null || running.isHeld || this.isPerhapsFinished(running.run)) return;
    const ms = timers.nowMs() - running.sinceMs;
    if (ms >= lastsMs && !running.isMarked) {
      running.isMarked = true;
      const { slot, turn } = running.run;
      this.write({ ...this.record, at: { slot, turn } }).catch((error: unknown) =>
        running.giveUp(asError(error)),
      );
    }
    const boundMs = running.isUnwanted ? cancelMs : longestMs * growth ** running.round;
    if (ms >= boundMs && isWhole()) this.hold(running, ms);
  }

  /** From here on its end does not count. */
  private hold(running: Running, ms: number): void {
    const { run, round } = running;
    if (running.isHeld || round > roundsMax || this.isPerhapsFinished(run)) return;
    running.isHeld = true;
    const seconds = Math.round(ms / 1000);
    this.options.logger.warn({ run, round, seconds }, 'a request lasts too long, and is given up here');
    this.promise(run, round).then(
      () =>
        running.giveUp(
          new RunHeldError(`a request has lasted ${seconds} s at slot ${run.slot}, and was given up`),
        ),
      (error: unknown) => running.giveUp(asError(error)),
    );
  }

  private async promise({ slot, turn, session, seq }: Run, round: number): Promise<HeldRun> {
    const held: HeldRun = { run: { slot, turn, round }, session, seq, verdict: null };
    await this.write({ ...this.record, held: [...this.record.held, held].slice(-keptMax) });
    this.submit({ kind: 'hold', run: held.run, session, seq, replica: this.options.self });
    return held;
  }

  private async decided(held: HeldRun, signal: AbortSignal): Promise<RunVerdict> {
    const { replicas, log, timers, logger, isWhole } = this.options;
    const tally = new RunTally(held.run, replicas);
    let heardMs = timers.nowMs();
    let next = (held.run.slot + 1) as Slot;
    for (;;) {
      while (tally.verdict === null && next <= log.settledTo) {
        const entries = await log.readChosen(next, log.settledTo, readBytesMax);
        if (entries.length === 0)
          throw new Error('the log has let go of what follows a run that was given up');
        for (const entry of entries) if (entry.kind === 'command') takeInto(tally, entry.payload);
        next = (next + entries.length) as Slot;
      }
      if (tally.verdict !== null) break;
      if (isWhole()) heardMs = timers.nowMs();
      if (timers.nowMs() - heardMs >= awayMs) this.submit({ kind: 'goOn', run: held.run });
      await pause(timers, lookMs / 4, signal);
      if (signal.aborted) throw new Error('the executor was stopped');
    }
    const { verdict } = tally;
    const decided = this.record.held.map((one) => (one.run === held.run ? { ...one, verdict } : one));
    await this.write({ ...this.record, held: decided });
    logger.warn(
      { run: held.run, verdict },
      'the replicas have agreed on the outcome of a request that was given up',
    );
    return verdict;
  }

  /** Of another log, which took the place of this one: there, another request ran at this place. */
  private async forgetOthers(run: Run): Promise<void> {
    const { held } = this.record;
    const left = held.filter((one) => !isSamePlace(one.run, run) || isOf(one, run));
    if (left.length < held.length) await this.write({ ...this.record, held: left });
  }

  private lastOf(run: Place): HeldRun | undefined {
    return this.record.held.findLast((one) => isSamePlace(one.run, run));
  }

  private isPerhapsFinished(run: Place): boolean {
    return isAtOrBehind(this.mayBeFinished, run);
  }

  private note(place: Place): void {
    if (isAtOrBehind(place, this.mayBeFinished)) this.mayBeFinished = place;
  }

  private submit(operation: HoldOperation | GoOnOperation): void {
    this.options.submit(keyOf(operation), operation);
  }

  /** One after another: the last that was asked for is what stays. */
  private write(record: RunRecord): Promise<void> {
    this.record = record;
    this.writing = this.writing.catch(() => undefined).then(() => this.options.write(record));
    return this.writing;
  }
}

function isOf(one: { readonly session: string; readonly seq: number }, run: Run): boolean {
  return one.session === run.session && one.seq === run.seq;
}

function takeInto(tally: RunTally, payload: Uint8Array): void {
  if (!isOfRuns(payload)) return;
  const operation = decodeOperation(payload);
  if (operation.kind === 'hold' || operation.kind === 'goOn') tally.take(operation);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
