/**
 * Whether leadership should move because another replica would commit much faster: a slow disk, or slow links to the quorum. Pure; time is counted in looks.
 *
 * Responsible for: thresholds, hysteresis and rest. Does not measure, and hands nothing over. Invariants:
 * - Below `floorMs` nobody is slow, whatever others tell.
 * - What is not known of another replica counts as much as it does here: nothing is concluded from absence.
 * - A move needs the same finding in `heldLooks` looks in a row, and `settledLooks` looks of leadership; each attempt doubles the rest before the next one, up to a bound, and is forgotten after `forgottenLooks`.
 */
import type { Pace } from '../../multipaxos/types/messages.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';

/** What a replica would commit slowly for. */
export type SlowPart = 'disk' | 'links';

export interface BetterLeaderOptions {
  /** A commit that takes less is fast enough. */
  readonly floorMs: number;
  /** Another replica is better if it takes this part of the time, or less. */
  readonly times: number;
  readonly heldLooks: number;
  readonly settledLooks: number;
  /** After the first attempt. */
  readonly restLooks: number;
  readonly restLooksMax: number;
  readonly forgottenLooks: number;
}

/** With a look every 300 ms: held for 3 s, in a leadership of 30 s; a rest of 1 to 16 minutes. */
export const betterLeaderDefaults: BetterLeaderOptions = {
  floorMs: 200,
  times: 4,
  heldLooks: 10,
  settledLooks: 100,
  restLooks: 200,
  restLooksMax: 3200,
  forgottenLooks: 6400,
};

export interface OtherPace {
  /** The replica. */
  readonly replica: ReplicaId;
  readonly pace: Pace;
}

export interface PaceFacts {
  /** This replica leads, and serves clients. */
  readonly leads: boolean;
  readonly own: Pace;
  /** Other voters, as far as they have told lately. */
  readonly others: readonly OtherPace[];
}

export interface BetterLeader {
  readonly replica: ReplicaId;
  readonly part: SlowPart;
  readonly ownMs: number;
  readonly theirMs: number;
}

const unknown: Pace = { logMs: null, databaseMs: null, quorumMs: null };

export class BetterLeaderFinder {
  private readonly options: BetterLeaderOptions;
  private isSlow = false;
  private leadingLooks = 0;
  private heldLooks = 0;
  private restingLooks = 0;
  private attempts = 0;
  private sinceAttemptLooks = 0;

  constructor(options: BetterLeaderOptions = betterLeaderDefaults) {
    this.options = options;
  }

  /** What is slow here, with hysteresis: it ends at half of where it begins. */
  get slow(): boolean {
    return this.isSlow;
  }

  /** One look. Returns whom to hand over to now, or null. */
  look({ leads, own, others }: PaceFacts): BetterLeader | null {
    const { floorMs, heldLooks, settledLooks, forgottenLooks } = this.options;
    const ownMs = commitMs(own, unknown);
    this.isSlow = ownMs >= (this.isSlow ? floorMs / 2 : floorMs);
    this.leadingLooks = leads ? this.leadingLooks + 1 : 0;
    this.restingLooks = Math.max(0, this.restingLooks - 1);
    this.sinceAttemptLooks += 1;
    if (this.sinceAttemptLooks >= forgottenLooks) this.attempts = 0;
    const best = leads && ownMs >= floorMs ? this.bestOf(own, ownMs, others) : null;
    this.heldLooks = best === null ? 0 : this.heldLooks + 1;
    const mayMove = this.leadingLooks >= settledLooks && this.restingLooks === 0;
    return mayMove && this.heldLooks >= heldLooks ? best : null;
  }

  /** A hand-over was begun. Each doubles the rest before the next one. */
  attempted(): void {
    const { restLooks, restLooksMax } = this.options;
    this.restingLooks = Math.min(restLooksMax, restLooks * 2 ** Math.min(this.attempts, 16));
    this.attempts += 1;
    this.sinceAttemptLooks = 0;
    this.heldLooks = 0;
  }

  private bestOf(own: Pace, ownMs: number, others: readonly OtherPace[]): BetterLeader | null {
    let best: BetterLeader | null = null;
    for (const { replica, pace } of others) {
      const theirMs = commitMs(pace, own);
      if (theirMs > ownMs / this.options.times) continue;
      if (best === null || theirMs < best.theirMs) best = { replica, part: partOf(own), ownMs, theirMs };
    }
    return best;
  }
}

/** How long a commit takes where a replica of this pace leads, about: its own flushes are waited for, and the answers of a quorum. */
function commitMs(pace: Pace, otherwise: Pace): number {
  const part = (name: keyof Pace): number => pace[name] ?? otherwise[name] ?? 0;
  return Math.max(part('logMs'), part('databaseMs')) + part('quorumMs');
}

function partOf({ logMs, databaseMs, quorumMs }: Pace): SlowPart {
  return Math.max(logMs ?? 0, databaseMs ?? 0) >= (quorumMs ?? 0) ? 'disk' : 'links';
}
