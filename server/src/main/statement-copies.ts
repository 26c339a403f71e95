/**
 * Copies of a replica's database where statements travel: the one that it keeps of its own, and where it begins again when its database cannot go on.
 *
 * Responsible for: putting together who makes them, who says when, and whose log is held for them; and choosing among them. Invariant: what differs from a majority is not begun from again, neither from what was copied of it.
 */
import type { Logger } from 'pino';
import { createCopyMaker } from '../adapters/postgres/kept/make-copy.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { Slot } from '../multipaxos/types/names.ts';
import type { InexactReason } from '../payload/statements/executor.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { ProtocolHost } from '../replica/protocols/protocol-host.ts';
import { CopyKeeper } from '../replica/statements/copy-keeper.ts';
import { type HeldLog, heldLog } from '../replica/statements/held-log.ts';
import type { StatementPostgres } from './statement-database.ts';

export interface CopiesOptions {
  readonly config: ReplicaConfig;
  readonly cluster: string;
  readonly postgres: StatementPostgres;
  readonly logger: Logger;
  readonly protocol: () => Pick<ProtocolHost, 'settledTo' | 'purgedTo'>;
  /** Wakes the payload, which may be at rest. */
  readonly wake: () => void;
}

/** `copy`: from the one that is kept; `anew`: from the beginning of the log; `nowhere`: the log does not reach back so far. */
export type Beginning =
  | { readonly code: 'copy'; readonly slot: Slot }
  | { readonly code: 'anew' | 'nowhere' };

export class StatementCopies {
  readonly keeper: CopyKeeper;
  private readonly options: CopiesOptions;
  private held: HeldLog | null = null;

  constructor(options: CopiesOptions) {
    this.options = options;
    const { config, cluster, postgres, logger, protocol, wake } = options;
    const { bytesPerSecondMax = null } = config.snapshot;
    this.keeper = new CopyKeeper({
      maker: createCopyMaker({
        directory: postgres.kept,
        socketDir: postgres.instance.socketDir,
        cluster,
        bytesPerSecondMax: () => bytesPerSecondMax,
      }),
      timers: systemClock,
      logger,
      isSettled: (slot) => protocol().settledTo >= slot,
      wake,
      onKept: () => {
        this.held?.release().catch((error: unknown) => {
          logger.warn({ err: error }, 'the log could not let go of what a copy has');
        });
      },
    });
  }

  /** It lets go of nothing that the copy which is kept needs. */
  hold(store: LogStore): LogStore {
    const { config, postgres } = this.options;
    this.held = heldLog(store, config.bounds.logBytesMax, () => postgres.kept.note?.slot ?? (0 as Slot));
    return this.held;
  }

  async beginning(reason: InexactReason | 'logPurged'): Promise<Beginning> {
    const { config, postgres, protocol } = this.options;
    // What it was copied of may have differed already.
    const mayDiffer = reason === 'differs';
    // Two that led side by side may each have settled what the other never had.
    const mayHaveParted =
      config.protocol === 'primary' &&
      reason === 'logPurged' &&
      config.primary?.promoteAloneRiskingSplitBrain === true;
    if (mayDiffer || mayHaveParted) await postgres.kept.discard();
    const { note } = postgres.kept;
    const { purgedTo } = protocol();
    if (note !== null && purgedTo <= note.slot) return { code: 'copy', slot: note.slot };
    return { code: purgedTo === 0 ? 'anew' : 'nowhere' };
  }

  stop(): void {
    this.keeper.stop();
  }
}
