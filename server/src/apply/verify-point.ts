/**
 * Brings a replica's data to exactly one slot for as long as a snapshot of it takes: nothing above is committed, nothing below is missing.
 *
 * Responsible for: whom the leader's sessions have to wait for (CommitGate), and the bounds of taking one snapshot. What is done with the
 * snapshot is for others. Invariants: commits never wait longer than `waitMs` for one check; a check that was given up is reported, once,
 * and its signal is aborted, so that a snapshot taken too late is not mistaken for one of that slot.
 */
import type { Slot } from '../multipaxos/types.ts';

export interface VerifyHooks {
  /**
   * The database stands at exactly `slot`: take a snapshot of it and resolve; what is read from the snapshot is read afterwards. What no snapshot holds (the
   * positions of sequences) has to be read before. Once `signal` is aborted the snapshot counts for nothing. After a crash it may be called again
   * for the same check.
   */
  readonly onVerify: (check: string, slot: Slot, signal: AbortSignal) => Promise<void>;
  /** This replica has nothing to compare at that slot. */
  readonly onVerifyGivenUp: (check: string, slot: Slot, reason: string) => void;
  /** How long commits may wait for a check: for everything below to be in, and for the snapshot. */
  readonly waitMs: number;
}

/** A check that was chosen and has not been met. */
export interface VerifyPoint {
  readonly check: string;
  readonly slot: Slot;
}

/** `stopped`: by the caller's signal; nothing was reported, for the slot will be met again. */
export type SnapshotResult = 'taken' | 'givenUp' | 'stopped';

export async function takeSnapshot(
  hooks: VerifyHooks,
  { check, slot }: VerifyPoint,
  stop: AbortSignal,
): Promise<SnapshotResult> {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`the snapshot took longer than ${hooks.waitMs} ms`), hooks.waitMs);
  });
  let onStop = (): void => {};
  const stopped = new Promise<null>((resolve) => {
    onStop = () => resolve(null);
    stop.addEventListener('abort', onStop, { once: true });
    if (stop.aborted) onStop();
  });
  const taken = (async () => hooks.onVerify(check, slot, over.signal))().then(
    () => 'taken' as const,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  const first = await Promise.race([taken, late, stopped]);
  clearTimeout(timer);
  stop.removeEventListener('abort', onStop);
  if (first === 'taken') return 'taken';
  over.abort();
  if (first === null) return 'stopped';
  hooks.onVerifyGivenUp(check, slot, first);
  return 'givenUp';
}

/** Holds back commits above the checks that a leader has not met yet. */
export class CommitGate {
  private points: Slot[] = [];
  private waiting: { readonly slot: Slot; readonly go: () => void }[] = [];

  /** From now on what is chosen above `slot` waits. Slots come in order. */
  close(slot: Slot): void {
    this.points.push(slot);
  }

  /** The check of `slot` is met or given up. */
  open(slot: Slot): void {
    this.points = this.points.filter((point) => point !== slot);
    const [first] = this.points;
    const free = this.waiting.filter((waiter) => first === undefined || waiter.slot < first);
    this.waiting = this.waiting.filter((waiter) => !free.includes(waiter));
    for (const { go } of free) go();
  }

  openAll(): void {
    this.points = [];
    for (const { go } of this.waiting.splice(0)) go();
  }

  /** Resolves when the transaction of `slot` may be committed; null: at once. */
  clear(slot: Slot): Promise<void> | null {
    const [first] = this.points;
    if (first === undefined || slot < first) return null;
    return new Promise((go) => {
      this.waiting.push({ slot, go });
    });
  }
}
