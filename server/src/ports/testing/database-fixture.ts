/**
 * What the contract of DatabaseServer and DatabaseDirectory is run against, and a log of chosen WAL to run it with.
 *
 * A fixture is one replica's PostgreSQL, real or modelled, with one table of values. The log stands for consensus: what a primary sends is chosen when the test says so, and standbys are fed it by the product's own ChosenWal.
 */
import { ChosenWal } from '../../payload/wal/chosen-wal.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';
import { ballot, leadership, slots, start } from '../../payload/wal/testing/entries.ts';
import { timelineFile } from '../../wal/timeline-file.ts';
import { encodeRange } from '../../payload/wal/wal-entry.ts';
import { foldEntry } from '../../payload/wal/wal-history.ts';
import { positionNone, type WalPosition } from '../../wal/position.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { GroupId, Slot } from '../../multipaxos/types/names.ts';
import type { Timers } from '../clock.ts';
import type { DatabaseDirectory } from '../database-directory.ts';
import type { DatabaseServer, FeedSource, StandbyDatabase, StandbyReport } from '../database-server.ts';

/** A session of the superuser. One thing at a time; each rejects when the session is lost. */
export interface TestSession {
  readonly pid: number;
  /** Within a transaction that it begins, if there is none. */
  put(value: string): Promise<void>;
  /** Of the transaction that is open. */
  xid(): Promise<bigint>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  prepare(name: string): Promise<void>;
  commitPrepared(name: string): Promise<void>;
  /** Its commits wait for this PostgreSQL's disk, and for nobody else. */
  distrust(): Promise<void>;
  /** What is visible, in the order of `put`. */
  values(): Promise<readonly string[]>;
  close(): void;
}

export interface DatabaseFixture {
  readonly server: DatabaseServer;
  readonly directory: DatabaseDirectory;
  readonly timers: Timers;
  /** Makes the table, by commits that wait for nobody. The gate is shut. */
  makeTable(): Promise<void>;
  connect(): Promise<TestSession>;
  /** The sessions whose commits wait, whosever they are. */
  waiting(): Promise<readonly number[]>;
  cancel(pid: number): Promise<void>;
  terminate(pid: number): Promise<void>;
  /** kill -9 of the main process. Returns when the system has been told. */
  killMain(): void;
  /** SIGSTOP and SIGCONT of the main process. */
  stand(): void;
  goOn(): void;
  /** The next transaction of this database, which does not run, has this id or a higher one. Null: that cannot be had here. */
  readonly raiseXid: ((xid: bigint) => Promise<void>) | null;
  /** The rest of the segment at hand stays empty. Null: that cannot be had here. */
  readonly switchSegment: (() => Promise<void>) | null;
  /** As PostgreSQL's first step of a promotion leaves it: a history file, and nothing else. Nothing runs. */
  beginPromotion(timeline: Timeline, history: string): Promise<void>;
  /** Another replica, whose directory is a copy of this one's as it is. Nothing runs in either. */
  clone(): Promise<DatabaseFixture>;
  dispose(): Promise<void>;
}

export const never = new AbortController().signal;
const group = 'g' as GroupId;

/** The chosen log. Its leaders are those of ballots 1, 2 and so on. */
export class TestLog {
  readonly entries: Entry[] = [];
  private readonly followers: (() => void)[] = [];
  private requests = 0;
  private chosen: WalPosition = positionNone;

  get position(): WalPosition {
    return this.chosen;
  }

  private append(...entries: readonly Entry[]): void {
    for (const slotEntry of slots(entries, this.entries.length + 1)) {
      const { position, effect } = foldEntry(this.chosen, slotEntry);
      if (effect.kind === 'nobodys') throw new Error(`the test has that chosen in vain: ${effect.why}`);
      this.chosen = position;
      this.entries.push(slotEntry.entry);
    }
    for (const tell of this.followers) tell();
  }

  /** A leadership of the next ballot begins. `unused`: so many numbers before its timeline's were given to leaders that never wrote. */
  lead(at: Lsn, { system = 7n, nextXid = 1000n, resumes = false }: Partial<LeadOptions> = {}): Timeline {
    const round = this.chosen.leadership.round + 1;
    const timeline = resumes ? this.chosen.timeline : this.chosen.timeline + 1;
    this.append(start(ballot(round)), leadership(ballot(round), timeline, at, { system, nextXid, resumes }));
    return timeline as Timeline;
  }

  /** WAL of the newest leadership, where the chosen WAL ends. */
  add(pieces: readonly Uint8Array[]): void {
    const { leadership: of, timeline, end } = this.chosen;
    const payload = encodeRange({ leadership: of, timeline, start: end }, pieces);
    this.requests += 1;
    const proposal = { client: 'contract', request: this.requests };
    this.append({ kind: 'command', group, proposal, payload });
  }

  /** The chosen WAL for a replica whose directory has `base`. */
  follow(base: WalPosition, directory: DatabaseDirectory, timers: Timers, onMore: () => void): ChosenWal {
    const wal = new ChosenWal({
      base,
      log: {
        read: (from, to) => Promise.resolve(this.entries.slice(from - 1, to)),
      },
      commitPoint: () => this.entries.length as Slot,
      readLocal: (from, timeline, bytesMax) => directory.readWal(from, timeline, bytesMax),
      onEffect: onMore,
      onMissing: (reason) => {
        throw new Error(reason);
      },
      onFailed: (error) => {
        throw error;
      },
      ringBytesMax: 1024 * 1024,
      timers,
    });
    this.followers.push(() => void wal.catchUp());
    return wal;
  }
}

interface LeadOptions {
  readonly system: bigint;
  readonly nextXid: bigint;
  readonly resumes: boolean;
}

/** A standby that is fed from the log, and what it has said. */
export class FedStandby {
  readonly fixture: DatabaseFixture;
  readonly wal: ChosenWal;
  readonly reports: StandbyReport[] = [];
  readonly streamed: string[] = [];
  standby!: StandbyDatabase;
  /** Nothing of the chosen WAL beyond it is fed; null: there is no bound. */
  limit: Lsn | null = null;
  /** From this timeline on there is the limit. */
  limitedFrom = 1 as Timeline;
  private timeline = 1 as Timeline;

  private constructor(fixture: DatabaseFixture, log: TestLog, base: WalPosition) {
    this.fixture = fixture;
    this.wal = log.follow(base, fixture.directory, fixture.timers, () => this.more());
  }

  /** `base`: what the directory has. */
  static async start(fixture: DatabaseFixture, log: TestLog, base: WalPosition): Promise<FedStandby> {
    const fed = new FedStandby(fixture, log, base);
    await fed.wal.catchUp();
    await fed.launch();
    return fed;
  }

  /** Again, after it was stopped. */
  async launch(): Promise<void> {
    const source: FeedSource = {
      position: () => this.wal.position,
      read: (from, bytesMax) => {
        const isLimited = this.limit !== null && this.timeline >= this.limitedFrom;
        return this.wal.read(from, isLimited ? this.limit! : this.wal.position.end, bytesMax);
      },
      history: (timeline) => timelineFile(this.wal.position, timeline),
    };
    const { server } = this.fixture;
    const onReport = (report: StandbyReport): void => void this.reports.push(report);
    const onStreaming = (from: Lsn, timeline: Timeline): void => {
      this.timeline = timeline;
      this.streamed.push(`${timeline} ${from}`);
    };
    const handlers = { onReport, onStreaming, onStreamEnded: () => undefined };
    this.standby = await server.startStandby(source, handlers, never);
  }

  private more(): void {
    (this.standby as StandbyDatabase | undefined)?.more();
  }

  get replayed(): Lsn {
    return Math.max(0, ...this.reports.map(({ replayed }) => replayed)) as Lsn;
  }

  get flushed(): Lsn {
    return Math.max(0, ...this.reports.map(({ flushed }) => flushed)) as Lsn;
  }

  /** What it says of itself, as soon as it lets anybody in. */
  async look(): ReturnType<StandbyDatabase['look']> {
    const seen: Awaited<ReturnType<StandbyDatabase['look']>>[] = [];
    await until(this.fixture.timers, async () => {
      seen.push(
        ...(await this.standby.look(never).then(
          (one) => [one],
          () => [],
        )),
      );
      return seen.length > 0;
    });
    return seen[0]!;
  }

  /** Everything that is chosen, and may be fed, is replayed. */
  async untilReplayed(to: Lsn): Promise<void> {
    await until(this.fixture.timers, () => {
      this.standby.ask();
      return this.replayed >= to;
    });
  }
}

export function pass(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => timers.after(ms, resolve));
}

/** @throws Error if it has not come to hold within 20 s */
export async function until(timers: Timers, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = timers.nowMs() + 20_000;
  while (!(await holds())) {
    if (timers.nowMs() > deadline) throw new Error('what the test waits for does not come to pass');
    await pass(timers, 10);
  }
}
