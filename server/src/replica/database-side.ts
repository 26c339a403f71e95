/**
 * The replica's database between its keeper and the rest: what its coming, going, failing and differing mean.
 *
 * Responsible for: when an empty database may be made, whom to copy from, who may copy this one, and what each failure, and a log that is too long, leads to (another
 * try, a restart, a copy of another replica's). Starts nothing itself and applies nothing.
 */
import type { Logger } from 'pino';
import { replicaOf } from '../multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../multipaxos/types.ts';
import type { Clock } from '../ports/clock.ts';
import type { DatabaseError } from '../ports/database.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { Transport } from '../ports/transport.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { DatabaseKeeper, Loss } from './database-keeper.ts';
import type { ReplicaEvents } from './status/events.ts';
import type { Handover } from './handover.ts';
import type { Membership } from './members/membership.ts';
import type { RecoveryTracker } from './database/recovery-progress.ts';
import { rankSources } from './database/state-transfer.ts';
import type { Verification } from './verify/verification.ts';

/** Of a replica that has just been let in: what it had before, and what the group has purged. */
export interface Joined {
  readonly cause: 'new' | 'logLost' | 'bothLost';
  readonly purgedTo: Slot;
}

export interface DatabaseSideOptions {
  readonly config: ReplicaConfig;
  readonly log: LogStore;
  readonly transport: Transport;
  readonly keeper: DatabaseKeeper;
  readonly events: ReplicaEvents;
  readonly tracker: RecoveryTracker;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly joined: Joined | null;
  readonly handover: Handover;
  readonly membership: Membership;
  readonly verification: Verification;
  readonly leader: () => ReplicaId | null;
  /** A replica whose database is not in order must not lead. */
  readonly stepDown: () => void;
  /** What the database has, durably, goes from the log. */
  readonly purgeApplied: () => void;
}

export class DatabaseSide {
  private readonly options: DatabaseSideOptions;
  private troubledBy: string | null = null;
  /** Why what is here is not applied to any more, until a copy has taken its place. */
  private fencedBecause: Loss | null = null;
  private startedAtMs = 0;

  constructor(options: DatabaseSideOptions) {
    this.options = options;
  }

  /** Why PostgreSQL is away. */
  get trouble(): string | null {
    return this.troubledBy;
  }

  start(): void {
    const { keeper, log, joined, tracker, clock, handover, verification } = this.options;
    this.startedAtMs = clock.nowMs();
    if (joined !== null) tracker.begin(joined.cause, 'catchingUp');
    keeper.start({
      logIsWhole: () => log.stats().purgedTo === 0 && (joined === null || joined.purgedTo === 0),
      isAlone: () => this.options.membership.others().length === 0,
      mayBeginEmpty: () => this.mayBeginEmpty(),
      logReaches: (pointer) => pointer >= log.stats().purgedTo,
      causeOfMissing: () => (joined === null ? 'databaseLost' : joined.cause === 'new' ? 'new' : 'bothLost'),
      onUp: (database, at, replaced) => {
        this.troubledBy = null;
        if (replaced) {
          this.fencedBecause = null;
          verification.databaseReplaced();
        }
        handover.up(database, at, replaced);
      },
      onDown: (reason) => this.down(reason),
    });
  }

  /** A new group's first replica, a new one that joined while nobody had purged anything, or one that is alone. A copy is faster than a long log. */
  private mayBeginEmpty(): boolean {
    const { log, joined, membership } = this.options;
    if (log.stats().purgedTo > 0) return false;
    if (membership.others().length === 0) return true;
    const isNew = joined === null || (joined.cause === 'new' && joined.purgedTo === 0);
    return isNew && log.recovered.commitPoint === 0;
  }

  /** Whom to copy a database from. That a leader comes last needs it to be known, so that is waited for a little. */
  sources({ equal }: Pick<Loss, 'equal'>): ReplicaId[] {
    const { clock, config, membership, transport } = this.options;
    const leader = this.options.leader();
    const waitMs = 2 * config.timings.electionTimeoutMaxMs;
    if (leader === null && clock.nowMs() - this.startedAtMs < waitMs) return [];
    const others = membership.others();
    return rankSources({
      connected: transport.connected().filter((peer) => others.includes(peer)),
      leader: leader === null ? null : replicaOf(leader),
      voters: membership.joined().voters,
      equal: equal ?? null,
    });
  }

  /** Why nobody may copy this replica's database now; null if they may. */
  whyNoCopy(): string | null {
    const { handover, membership, config } = this.options;
    if (membership.removed !== null) return `${config.id} is no member any more`;
    if (handover.blocked !== null) return `the data of ${config.id} differs from the others'`;
    return handover.isApplying ? null : `the database of ${config.id} is not in service`;
  }

  private down(reason: string): void {
    const { handover, events, stepDown } = this.options;
    const told = !handover.hasDatabase && this.troubledBy !== null;
    this.troubledBy = reason;
    if (told) return;
    events.apply({ name: 'DatabaseDown', reason });
    stepDown();
    handover.down();
  }

  /** It failed while the log was applied, or the pointer moved. */
  failed(error: DatabaseError): void {
    const { logger, keeper, handover, stepDown } = this.options;
    if (error.code === 'databaseLost') {
      keeper.lose({ cause: 'databaseLost', reason: error.message });
      return;
    }
    logger.warn({ err: error }, 'PostgreSQL failed while applying');
    stepDown();
    if (error.code === 'databaseFull') handover.retryWhenFull(error.message);
    else keeper.suspect();
  }

  /** It may not be relied on from now on, whatever becomes of this process: only a copy of another replica's database ends that. */
  diverged({ reason, equal }: Pick<Loss, 'reason' | 'equal'>, repair: boolean): void {
    const { logger, keeper, handover, stepDown } = this.options;
    logger.error({ reason, repair }, 'this replica differs from the others and applies no more');
    handover.block(
      `${reason}. It applies no more. A copy of another replica's database takes the place of its own with "barista verify --repair", with a restart, or when its log outgrows its bound; what is here is set aside.`,
    );
    stepDown();
    const loss: Loss = { cause: 'diverged', reason, ...(equal === undefined ? {} : { equal }) };
    this.fencedBecause = loss;
    if (repair) keeper.lose(loss);
    else void keeper.condemn(loss);
  }

  /**
   * The log has outgrown its bound. A replica that is fenced lets go of nothing by itself: what goes on the word of a database must be in that database, and of
   * others' this replica does not know that enough have it. Yet its own only stands there for people to look at. That ends here, as it would with a restart: a copy
   * takes its place, and the log below the copy's pointer goes. A log grows only while somebody serves, and who serves has a database to copy, so there is no other bound to
   * wait for. What was looked at is set aside.
   */
  relieveLog(): void {
    const { keeper, handover, purgeApplied } = this.options;
    if (this.fencedBecause === null) purgeApplied();
    // While its PostgreSQL is away a copy is on its way already.
    else if (handover.hasDatabase) keeper.lose(this.fencedBecause);
  }
}
