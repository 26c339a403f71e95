/**
 * What the phases of a database's life share: the parts around them, what is wished of it at the moment, and the chosen WAL of the directory at hand.
 *
 * Responsible for: holding it, and for the few things that every phase does with it. Which phase follows which is wal-payload.ts.
 */
import type { Logger } from 'pino';
import type { ApplyTraceEvent } from '../../../api/events.ts';
import { sameBallot } from '../../../multipaxos/ballot.ts';
import type { Configuration } from '../../../multipaxos/types/members.ts';
import type { Ballot, Slot } from '../../../multipaxos/types/names.ts';
import type { Timers } from '../../../ports/clock.ts';
import type {
  DatabaseDirectory,
  DirectoryRole,
  DirectoryState,
  Loss,
} from '../../../ports/database-directory.ts';
import type { DatabaseServer, PrimaryDatabase, StandbyDatabase } from '../../../ports/database-server.ts';
import type { PayloadHost } from '../../payload.ts';
import type { ChosenWal } from '../chosen-wal.ts';
import type { Lsn } from '../../../wal/lsn.ts';
import type { Shipper } from '../shipper.ts';
import type { WalPosition } from '../../../wal/position.ts';
import type { Barriers } from './barriers.ts';
import { Signal } from './signal.ts';
import { Stages } from './stages.ts';
import type { StandbyProgress } from './standby-progress.ts';

/** What is being done before PostgreSQL can be used. */
export type LaunchStep = 'creating' | 'starting' | 'preparing' | 'judging';

/** What a phase has come to, and so which one is next. */
export type Next =
  | { readonly kind: 'inspect' }
  | { readonly kind: 'written'; readonly state: DirectoryState }
  | { readonly kind: 'standby'; readonly state: DirectoryState }
  | { readonly kind: 'lost'; readonly loss: Loss }
  | { readonly kind: 'stopped' };

export interface LifeTimings {
  /** How often the position that is in the directory is written to it. */
  readonly saveMs: number;
  /** How often a standby that is behind is asked how far it is. */
  readonly askMs: number;
  /** The same while this replica leads and waits for it. */
  readonly askLeadingMs: number;
  /** A primary of which nothing is heard for so long hangs. */
  readonly hangMs: number;
  readonly pingMs: number;
  /** One that is coming up, and does nothing for so long, hangs: longer than a disk may take for a thing, and than PostgreSQL waits by itself. */
  readonly standstillMs: number;
  /** How long a standby, a question to PostgreSQL or a clean end may keep a new leader, or a replica that stops, waiting. */
  readonly patienceMs: number;
  /** The same of a promotion, and of the first session of the primary that comes of it. */
  readonly promotionMs: number;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
}

/** Who reads at the standby (replica/serving/follower-reads.ts). */
export interface StandbyReaders {
  /** The standby has to replay this for somebody, soon; null: nobody waits. */
  readonly wanted: Slot | null;
  /** It has replayed everything up to `slot`. */
  reached(slot: Slot): void;
  /** Sessions may be let in, or must end: before it is anything else than a standby. Told again and again. */
  letIn(isOpen: boolean): void;
}

export interface LifeOptions {
  readonly host: PayloadHost;
  readonly server: DatabaseServer;
  readonly directory: DatabaseDirectory;
  readonly logger: Logger;
  readonly timers: Timers;
  readonly timings: LifeTimings;
  readonly readers: StandbyReaders;
  readonly entryBytesMax: number;
  readonly shipQueueBytesMax: number;
  /** Roles and the database of a group that is being founded, in a primary whose gate is shut. @throws Error */
  readonly prepare: () => Promise<void>;
  /** Of this replica's own WAL: how long a range took from being proposed to being chosen. */
  readonly onAgreed: (ms: number) => void;
  /** Something of the status has changed. */
  readonly onStep: (step: LaunchStep | null) => void;
  readonly openWal: (state: DirectoryState) => ChosenWal;
  /** Has a copy take the place of what is lost; true when it is there. Tries until the signal ends it; what is only presumed lost is asked for once of each replica. */
  readonly replace: (loss: Loss, ended: AbortSignal) => Promise<boolean>;
  /** What can be told of a directory that holds nothing: it may be made anew, or why not. */
  readonly missing: () => { readonly kind: 'create' } | { readonly kind: 'lost'; readonly loss: Loss };
  /** The log goes on from this slot. */
  readonly logReaches: (slot: Slot) => boolean;
  /** PostgreSQL is up, or why it is not; of a database that replaced another one too. */
  readonly onUp: () => void;
  readonly onDown: (reason: string) => void;
  /** PostgreSQL does not run, and nothing is wrong with what is here: the replica may lead, and it starts then. */
  readonly onMayLead: () => void;
  /** Somebody has paused replay (`pg_wal_replay_pause`), or it goes on. */
  readonly onReplayPaused: (isPaused: boolean) => void;
}

/** What is wished of the database from outside; each phase looks at it whenever `signal` is given. */
export interface Wishes {
  /** This replica leads under this ballot; null: it does not. */
  leading: Ballot | null;
  loss: Loss | null;
  stopping: boolean;
  /** PostgreSQL has ended by itself, or is to be taken for ended. */
  ended: string | null;
}

export class LifeContext {
  readonly options: LifeOptions;
  readonly signal: Signal;
  readonly wishes: Wishes = { leading: null, loss: null, stopping: false, ended: null };
  /** Ends starts that are under way when the replica stops. */
  readonly end = new AbortController();
  wal: ChosenWal | null = null;
  /** While there is one. */
  feed: StandbyDatabase | null = null;
  standby: StandbyProgress | null = null;
  shipper: Shipper | null = null;
  primary: PrimaryDatabase | null = null;
  barriers: Barriers | null = null;
  /** Of this replica's newest leadership. */
  stages: Stages;
  /** Events of the fold that wait until the directory says what the replica is about to be. */
  private heldEvents: ApplyTraceEvent[] | null = null;
  /** Nobody had a better database when one was last asked for: what is here is started, whatever may be wrong with it. */
  hasNoBetter = false;
  /** A comparison of data is under way at this position: nothing beyond it is fed or released. */
  held: Lsn | null = null;
  /** What the directory says. */
  private saved: DirectoryState | null = null;
  private pointerSlot = 0 as Slot;
  /** What was told last of what may become of a primary's directory. */
  private prefixTold = '';

  constructor(options: LifeOptions) {
    this.options = options;
    this.signal = new Signal(options.timers);
    this.stages = new Stages(options.timers);
  }

  get pointer(): Slot {
    return this.pointerSlot;
  }

  get durablePointer(): Slot {
    return this.saved?.position.slot ?? (0 as Slot);
  }

  /** What the directory says of itself, durably; null: there is none to rely on. */
  get durableState(): DirectoryState | null {
    return this.saved;
  }

  get directoryRole(): DirectoryRole | null {
    return this.saved?.role ?? null;
  }

  get position(): WalPosition | null {
    return this.wal?.position ?? null;
  }

  /** A second look at a directory that is as it was tells nothing new. */
  tellPrefix(event: ApplyTraceEvent & { readonly name: 'CheckPrefix' }): void {
    const found = JSON.stringify(event);
    if (found === this.prefixTold) return;
    this.prefixTold = found;
    this.options.host.event(event);
  }

  leads(ballot: Ballot): boolean {
    const { leading } = this.wishes;
    return leading !== null && sameBallot(leading, ballot);
  }

  /** A directory is at hand, and the log goes on from what is in it. */
  take(state: DirectoryState): ChosenWal {
    const { host } = this.options;
    this.saved = state;
    this.wal?.stop();
    const { position } = state;
    host.leadershipKnown(position.leadership);
    if (position.slot > host.commitPoint()) host.restored(position.slot, this.newestConfiguration(state));
    this.wal = this.options.openWal(state);
    this.tell(position.slot);
    void this.wal.catchUp();
    return this.wal;
  }

  private newestConfiguration({ configuration }: DirectoryState): Configuration {
    const known = this.options.host.configuration();
    return configuration !== null && configuration.version > known.version ? configuration : known;
  }

  /** Nothing here can be relied on. */
  drop(): void {
    this.releaseFoldEvents();
    this.wal?.stop();
    this.wal = null;
    this.saved = null;
    this.pointerSlot = 0 as Slot;
  }

  /**
   * What the directory says from now on. `told`: what tells so, in place of a FlushStandby; it is recorded once the directory says it, and before the log is dropped for that.
   */
  async save(
    role: DirectoryRole,
    position: WalPosition,
    told: ApplyTraceEvent | null = null,
  ): Promise<DirectoryState> {
    const state = { role, position, configuration: this.options.host.configuration() };
    await this.options.directory.write(state);
    const from = this.durablePointer;
    const { slot, end } = position;
    this.saved = state;
    this.releaseFoldEvents();
    if (told !== null) this.options.host.event(told);
    else if (slot !== from) this.options.host.event({ name: 'FlushStandby', from, slot, position: end });
    this.tell(this.pointerSlot);
    return state;
  }

  /** Of the fold, in its order. */
  foldEvent(event: ApplyTraceEvent): void {
    if (this.heldEvents === null) this.options.host.event(event);
    else this.heldEvents.push(event);
  }

  /** From the beginning of this replica's own leadership until its directory says so. */
  holdFoldEvents(): void {
    this.heldEvents ??= [];
  }

  private releaseFoldEvents(): void {
    const events = this.heldEvents ?? [];
    this.heldEvents = null;
    const role = this.saved?.role.kind ?? 'copying';
    for (const event of events)
      this.options.host.event(event.name === 'BeginLeadership' ? { ...event, role } : event);
  }

  /** What ends every phase; null: nothing does. */
  over(): Next | null {
    const { stopping, loss, ended } = this.wishes;
    if (stopping) return { kind: 'stopped' };
    if (loss !== null) return { kind: 'lost', loss };
    return ended === null ? null : { kind: 'inspect' };
  }

  /** Nothing of the chosen WAL beyond this may be fed. */
  feedLimit(wal: ChosenWal): Lsn {
    return this.held ?? wal.position.end;
  }

  /** The pointer has moved, perhaps. */
  advance(slot: Slot): void {
    if (slot !== this.pointerSlot) this.tell(slot);
  }

  /** Everything up to `slot` is in the database. */
  tell(slot: Slot): void {
    this.pointerSlot = slot;
    this.options.host.applied(slot, Math.min(this.durablePointer, slot) as Slot);
  }
}
