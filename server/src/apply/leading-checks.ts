/**
 * The checks that a leader has chosen and not met yet: what is chosen above waits with its commit until everything below is in.
 *
 * Invariants: checks are met or given up in slot order; the first of them holds commits back for at most twice `waitMs` (once for what lies below,
 * once for the snapshot); after `stop` none holds anything back, and none is reported, for they are met again from the log.
 */
import type { Slot } from '../multipaxos/types.ts';
import { CommitGate, takeSnapshot, type VerifyHooks, type VerifyPoint } from './verify-point.ts';

export interface LeadingChecksOptions {
  readonly hooks: VerifyHooks;
  /** The slot of a check counts as applied. */
  readonly onMet: (slot: Slot) => void;
}

export class LeadingChecks {
  private readonly options: LeadingChecksOptions;
  private readonly gate = new CommitGate();
  private points: VerifyPoint[] = [];
  private pointer = 0 as Slot;
  private timer: NodeJS.Timeout | undefined;
  private meeting: Promise<void> | null = null;
  private halt = new AbortController();

  constructor(options: LeadingChecksOptions) {
    this.options = options;
  }

  chosen(check: string, slot: Slot): void {
    this.points.push({ check, slot });
    this.gate.close(slot);
    if (this.points.length === 1) this.startTimer();
  }

  /** Everything up to `pointer` is in. */
  reached(pointer: Slot): void {
    this.pointer = pointer;
    const [point] = this.points;
    if (point === undefined || this.meeting !== null || pointer !== point.slot - 1) return;
    clearTimeout(this.timer);
    const { halt } = this;
    this.meeting = takeSnapshot(this.options.hooks, point, halt.signal).then(() => {
      this.meeting = null;
      if (!halt.signal.aborted) this.met(point.slot);
    });
  }

  clear(slot: Slot): Promise<void> | null {
    return this.gate.clear(slot);
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    this.halt.abort();
    this.halt = new AbortController();
    this.points = [];
    this.gate.openAll();
    await this.meeting;
  }

  private startTimer(): void {
    const { hooks } = this.options;
    this.timer = setTimeout(() => {
      const [point] = this.points;
      if (point === undefined) return;
      const reason = `not everything below was committed within ${hooks.waitMs} ms`;
      hooks.onVerifyGivenUp(point.check, point.slot, reason);
      this.met(point.slot);
    }, hooks.waitMs);
  }

  private met(slot: Slot): void {
    this.points.shift();
    if (this.points.length > 0) this.startTimer();
    this.gate.open(slot);
    this.options.onMet(slot);
    this.reached(this.pointer);
  }
}
