/**
 * One at a time among replicas that share a store of backups: claims it, shows that it lives while it works, and breaks the claim of one that died.
 *
 * A hint, and no lock: that two make a backup at once does no harm. Invariant: a claim that was got is given back, however the work ends.
 */
import type { Logger } from 'pino';
import type { Timers } from '../../ports/clock.ts';
import type { BackupClaim, BackupStore } from '../../ports/backup-store.ts';

export interface BackupTurnsOptions {
  readonly store: Pick<BackupStore, 'claim' | 'breakClaim'>;
  readonly timers: Timers;
  readonly logger: Logger;
}

const beatMs = 30_000;
/** A claim that has not changed for so long is of somebody who died. */
const claimDeadMs = 5 * 60_000;

export class BackupTurns {
  private readonly options: BackupTurnsOptions;
  private seenClaim: { readonly heldBy: string; readonly sinceMs: number } | null = null;

  constructor(options: BackupTurnsOptions) {
    this.options = options;
  }

  /** Does nothing if somebody else is at it. @throws what `work` throws; the file system's error */
  async take(work: () => Promise<void>): Promise<void> {
    const claim = await this.claim();
    if (claim === null) return;
    const stopBeating = this.options.timers.every(beatMs, () => void claim.beat());
    try {
      await work();
    } finally {
      stopBeating();
      await claim.release();
    }
  }

  /** Null: somebody else is at it. */
  private async claim(): Promise<BackupClaim | null> {
    const { store, timers, logger } = this.options;
    const outcome = await store.claim();
    if (outcome.kind === 'held') {
      this.seenClaim = null;
      return outcome.claim;
    }
    const { heldBy } = outcome;
    if (this.seenClaim?.heldBy !== heldBy) this.seenClaim = { heldBy, sinceMs: timers.nowMs() };
    if (timers.nowMs() - this.seenClaim.sinceMs < claimDeadMs) return null;
    logger.warn({ heldBy }, 'whoever was making a backup has died: its claim is broken');
    await store.breakClaim(heldBy);
    this.seenClaim = null;
    return null;
  }
}
