/**
 * What a replica looks at again and again: a log that has grown too large or that the others have outgrown, a recovery that is done.
 *
 * Responsible for: noticing. What is done about it is the replica's business.
 */
import type { Logger } from 'pino';
import type { Effect } from '../../multipaxos/types/effects.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { CoreSnapshot } from '../../multipaxos/types/trace.ts';
import type { RecoveryTracker } from '../database/recovery-progress.ts';

export interface WatchOptions {
  readonly snapshot: () => Pick<CoreSnapshot, 'role' | 'serving' | 'commitPoint'>;
  readonly pointer: () => Slot;
  readonly logBytes: () => number;
  readonly logBytesMax: number;
  readonly nowMs: () => number;
  readonly tracker: RecoveryTracker;
  readonly logger: Logger;
  /** The database is up. */
  readonly isUp: () => boolean;
  /** There is a database that goes on with the log. */
  readonly needsLog: () => boolean;
  /** It counts for quorums and somebody serves: a recovery that has caught up is over. */
  readonly isHealthy: () => boolean;
  /** `isUrgent`: nothing that is applied may stay. */
  readonly onLogPressure: (isUrgent: boolean) => void;
  readonly onLogPurged: (reason: string) => void;
}

/** Some other peer may still have what one has purged: the core asks it meanwhile. */
const purgedForMs = 2000;
/** Of the bound: from here on the log is to be short, and from there on as short as can be: what comes between two looks must fit, too. */
const pressureFrom = 0.8;
const urgentFrom = 0.9;
const pressureEveryMs = 1000;
/** Who has taken no longer to come to where the group was meanwhile has caught up: while others write, nobody is ever quite there. */
const caughtUpMs = 1000;

export class Watch {
  private readonly options: WatchOptions;
  private readonly disbeliefs = new Map<ReplicaId, string>();
  private pressedAtMs = Number.NEGATIVE_INFINITY;
  private pressing = false;
  /** Where the group was, for a recovery that catches up to it. */
  private aim: { readonly slot: Slot; readonly atMs: number } | null = null;
  /** What peers that were asked have purged up to, and since when nothing but that was heard. */
  private purged: {
    upTo: Slot;
    readonly peers: Set<ReplicaId>;
    readonly commitPoint: Slot;
    readonly sinceMs: number;
  } | null = null;

  constructor(options: WatchOptions) {
    this.options = options;
  }

  purgedByPeer(peer: ReplicaId, upTo: Slot): void {
    const { commitPoint } = this.options.snapshot();
    if (this.purged === null || this.purged.commitPoint !== commitPoint) {
      this.purged = { upTo, peers: new Set(), commitPoint, sinceMs: this.options.nowMs() };
    }
    this.purged.peers.add(peer);
    this.purged.upTo = Math.max(this.purged.upTo, upTo) as Slot;
  }

  disbelieved({ member, claimed, lastSlot }: Extract<Effect, { kind: 'disbelieved' }>): void {
    const what =
      `${member} says that all up to slot ${claimed} is chosen, but this replica leads and has proposed nothing above slot ${lastSlot}: ` +
      `${member} holds data that is not this group's. It is not heard any more. Stop it, move its data directory away and start it with an ` +
      'empty one: it joins again, and is given a copy.';
    this.options.logger.error({ member, claimed, lastSlot }, what);
    this.disbeliefs.set(member, what);
  }

  /** Of the members that this leader hears no more; null if there is none. */
  get disbelief(): string | null {
    return this.disbeliefs.size === 0 ? null : [...this.disbeliefs.values()].join(' ');
  }

  tick(): void {
    // They last as long as the leadership does, and are told once for each member.
    if (this.options.snapshot().role !== 'leader') this.disbeliefs.clear();
    this.watchLogSize();
    this.watchPurgedLog();
    this.watchRecovery();
  }

  /** The log goes below the bound, whoever may still want it. */
  get isPressing(): boolean {
    return this.pressing;
  }

  private watchLogSize(): void {
    const nowMs = this.options.nowMs();
    const { logBytesMax } = this.options;
    const logBytes = this.options.logBytes();
    if (logBytes < logBytesMax * pressureFrom) return;
    if (nowMs - this.pressedAtMs < pressureEveryMs) return;
    this.pressedAtMs = nowMs;
    this.pressing = true;
    this.options.onLogPressure(logBytes >= logBytesMax * urgentFrom);
    this.pressing = false;
  }

  /** A leader that serves has all that it needs: if others have gone on without it, it hears of their leader, or loses its quorum, and only then needs what they purged. */
  private watchPurgedLog(): void {
    if (this.purged === null) return;
    const { upTo, peers, sinceMs } = this.purged;
    const { commitPoint, serving } = this.options.snapshot();
    if (serving || commitPoint !== this.purged.commitPoint || !this.options.needsLog()) this.purged = null;
    else if (this.options.nowMs() - sinceMs >= purgedForMs) {
      this.purged = null;
      const who = [...peers].join(', ');
      this.options.onLogPurged(
        `this replica's log ends at slot ${commitPoint}, and ${who} purged theirs up to slot ${upTo}`,
      );
    }
  }

  private watchRecovery(): void {
    const { tracker } = this.options;
    const phase = tracker.current()?.phase;
    if ((phase !== 'catchingUp' && phase !== 'starting') || !this.options.isUp()) {
      this.aim = null;
      return;
    }
    const nowMs = this.options.nowMs();
    const pointer = this.options.pointer();
    const { commitPoint } = this.options.snapshot();
    tracker.catchingUp(pointer, commitPoint);
    this.aim ??= { slot: commitPoint, atMs: nowMs };
    if (pointer === 0 || pointer < this.aim.slot) return;
    if (nowMs - this.aim.atMs <= caughtUpMs && this.options.isHealthy()) tracker.done();
    this.aim = { slot: commitPoint, atMs: nowMs };
  }
}
