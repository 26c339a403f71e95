/**
 * What a replica does whose answers were found to differ, or may be wrong. Where no majority agrees one database goes on (adoptions.ts), and its replica serves.
 *
 * Responsible for: that its clients are told nothing more from that moment on, and hear that their sessions are over; that a database which is wrong is durably said to be before another takes its place; that somebody learns of it.
 * Invariant: while it is closed, or stands ahead of an adoption, no verdict counts: the database that it is about is being replaced.
 */
import type { Logger } from 'pino';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { Verdict } from '../../payload/statements/answer-comparison.ts';

export interface AnswerFenceOptions {
  /** What its status says, and why no session is opened; null: nothing. */
  readonly database: { divergence: string | null };
  readonly condemn: (reason: string) => Promise<void>;
  readonly endSessions: (reason: string) => void;
  readonly self: ReplicaId;
  /** Nobody's word is missing that may help: the database of `claimant` is to go on. */
  readonly onDiffer: (slot: Slot, claimant: ReplicaId) => void;
  readonly onAgree: () => void;
  /** This database is of no use behind the slot, and what is copied of it neither. */
  readonly onLost: (slot: Slot, isHeldElsewhere: boolean) => void;
  readonly replace: (slot: Slot) => Promise<void>;
  readonly timers: Pick<Timers, 'after'>;
  readonly logger: Logger;
}

/** So long others may take to tell what they have answered: until then a difference may as well be theirs. */
const graceMs = 2_000;
/** A disk that takes no note is asked again after so long. */
const againMs = 1_000;
/** And so long the word of one that is away may bring a majority about. */
const patienceMs = 30_000;

type Doubt = Extract<Verdict, { code: 'doubt' }>;

export class AnswerFence {
  /** The database is being replaced. */
  isClosed = false;
  private readonly options: AnswerFenceOptions;
  /** The newest, of a doubt that may end by itself. */
  private doubted: { verdict: Doubt } | null = null;
  /** The newest slot that this replica has claimed its database for. */
  private claimedAt = 0;
  /** It goes on from another's copy only. */
  isStanding = false;

  constructor(options: AnswerFenceOptions) {
    this.options = options;
  }

  judged(verdict: Verdict): void {
    if (this.isClosed || this.isStanding) return;
    const { database, logger } = this.options;
    if (verdict.code !== 'doubt' || verdict.isFinal) this.doubted = null;
    if (verdict.code !== 'doubt') this.options.onAgree();
    switch (verdict.code) {
      case 'right':
        if (database.divergence !== null) logger.info('what this replica answers is no longer in doubt');
        database.divergence = null;
        return;
      case 'lost':
        this.lost(verdict.slot, verdict.isHeldElsewhere);
        return;
      case 'wrong':
        void this.replace(verdict.slot, verdict.equal);
        return;
      case 'doubt':
        if (verdict.isFinal) this.differ(verdict);
        else if (this.doubted !== null) this.doubted.verdict = verdict;
        else {
          const doubted = { verdict };
          this.doubted = doubted;
          const later = (ms: number, act: (doubt: Doubt) => void): void => {
            this.options.timers.after(ms, () => {
              if (this.doubted === doubted) act(doubted.verdict);
            });
          };
          later(graceMs, (doubt) => this.doubt(doubt));
          later(patienceMs, (doubt) => this.differ(doubt));
        }
        return;
      default:
        verdict satisfies never;
    }
  }

  /** Another database is here. */
  open(): void {
    this.isClosed = false;
    this.isStanding = false;
    this.doubted = null;
    this.options.database.divergence = null;
  }

  /** No majority will agree. */
  private differ({ slot, differing, claimant }: Doubt): void {
    const { database, logger, self, onDiffer } = this.options;
    const reason = `The answers of ${differing.join(', ')} to slot ${slot} differ, and no majority agrees: the group goes on from the database of ${claimant}.`;
    if (claimant !== self) this.fence(reason, { slot, differing });
    else {
      database.divergence = null;
      if (slot > this.claimedAt) logger.warn({ slot, differing }, reason);
      this.claimedAt = Math.max(this.claimedAt, slot);
    }
    onDiffer(slot as Slot, claimant as ReplicaId);
  }

  private doubt({ slot, differing }: Doubt): void {
    const reason = `The answers of ${differing.join(', ')} to slot ${slot} differ: none of them serves until another replica has answered it, for ${patienceMs / 1000} s at most.`;
    this.fence(reason, { slot, differing });
  }

  private fence(
    reason: string,
    facts: { readonly slot: number; readonly differing?: readonly string[] },
  ): void {
    const { database, logger, endSessions } = this.options;
    if (database.divergence === reason) return;
    database.divergence = reason;
    logger.error(facts, reason);
    endSessions(reason);
  }

  /** This replica's database stands still ahead of the slot. */
  standing(slot: number): void {
    this.isStanding = true;
    this.doubted = null;
    this.fence(
      `This database cannot go on behind slot ${slot} as the others do: a copy of another replica's is awaited.`,
      { slot },
    );
  }

  /** This database answered otherwise than a majority had. `isHeldElsewhere`: another replica has just said so. */
  lost(slot: number, isHeldElsewhere = false): void {
    this.isStanding = true;
    this.doubted = null;
    this.fence(
      `The answer of this database to slot ${slot} is not the one that a majority had given: a copy of another replica's is awaited.`,
      { slot },
    );
    this.options.onLost(slot as Slot, isHeldElsewhere);
  }

  /** The group goes on from this replica's database. */
  adopted(): void {
    if (this.isClosed) return;
    this.doubted = null;
    this.isStanding = false;
    this.options.database.divergence = null;
  }

  private async replace(slot: number, equal: readonly string[]): Promise<void> {
    const { database, logger, endSessions, replace } = this.options;
    this.isClosed = true;
    this.doubted = null;
    const reason = `What this replica answered to slot ${slot} differs from what ${equal.join(' and ')} did: its database is replaced.`;
    database.divergence = reason;
    logger.error({ slot, equal }, reason);
    endSessions(reason);
    await this.condemn(reason);
    await replace(slot as Slot);
  }

  /** As often as it takes: a restart is to know it, and until then this process does. Never rejects. */
  private async condemn(reason: string): Promise<void> {
    const { condemn, timers, logger } = this.options;
    for (let tries = 0; ; tries += 1) {
      try {
        return await condemn(reason);
      } catch (error) {
        if (tries === 0)
          logger.error(
            { err: error },
            'it cannot be written down that this database is wrong: make space; until then this replica serves nobody',
          );
        await pause(timers, againMs);
      }
    }
  }
}
