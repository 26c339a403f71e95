/**
 * What is wrong with the replica's database, for its status: why PostgreSQL is away, why it must not be used.
 *
 * Responsible for: remembering it, and for what a difference from the others leads to. Starts nothing.
 */
import type { Logger } from 'pino';
import type { DatabaseDirectory, Loss } from '../../ports/database-directory.ts';
import type { LaunchStep } from '../../payload/wal/life/context.ts';

export interface DatabaseHealthOptions {
  readonly directory: Pick<DatabaseDirectory, 'condemn'>;
  readonly logger: Logger;
  /** A copy of another replica's database takes its place. */
  readonly lose: (loss: Loss) => void;
  /** A replica whose database is not in order must not lead. */
  readonly stepDown: () => void;
}

export class DatabaseHealth {
  private readonly options: DatabaseHealthOptions;
  private isUp = false;
  private troubledBy: string | null = null;
  /** Why what is here is not relied on any more, until a copy has taken its place. */
  private fencedBecause: Loss | null = null;
  private doubtedBecause: string | null = null;
  private step: LaunchStep | null = null;
  private isReplayPaused = false;

  constructor(options: DatabaseHealthOptions) {
    this.options = options;
  }

  get up(): boolean {
    return this.isUp;
  }

  /** Why PostgreSQL is away, or what a look at its files has found: a replica with such a database must not lead, nor be copied from. */
  get trouble(): string | null {
    return this.troubledBy ?? this.doubtedBecause;
  }

  /** Why PostgreSQL is away; null: it is not. */
  get absence(): string | null {
    return this.troubledBy;
  }

  /** Null: it answers, and nothing is missing. */
  onDoubt(reason: string | null): void {
    if (reason !== null && reason !== this.doubtedBecause)
      this.options.logger.warn({ reason }, 'something is wrong with the files of the database');
    this.doubtedBecause = reason;
  }

  get launchStep(): LaunchStep | null {
    return this.step;
  }

  /** For people; null: replay is not paused. */
  get paused(): string | null {
    if (!this.isReplayPaused) return null;
    return (
      'Replay is paused by pg_wal_replay_pause(), so reads here are stale and no planned failover comes here. "SELECT pg_wal_replay_resume()" at this replica ends that; replay resumes by itself when this replica ' +
      'is to lead.'
    );
  }

  /** For people; null: it is relied on. */
  get fenced(): string | null {
    if (this.fencedBecause === null) return null;
    return (
      `${this.fencedBecause.reason}. It serves and leads no more. A copy of another replica's database takes the place of its own with "barista verify --repair", with a restart, or when its log outgrows ` +
      'its bound; what is here is set aside.'
    );
  }

  onStep(step: LaunchStep | null): void {
    this.step = step;
    if (step !== null) this.options.logger.info({ step }, 'PostgreSQL');
  }

  onUp(): void {
    this.isUp = true;
    this.troubledBy = null;
    this.doubtedBecause = null;
  }

  onDown(reason: string): void {
    this.isUp = false;
    this.troubledBy = reason;
  }

  /** PostgreSQL is away until this replica leads again, and for nothing that is wrong. */
  onMayLead(): void {
    this.troubledBy = null;
  }

  onReplayPaused(isPaused: boolean): void {
    this.isReplayPaused = isPaused;
  }

  onReplaced(): void {
    this.fencedBecause = null;
    this.troubledBy = null;
  }

  /** It may not be relied on from now on, whatever becomes of this process: only a copy of another replica's database ends that. */
  async differs(loss: Loss, repair: boolean): Promise<void> {
    const { logger, directory, lose, stepDown } = this.options;
    logger.error({ reason: loss.reason, repair }, 'this replica differs from the others');
    this.fencedBecause = loss;
    stepDown();
    try {
      await directory.condemn(loss);
    } catch (error) {
      logger.error({ err: error }, 'that the database must not be used again could not be noted');
    }
    if (repair) lose(loss);
  }

  /**
   * The log has outgrown its bound, and nothing may be purged on the word of a database that differs. It only stands there for people to look at: that ends here, as it would with a restart. False: it is relied on.
   */
  relieve(): boolean {
    if (this.fencedBecause === null) return false;
    this.options.lose(this.fencedBecause);
    return true;
  }
}
