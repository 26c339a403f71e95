/**
 * The replica's database between its keeper and the rest: what its coming, going, failing and differing mean.
 *
 * Responsible for: when an empty database may be made, whom to copy from, who may copy this one, and what each failure leads to (another try, a restart, a copy of
 * another replica's). Starts nothing itself and applies nothing.
 */
import type { Logger } from 'pino';
import { replicaOf } from '../multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../multipaxos/types.ts';
import type { Clock } from '../ports/clock.ts';
import type { DatabaseError } from '../ports/database.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { Transport } from '../ports/transport.ts';
import type { ReplicaConfig } from './config.ts';
import type { DatabaseKeeper } from './database-keeper.ts';
import type { ReplicaEvents } from './events.ts';
import type { Handover } from './handover.ts';
import type { Membership } from './membership.ts';
import type { RecoveryTracker } from './recovery-progress.ts';
import { rankSources } from './state-transfer.ts';
import type { Verification } from './verification.ts';

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
}

export class DatabaseSide {
  private readonly options: DatabaseSideOptions;
  private troubledBy: string | null = null;
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
      logIsWhole: () => log.stats().purgedTo === 0,
      mayBeginEmpty: () => this.mayBeginEmpty(),
      logReaches: (pointer) => pointer >= log.stats().purgedTo,
      causeOfMissing: () => (joined === null ? 'databaseLost' : joined.cause === 'new' ? 'new' : 'bothLost'),
      onUp: (database, at, copied) => {
        this.troubledBy = null;
        if (copied) verification.databaseReplaced();
        handover.up(database, at, copied);
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
  sources(): ReplicaId[] {
    const { clock, config, membership, transport } = this.options;
    const leader = this.options.leader();
    const waitMs = 2 * config.timings.electionTimeoutMaxMs;
    if (leader === null && clock.nowMs() - this.startedAtMs < waitMs) return [];
    const others = membership.others();
    const connected = transport.connected().filter((peer) => others.includes(peer));
    return rankSources(connected, leader === null ? null : replicaOf(leader));
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
  diverged(reason: string, repair: boolean): void {
    const { logger, keeper, handover, stepDown } = this.options;
    logger.error({ reason, repair }, 'this replica differs from the others and applies no more');
    handover.block(
      `${reason}. It applies no more. "barista verify --repair", or a restart, replaces its database by a copy of another replica's; this one is set aside.`,
    );
    stepDown();
    if (repair) keeper.lose({ cause: 'diverged', reason });
    else void keeper.condemn({ cause: 'diverged', reason });
  }
}
