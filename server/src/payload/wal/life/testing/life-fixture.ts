/**
 * The phases of a database's life one by one: the host and the server note what is asked of them, the directory is on a modelled disk, and the log is what the test says.
 *
 * Responsible for: what is around a phase. Which phase runs, and on what, is the test's.
 */
import { pino } from 'pino';
import type { ApplyTraceEvent } from '../../../../api/events.ts';
import type { Entry, SlotEntry } from '../../../../multipaxos/types/entries.ts';
import type { Ballot, ReplicaId, Slot } from '../../../../multipaxos/types/names.ts';
import type { DirectoryRole, DirectoryState } from '../../../../ports/database-directory.ts';
import type {
  DatabaseServer,
  PrimaryDatabase,
  SessionAnswer,
  StandbyDatabase,
  StandbyHandlers,
  WalStream,
} from '../../../../ports/database-server.ts';
import { Random } from '../../../../ports/testing/random.ts';
import { SimulatedTime } from '../../../../ports/testing/simulated-time.ts';
import type { Lsn } from '../../../../wal/lsn.ts';
import { positionNone, type WalPosition } from '../../../../wal/position.ts';
import type { PayloadHost, ProposeResult } from '../../../payload.ts';
import { ModelDirectory } from '../../testing/model-directory.ts';
import { ModelDisk } from '../../testing/model-disk.ts';
import { slots } from '../../testing/entries.ts';
import { foldEntry } from '../../wal-history.ts';
import { WalPayload } from '../../wal-payload.ts';
import type { LifeContext } from '../context.ts';

export const timings = {
  saveMs: 1000,
  askMs: 200,
  askLeadingMs: 5,
  hangMs: 2000,
  pingMs: 250,
  standstillMs: 10_000,
  patienceMs: 5000,
  promotionMs: 10_000,
  retryMinMs: 100,
  retryMaxMs: 5000,
} as const;

export class LifeFixture {
  readonly time = new SimulatedTime();
  readonly disk = new ModelDisk();
  readonly directory = new ModelDirectory(this.disk, this.time, new Random(1));
  /** What the host and the server were told, in order. */
  readonly story: string[] = [];
  readonly events: ApplyTraceEvent[] = [];
  /** All of it is chosen. */
  readonly log: Entry[];
  readonly payload: WalPayload;
  /** Entries are read from the log when this resolves. */
  logIsRead: Promise<void> = Promise.resolve();
  startPrimary: () => Promise<PrimaryDatabase> = () => Promise.reject(new Error('it does not start'));
  /** Consensus has chosen this replica to lead, and waits for its database. */
  isAwaited = false;
  propose: () => ProposeResult = () => ({ code: 'notLeader' });
  handlers: StandbyHandlers | null = null;
  /** How often the standby was fed what waits to be gathered, and asked how far it is. */
  asks = 0;
  /** Who reads at the standby. */
  readonly readers = {
    wanted: null as Slot | null,
    isLetIn: false,
    reachedSlot: 0 as Slot,
    reached(slot: Slot) {
      this.reachedSlot = slot;
    },
    letIn(isOpen: boolean) {
      this.isLetIn = isOpen;
    },
  };
  /** What the standby answers to a question. */
  answer: (wishes: { readonly resume: boolean }) => Promise<SessionAnswer> = () =>
    Promise.resolve({ isPaused: false, resumed: false });
  /** What a look at the standby shows. */
  look: StandbyDatabase['look'] = () => Promise.reject(new Error('it lets nobody in'));
  /** PostgreSQL has ended in order when this resolves. */
  endsInOrder: Promise<void> = Promise.resolve();

  constructor(log: readonly Entry[]) {
    this.log = [...log];
    this.payload = new WalPayload({
      host: this.host(),
      server: this.server(),
      directory: this.directory,
      logger: pino({ level: 'silent' }),
      timers: this.time,
      timings,
      readers: this.readers,
      entryBytesMax: 1_000_000,
      shipQueueBytesMax: 1_000_000,
      log: {
        read: async (from, to) => {
          await this.logIsRead;
          return this.log.slice(from - 1, to);
        },
      },
      ringBytesMax: 1_000_000,
      prepare: () => Promise.resolve(),
      missing: () => ({ kind: 'create' }),
      logReaches: () => true,
      replace: () => Promise.resolve(false),
      onAgreed: () => undefined,
      onStep: () => undefined,
      onUp: () => undefined,
      onDown: () => undefined,
      onMayLead: () => undefined,
      onReplayPaused: () => undefined,
      onVerify: () => undefined,
      onFolding: () => undefined,
      onLeadership: () => undefined,
    });
  }

  get context(): LifeContext {
    return this.payload.context;
  }

  get commitPoint(): Slot {
    return this.log.length as Slot;
  }

  /** Chosen just now. */
  choose(...entries: readonly Entry[]): void {
    const first = this.log.length + 1;
    this.log.push(...entries);
    const chosen: SlotEntry[] = slots(entries, first);
    this.payload.chosen(chosen);
  }

  private host(): PayloadHost {
    return {
      member: 'r1' as ReplicaId,
      commitPoint: () => this.commitPoint,
      isAwaited: () => this.isAwaited,
      isWriting: () => false,
      groupIntervalMs: () => null,
      configuration: () => ({ version: 0, slot: 0 as Slot, members: [] }),
      propose: () => this.propose(),
      applied: () => undefined,
      restored: () => undefined,
      copyAwaited: () => undefined,
      leadershipKnown: ({ round, replica }) => this.story.push(`known: ${round} of ${replica}`),
      stepDown: () => this.story.push('step down'),
      opening: () => undefined,
      ready: () => this.story.push('ready'),
      unready: (reason) => this.story.push(`unready: ${reason}`),
      event: (event) => {
        if (event.name === 'BeginLeadership') this.story.push(`began: ${event.role}`);
        this.events.push(event);
      },
      isTraced: false,
      fatal: (error) => {
        throw error;
      },
    };
  }

  private server(): DatabaseServer {
    const nothing = (): Promise<never> => Promise.reject(new Error('not asked in these tests'));
    return {
      startStandby: (_source, handlers) => {
        this.handlers = handlers;
        return Promise.resolve(this.silentStandby());
      },
      startPrimary: () => {
        this.story.push('start');
        return this.startPrimary();
      },
      stop: (mode) => {
        this.story.push(`stop: ${mode}`);
        return mode === 'fast' ? this.endsInOrder : Promise.resolve();
      },
      onExit: () => () => undefined,
      isAlive: () => true,
      endedWaits: () => 0,
      isMoving: () => true,
      readerComes: () => undefined,
      workMark: () => Promise.resolve(null),
      statusOf: nothing,
      snapshot: nothing,
      shownAmong: nothing,
      committedRequest: nothing,
      mayActElsewhere: nothing,
      lookAtFunctions: nothing,
      checkup: nothing,
      lookAtFiles: nothing,
      info: () => ({ pid: 1, socketDir: '', port: 0, version: null }),
    };
  }

  /** It says what its test says. */
  private silentStandby(): StandbyDatabase {
    return {
      more: () => undefined,
      ask: () => {
        this.asks += 1;
      },
      streaming: true,
      shut: () => undefined,
      open: () => undefined,
      look: (signal) => this.look(signal),
      answer: (wishes) => this.answer(wishes),
      promote: () => Promise.reject(new Error('it cannot be promoted')),
    };
  }
}

export const silentStream: WalStream = {
  report: () => undefined,
  ping: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
  close: () => undefined,
};

/** A primary of which nothing is heard. */
export function silentPrimary(
  rest: Partial<PrimaryDatabase> & Pick<PrimaryDatabase, 'timeline'>,
): PrimaryDatabase {
  return {
    system: 7n,
    nextXid: () => Promise.resolve(1000n),
    flushed: () => Promise.resolve(0 as Lsn),
    openStream: () => Promise.resolve(silentStream),
    barrier: () => new Promise(() => undefined),
    openTransactions: () => Promise.resolve(new Map()),
    cancel: () => Promise.resolve('done'),
    answer: () => Promise.resolve({ isPaused: false, resumed: false }),
    committing: () => Promise.resolve(0),
    ...rest,
  };
}

/** What the first of them come to. */
export function positionAfter(entries: readonly Entry[], count = entries.length): WalPosition {
  let position = positionNone;
  for (const slotEntry of slots(entries.slice(0, count))) ({ position } = foldEntry(position, slotEntry));
  return position;
}

export function stateOf(role: DirectoryRole, position: WalPosition): DirectoryState {
  return { role, position, configuration: null };
}

export function primaryOf(leadership: Ballot): DirectoryRole {
  return { kind: 'primary', leadership };
}
