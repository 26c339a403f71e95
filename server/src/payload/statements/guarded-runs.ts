/**
 * What surrounds each run at PostgreSQL: it may be given up, it needs disk space, and an error of this machine is not its answer.
 *
 * Responsible for: the run's name (slot and turn), and the order of these three. What a run does is the caller's.
 */
import type { Slot } from '../../multipaxos/types/names.ts';
import type { DiskRoom } from './disk-room.ts';
import type { HeldRuns, Run } from './held-runs.ts';
import type { MachineErrors } from './machine-errors.ts';
import type { SessionId } from './operation.ts';
import type { RequestRunner } from './request-runner.ts';
import type { GoOnOperation, HoldOperation } from './run-name.ts';

export interface GuardOptions {
  /** Ends what lasts too long; left out: nobody does. */
  readonly heldRuns?: Pick<HeldRuns, 'startsAt' | 'ahead' | 'within' | 'executed'>;
  /** What becomes of errors of this machine; left out: they are answers. */
  readonly machineErrors?: Pick<MachineErrors, 'judge'>;
  /** Ahead of each run, and while it lasts; left out: there is always room. */
  readonly room?: Pick<DiskRoom, 'awaited' | 'within'>;
}

/** `slot`: the operation's own, which is not that of the run where the request has waited. `digestOf`: of its answer; null: it has none yet. */
export interface Guarded<T> {
  readonly slot: number;
  readonly session: SessionId;
  readonly seq: number;
  readonly work: () => Promise<T>;
  readonly digestOf: (done: T) => string | null;
}

export class GuardedRuns {
  /** Behind a moment of rest runs have no names that a restart would know again: nothing is given up there. */
  isPastRest = false;
  private readonly options: GuardOptions;
  private readonly runner: RequestRunner;
  private readonly stopped = new AbortController();
  /** That is being executed, or was last. */
  private slot = 0 as Slot;
  /** Runs in this slot. */
  private turn = 0;

  constructor(options: GuardOptions, runner: RequestRunner) {
    this.options = options;
    this.runner = runner;
  }

  begin(slot: Slot): void {
    this.slot = slot;
    this.turn = 0;
  }

  /** Null: the run is given up, and was not begun. @throws MachineError, or as `work` */
  async run<T>({ slot, session, seq, work, digestOf }: Guarded<T>): Promise<{ readonly done: T } | null> {
    const run: Run = { slot: this.slot, turn: this.turn, session, seq };
    this.turn += 1;
    if ((await this.heldRuns?.ahead(run, this.stopped.signal)) === 'fails') return null;
    const noRoom = this.options.room?.awaited(this.stopped.signal) ?? null;
    if (noRoom !== null) await noRoom;
    return { done: await this.within(run, this.judged(run, slot, work(), digestOf)) };
  }

  executed(operation: HoldOperation | GoOnOperation): void {
    this.options.heldRuns?.executed(operation);
  }

  /** What is under way comes to nothing. */
  stop(): void {
    this.stopped.abort();
  }

  private get heldRuns(): GuardOptions['heldRuns'] {
    return this.isPastRest ? undefined : this.options.heldRuns;
  }

  private within<T>(run: Run, work: Promise<T>): Promise<T> {
    const { heldRuns } = this;
    const { room } = this.options;
    // What PostgreSQL says when it is stopped is nothing to go on from.
    const whole = work.then((result) => {
      if (this.stopped.signal.aborted) throw new Error('the executor was stopped');
      return result;
    });
    const withRoom = room === undefined ? whole : room.within(whole);
    return heldRuns === undefined ? withRoom : heldRuns.within(run, withRoom);
  }

  private async judged<T>(
    run: Run,
    slot: number,
    work: Promise<T>,
    digestOf: (done: T) => string | null,
  ): Promise<T> {
    const { runner } = this;
    runner.ofMachine = null;
    const done = await work;
    if (runner.ofMachine !== null)
      this.options.machineErrors?.judge(run, slot, digestOf(done), runner.ofMachine);
    return done;
  }
}
