/**
 * Copies of a replica's database where statements travel: the one that it keeps of its own, and where it begins again when its database cannot go on.
 *
 * Responsible for: putting together who makes them, who says when, and whose log is held for them; and choosing among them. Invariant: what differs from a majority is not begun from again, neither from what was copied of it.
 */
import type { Logger } from 'pino';
import { describeInstallation, type Installation } from '../adapters/postgres/copy/installation.ts';
import { createPacer } from '../adapters/postgres/copy/pacer.ts';
import { keptCopySource, lookAtKeptCopy, takeKeptCopy } from '../adapters/postgres/kept/give-copy.ts';
import { createCopyMaker } from '../adapters/postgres/kept/make-copy.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { Slot } from '../multipaxos/types/names.ts';
import type { InexactReason } from '../payload/statements/executor.ts';
import { CopyError, type CopyFetcher, type CopySource } from '../ports/copy.ts';
import type { LogStore } from '../ports/log-store.ts';
import type { Transport } from '../ports/transport.ts';
import type { RecoveryTracker } from '../replica/database/recovery-progress.ts';
import { createSources } from '../replica/database/sources.ts';
import { transferState } from '../replica/database/state-transfer.ts';
import type { ProtocolHost } from '../replica/protocols/protocol-host.ts';
import { CopyKeeper } from '../replica/statements/copy-keeper.ts';
import { type HeldLog, heldLog } from '../replica/statements/held-log.ts';
import type { FoundCopy } from '../replica/statements/lagging.ts';
import { positionNone } from '../wal/position.ts';
import type { StatementPostgres } from './statement-database.ts';

export interface CopiesOptions {
  readonly config: ReplicaConfig;
  readonly cluster: string;
  readonly postgres: StatementPostgres;
  readonly logger: Logger;
  readonly tracker: RecoveryTracker;
  readonly transport: Pick<Transport, 'connected'> & CopyFetcher & { offerCopies(source: CopySource): void };
  readonly protocol: () => Pick<ProtocolHost, 'settledTo' | 'purgedTo' | 'membership' | 'standing'>;
  readonly executed: () => { readonly pointer: Slot; readonly durablePointer: Slot };
  /** Wakes the payload, which may be at rest. */
  readonly wake: () => void;
  /** No moment of rest comes by itself. */
  readonly askForRest: () => void;
  readonly onKept: (slot: Slot) => void;
}

/** `copy`: from the one that is kept; `anew`: from the beginning of the log; `another`: from one that another replica keeps, for the log does not reach back so far. */
export type Beginning =
  | { readonly code: 'copy'; readonly slot: Slot }
  | { readonly code: 'anew' | 'another' };

export interface Wanted {
  readonly cause: 'logPurged' | 'databaseLost';
  readonly asksOnce: () => boolean;
  readonly atLeast: Slot;
}

/** More than what is made durable twice a second where nothing is open. */
const farSlots = 10_000;

const pace = { retryMs: 300, retryMsMax: 5000, failedMsMax: 60_000 } as const;

export class StatementCopies {
  readonly keeper: CopyKeeper;
  private readonly options: CopiesOptions;
  private held: HeldLog | null = null;
  private readonly ended = new AbortController();
  private installation: Installation | null = null;

  constructor(options: CopiesOptions) {
    this.options = options;
    const { config, cluster, postgres, logger, protocol, wake, askForRest } = options;
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
      askForRest,
      isLogFilling: () => this.held?.isFilling ?? false,
      onKept: (slot) => {
        options.onKept(slot);
        this.held?.release().catch((error: unknown) => {
          logger.warn({ err: error }, 'the log could not let go of what a copy has');
        });
      },
    });
  }

  /** It lets go of nothing that the copy which is kept needs. */
  hold(store: LogStore): LogStore {
    const { config, postgres } = this.options;
    this.held = heldLog(store, {
      bytesMax: config.bounds.logBytesMax,
      floor: () => postgres.kept.note?.slot ?? (0 as Slot),
      cannotKeep: () => this.keeper.cannotKeep,
      isDurablyBehind: () => {
        const { pointer, durablePointer } = this.options.executed();
        return pointer - durablePointer > farSlots;
      },
    });
    return this.held;
  }

  /** `atLeast`: what was executed up to there is of no use. */
  async beginning(reason: InexactReason | 'logPurged', atLeast: Slot): Promise<Beginning> {
    const { note: whole } = this.options.postgres.kept;
    if (reason !== 'differs' && atLeast > 0)
      // Its own has lost what it lacks.
      return whole !== null && whole.slot >= atLeast && reason !== 'lost'
        ? { code: 'copy', slot: whole.slot }
        : { code: 'another' };
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
    // The group has let go of what follows: what is here is older.
    if (reason === 'logPurged' && config.protocol !== 'primary') return { code: 'another' };
    // It has been tried already.
    const isOfKept = reason === 'presumedDamaged' && (await postgres.kept.installed()) !== null;
    if (note !== null && !isOfKept && purgedTo <= note.slot) return { code: 'copy', slot: note.slot };
    return { code: purgedTo === 0 ? 'anew' : 'another' };
  }

  /** What was copied of the database behind the slot is of no use. */
  async spoilt(slot: Slot): Promise<void> {
    const { kept } = this.options.postgres;
    await this.keeper.cleared();
    if (kept.note !== null && kept.note.slot >= slot) await kept.discard();
  }

  /** Others may have the copy that is kept. */
  async offer(): Promise<void> {
    const { config, cluster, postgres, transport } = this.options;
    const pacer = createPacer(() => config.snapshot.bytesPerSecondMax ?? null);
    this.installation = await describeInstallation(postgres.binaries);
    transport.offerCopies(
      keptCopySource({
        directory: postgres.kept,
        owner: { group: config.group, cluster },
        installation: this.installation,
        onWanted: () => this.keeper.hurry(),
        pass: (bytes) => pacer.pass(bytes),
      }),
    );
  }

  /** The newest that another replica keeps, of slot `atLeast` or above; null: there is none. None is made for it. */
  async find(atLeast: Slot): Promise<FoundCopy | null> {
    const { config, cluster, transport } = this.options;
    const { installation } = this;
    if (installation === null) return null;
    const looked = transport.connected().map(async (peer): Promise<FoundCopy | null> => {
      try {
        const channel = await transport.open(peer, this.ended.signal);
        const owner = { group: config.group, cluster };
        const { note, bytes } = await lookAtKeptCopy(channel, { owner, installation, atLeast });
        return { slot: note.slot, bytes };
      } catch {
        // It has none, or is away.
        return null;
      }
    });
    const found = (await Promise.all(looked)).filter((copy) => copy !== null);
    return found.toSorted((one, other) => other.slot - one.slot)[0] ?? null;
  }

  /** One that another replica keeps, of slot `atLeast` or above, is kept here when it resolves with `here`. Tried without end, unless `asksOnce` says that each replica was to be asked once: it is asked after each round in vain. */
  async fetch({ cause, asksOnce, atLeast }: Wanted): Promise<'here' | 'none' | 'ended'> {
    const { config, cluster, postgres, transport, tracker, logger, protocol } = this.options;
    const { installation } = this;
    if (installation === null) throw new Error('copies are not offered yet');
    tracker.begin(cause, 'copying');
    const sources = createSources({
      transport,
      membership: protocol().membership,
      leader: () => protocol().standing().leader,
      nowMs: () => systemClock.nowMs(),
      leaderWaitMs: 2_000,
    });
    const copy = await transferState(
      {
        ...pace,
        asksOnce,
        fetcher: transport,
        sources: () => sources({}),
        tracker,
        logger,
        timers: systemClock,
        receive: async (channel, from, onProgress, signal) => {
          const { slot } = await takeKeptCopy(channel, {
            directory: postgres.kept,
            owner: { group: config.group, cluster },
            installation,
            atLeast: Math.max(atLeast, protocol().purgedTo),
            onProgress,
            signal,
          });
          // Where what is settled there is not in this log: another one, later.
          if (config.protocol === 'primary' && slot > protocol().standing().lastSlot)
            throw new CopyError('tooOld', `the copy of ${from} is of slot ${slot}, which is not in this log`);
          logger.info({ from, slot }, 'a copy of another replica is here');
          const bytes = { bytesReceived: 0, bytesTotal: 0, blocksReceived: 0 };
          return { from, position: positionNone, configuration: null, ...bytes };
        },
      },
      this.ended.signal,
    );
    if (copy !== null) return 'here';
    if (this.ended.signal.aborted) return 'ended';
    tracker.notReplaced();
    return 'none';
  }

  stop(): void {
    this.ended.abort();
    this.keeper.stop();
  }
}
