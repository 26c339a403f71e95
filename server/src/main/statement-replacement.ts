/**
 * What becomes of a database that executes statements and cannot go on: another one takes its place, or it is tried again.
 *
 * Responsible for: the order in which that goes. What it begins from is statement-copies.ts.
 * Invariants: one at a time; nothing reads or writes what is about to be replaced; what is only presumed to be damaged is set aside once there is something else to begin from, and tried again where nobody has a copy: whatever kept
 * PostgreSQL from coming up at all replicas may have passed.
 */
import type { Logger } from 'pino';
import { isNoSpace } from '../adapters/file-system.ts';
import type { Slot } from '../multipaxos/types/names.ts';
import { pause } from '../payload/pause.ts';
import type { Timers } from '../ports/clock.ts';
import type { InexactReason } from '../payload/statements/executor.ts';
import type { Beginning, StatementCopies } from './statement-copies.ts';
import type { StatementDatabaseHealth } from './statement-database-health.ts';
import type { StatementPostgres } from './statement-database.ts';

type Reason = InexactReason | 'logPurged';

export interface ReplacementOptions {
  readonly copies: Pick<StatementCopies, 'beginning' | 'fetch'> & {
    readonly keeper: Pick<StatementCopies['keeper'], 'cleared'>;
  };
  readonly database: Pick<
    StatementDatabaseHealth,
    'awaitsCopy' | 'beginsAnew' | 'beginsFromCopy' | 'replaced' | 'triedAgain'
  >;
  readonly postgres: Pick<StatementPostgres, 'forget' | 'restore' | 'setAside'> & {
    readonly instance: Pick<StatementPostgres['instance'], 'stop'>;
  };
  /** The life of before ends, and the next one begins after `between`. */
  readonly renew: (between: () => Promise<void>) => Promise<void>;
  /** Another database is here, `isOfAnother`: of another replica; nothing executes yet. */
  readonly onReplaced: (isOfAnother: boolean) => void;
  /** Another replica has executed what this one stands ahead of. */
  readonly isSomebodyBeyond: () => boolean;
  readonly timers: Pick<Timers, 'after'>;
  readonly logger: Pick<Logger, 'error'>;
  readonly onFatal: (error: Error) => void;
}

/** A full disk is tried again after so long. */
const againMs = 5_000;

export class StatementReplacement {
  private readonly options: ReplacementOptions;
  private isUnderWay = false;

  constructor(options: ReplacementOptions) {
    this.options = options;
  }

  /** `atLeast`: only a copy of that slot or above helps. Never rejects. Told again while another database is on its way: that is passed over. */
  async begin(reason: Reason, atLeast = 0 as Slot): Promise<void> {
    if (this.isUnderWay) return;
    this.isUnderWay = true;
    const { database, renew } = this.options;
    const beginning = await this.beginning(reason, atLeast);
    if (beginning === null) return;
    if (beginning.code === 'another') database.awaitsCopy(reason);
    else if (beginning.code === 'copy') database.beginsFromCopy(reason, beginning.slot);
    else database.beginsAnew(reason);
    await renew(() => this.replaceWithRoom(reason, beginning, atLeast));
  }

  /** A full disk does not end the replica: each step can be done again. */
  private async replaceWithRoom(reason: Reason, beginning: Beginning, atLeast: Slot): Promise<void> {
    const { timers, logger } = this.options;
    for (;;) {
      try {
        return await this.replace(reason, beginning, atLeast);
      } catch (error) {
        if (!isNoSpace(error)) throw error;
        logger.error({ err: error }, 'there is no space to replace the database: make space');
        await pause(timers, againMs);
      }
    }
  }

  /** Null: it has ended. */
  private async beginning(reason: Reason, atLeast: Slot): Promise<Beginning | null> {
    const { copies, onFatal } = this.options;
    try {
      await copies.keeper.cleared();
      return await copies.beginning(reason, atLeast);
    } catch (error) {
      onFatal(error instanceof Error ? error : new Error(String(error)));
      return null;
    }
  }

  private async replace(reason: Reason, { code }: Beginning, atLeast: Slot): Promise<void> {
    const { copies, database, postgres, onReplaced, isSomebodyBeyond } = this.options;
    const isPresumed = reason === 'presumedDamaged';
    const isDamaged = isPresumed || reason === 'damaged';
    // It came up again meanwhile, if it had failed besides.
    await copies.keeper.cleared();
    if (code === 'another') {
      const found = await copies.fetch({
        cause: isDamaged ? 'databaseLost' : 'logPurged',
        asksOnce: () => isPresumed || (reason !== 'differs' && atLeast > 0 && !isSomebodyBeyond()),
        atLeast,
      });
      if (found === 'ended') return;
      if (found === 'none') {
        await postgres.instance.stop('immediate');
        database.triedAgain(reason);
        this.isUnderWay = false;
        return;
      }
    }
    if (isDamaged) await postgres.setAside();
    await (code === 'anew' ? postgres.forget() : postgres.restore());
    if (isDamaged || reason === 'copyUseless') database.replaced();
    onReplaced(code === 'another');
    this.isUnderWay = false;
  }
}
