/**
 * The replica's own PostgreSQL, as the WAL payload needs it: a standby that is fed chosen WAL, or a primary whose WAL is proposed.
 *
 * Does nothing itself. The postgres adapter implements it over real processes.
 */
import type { FunctionsLook } from './client-functions.ts';
import type { Lsn, Timeline } from '../wal/lsn.ts';
import type { WalPosition } from '../wal/position.ts';
import type { NamedRequest, SessionPlace } from './client-service.ts';
import type { SnapshotView } from './digest.ts';

/** How far a standby is. */
export interface StandbyReport {
  readonly written: Lsn;
  readonly flushed: Lsn;
  readonly replayed: Lsn;
}

/** What a standby may be sent. */
export interface FeedSource {
  /** What is chosen, as far as the standby may have it: nothing beyond `end` is sent. */
  position(): WalPosition;
  /**
   * WAL of the chosen chain from `from` on: consecutive pieces, each ending where WAL may be cut; null: there is none beyond `from` now. About `bytesMax` bytes, at least one
   * piece. @throws Error if it is not there any more: the standby needs a copy
   */
  read(from: Lsn, bytesMax: number): readonly Buffer[] | null | Promise<readonly Buffer[] | null>;
  /** The contents of the history file of a timeline. */
  history(timeline: Timeline): string;
}

export interface StandbyHandlers {
  /** Positions on the chain that was sent: what an earlier timeline had beyond its end is not among them. */
  readonly onReport: (report: StandbyReport) => void;
  readonly onStreaming: (from: Lsn, timeline: Timeline) => void;
  /** The connection has ended; PostgreSQL opens another by itself. The reason is PostgreSQL's where it has said one. */
  readonly onStreamEnded: (reason: string) => void;
}

/** What a database says in a new session. `isPaused`, `resumed`: replay is paused by `pg_wal_replay_pause`, or was and goes on now. */
export interface SessionAnswer {
  readonly isPaused: boolean;
  readonly resumed: boolean;
  /** Replay waits for a session to let go of something. PostgreSQL cancels what it does after so long; null: never. Absent: it does not wait. */
  readonly heldUp?: { readonly allowedMs: number | null };
}

export interface StandbyDatabase {
  /** There is more to be sent, or a timeline has ended. */
  more(): void;
  /** Asks for a report, after all that there is has been sent. */
  ask(): void;
  /** True while PostgreSQL takes WAL. */
  readonly streaming: boolean;
  /** Nothing is sent any more, nor told of timelines, until `open`: what is about to be promoted must not hear of its own timeline from others. */
  shut(): void;
  open(): void;
  /** A transaction id that is above all which have ended, and no higher than the next, and the position replayed, in one look. Whatever is asked after `givenUp` does not wait behind it. @throws Error while it lets nobody in */
  look(givenUp: AbortSignal): Promise<{ readonly nextXid: bigint; readonly replayed: Lsn }>;
  /**
   * A question in a session that is opened for it. `resume`: replay that is paused goes on. Too many clients or locks count as an answer, because clients can cause that and a promotion ends their sessions. @throws Error
   * while it lets nobody in; the signal's reason
   */
  answer(wishes: { readonly resume: boolean }, givenUp: AbortSignal): Promise<SessionAnswer>;
  /**
   * Makes a primary of it, on exactly this timeline, which leaves the present one at `fork`: everything below is replayed, and nothing above is fed any more. Takes for ever if PostgreSQL hangs; no other run of PostgreSQL than
   * this one is promoted, however late. @throws Error if it is stopped before, or becomes another one than that
   */
  promote(promotion: Promotion): Promise<PrimaryDatabase>;
}

export interface Promotion {
  readonly timeline: Timeline;
  readonly fork: Lsn;
  /** The contents of the history file of each timeline below that the directory may lack. */
  readonly history: (timeline: Timeline) => string;
  /** Told at the end of each stage, for the log. */
  readonly onStage?: (stage: 'ended' | 'received' | 'completed' | 'promoted') => void;
  /** Processes of readers that were told to end, and have not: they write nothing, and end when PostgreSQL can interrupt them. */
  readonly onLeft?: (processes: readonly number[]) => void;
}

export interface WalStreamHandlers {
  /** What one read has brought: consecutive, each piece ending where WAL may be cut. Views: to be copied or used up at once. */
  readonly onWal: (start: Lsn, pieces: readonly Buffer[]) => void;
  /** A sign of life. */
  readonly onHeard: () => void;
  /** It is over; told once, and never after `close`. */
  readonly onEnd: (reason: string) => void;
}

/** The primary's WAL, and the gate of its commits. */
export interface WalStream {
  /** Everything below is chosen: commits that wait for it return. */
  report(position: Lsn): void;
  /** Asks for a sign of life. */
  ping(): void;
  pause(): void;
  resume(): void;
  close(): void;
}

export interface PrimaryDatabase {
  readonly timeline: Timeline;
  readonly system: bigint;
  /** Above the id of every transaction that has ended, and no higher than the next one's: right after a start it is that. */
  nextXid(): Promise<bigint>;
  /** The end of the WAL that is flushed. */
  flushed(): Promise<Lsn>;
  /** @throws Error with PostgreSQL's reason */
  openStream(from: Lsn, handlers: WalStreamHandlers): Promise<WalStream>;
  /**
   * A commit of its own, which waits like any other. Resolves when it is under way, with a position: everything that was visible at the call is chosen when the WAL up to there is. Whether it waits that long decides nothing,
   * for others can end a wait. @throws Error if its session was ended before, or PostgreSQL is away
   */
  barrier(): Promise<Lsn>;
  /** Full ids of the transactions that these backends have open. @throws Error */
  openTransactions(pids: readonly number[]): Promise<ReadonlyMap<number, bigint>>;
  /** Cancels what this backend executes. `committing`: it makes a commit durable or waits for its standby, and was not cancelled. @throws Error */
  cancel(pid: number): Promise<'done' | 'committing'>;
  /** As a standby's: whether it answers a new session is all that is asked. */
  readonly answer: StandbyDatabase['answer'];
  /** How many sessions make a commit durable or wait for the standby with it. @throws Error; the signal's reason */
  committing(givenUp: AbortSignal): Promise<number>;
}

/**
 * `committed`, `aborted`: for good, as of what this PostgreSQL has replayed or recovered. `prepared`: for two-phase commit. `open`: not decided there. `unknown`: it is too old, or was never heard of.
 */
export type TransactionStatus = 'committed' | 'aborted' | 'prepared' | 'open' | 'unknown';

export interface DatabaseInfo {
  readonly pid: number | null;
  readonly socketDir: string;
  readonly port: number;
  readonly version: string | null;
}

/**
 * What PostgreSQL has counted. `damagedPages`: with a wrong checksum, since its counters began; `ended`: transactions, its own included; `nextXid`: each that writes takes at least one. `flushes`: of its WAL, and the milliseconds that
 * they took together.
 */
export interface Checkup {
  readonly damagedPages: number;
  readonly ended: number;
  readonly nextXid: bigint;
  readonly flushes: { readonly count: number; readonly ms: number };
}

/**
 * What a part of the files that PostgreSQL needs is like. `damaged`: something is missing, empty that never is, shorter than it was for no reason, or not what it was and has to stay, unless it was dropped in this moment. `refused`: no session of ours is let in, for a reason of PostgreSQL's own.
 * `unknown`: this part could not be looked at.
 */
export type FileFinding =
  | { readonly code: 'whole' }
  | { readonly code: 'unknown' }
  | { readonly code: 'damaged' | 'refused'; readonly reason: string };

/** `fast`: a checkpoint is made, and all its WAL is sent first. `immediate`: at once, as after a crash; `kill`: the same, also of processes that hang. */
export type StopMode = 'fast' | 'immediate' | 'kill';

export interface DatabaseServer {
  /** Wherever it was ended before, in whatever it was receiving. @throws LaunchError; the signal's reason */
  startStandby(source: FeedSource, handlers: StandbyHandlers, ended: AbortSignal): Promise<StandbyDatabase>;
  /** After a crash it recovers first; its sessions find the gate shut from their beginning. @throws LaunchError; the signal's reason */
  startPrimary(ended: AbortSignal): Promise<PrimaryDatabase>;
  /** No process is left when it resolves. */
  stop(mode: StopMode): Promise<void>;
  /** Calls back when it ends without `stop`. `damage`: a standby met it in its files, which ended it; null: nothing of the kind is known. */
  onExit(listener: (reason: string, damage: string | null) => void): () => void;
  /** False as soon as its main process is gone, before any other process can have noticed. Some microseconds. */
  isAlive(): boolean;
  /**
   * How many waits of commits PostgreSQL has ended before they were chosen, since it was started, as far as it has said until now: what was so committed became visible after it was said. Some microseconds; reads its log
   * to the end at each call.
   */
  endedWaits(): number;
  /** False if the main process does not do anything, though it is there (it was stopped by a signal). */
  isMoving(): boolean;
  /**
   * A mark of what has been done to bring it up, to replay its WAL above all: the same mark later, and nothing has been done in between. Null: there is no process, or the system does not tell. Some milliseconds.
   */
  workMark(): Promise<string | null>;
  /** A client is about to read at this standby: what it locks there is watched from now on. */
  readerComes(): void;
  /** As this PostgreSQL knows it; works on a standby, too. @throws Error while it lets nobody in */
  statusOf(xid: bigint): Promise<TransactionStatus>;
  /** What a snapshot that is taken now shows. Of a standby `running` is empty, for PostgreSQL does not tell there what runs. In a session of its own: nothing else is waited for. @throws Error while it lets nobody in; the signal's reason */
  snapshot(givenUp: AbortSignal): Promise<SnapshotView>;
  /** Which of these a snapshot that is taken now shows; all are below the end of one that was taken before. As `snapshot`. @throws Error */
  shownAmong(xids: readonly bigint[], givenUp: AbortSignal): Promise<readonly bigint[]>;
  /** The command tag with which a named transaction was committed; null: it was not; `unknown`: its role is gone, or the database is another one of that name; `tag` null: it was not kept. As `statusOf`. @throws Error */
  committedRequest(request: NamedRequest): Promise<{ readonly tag: string | null } | 'unknown' | null>;
  /** What a session of this kind changes may not all be rows of its database: foreign servers, extensions, a setting that says so. True where the role or the database is not there any more. As `statusOf`. @throws Error */
  mayActElsewhere(session: SessionPlace): Promise<boolean>;
  /** The functions of this database's clients; `known`: the mark of an earlier look. As `statusOf`. @throws Error */
  lookAtFunctions(database: string, known: string | null): Promise<FunctionsLook>;
  /** Works on a standby, too. @throws Error while it lets nobody in */
  checkup(): Promise<Checkup>;
  /** Looks at the next part of the files, in a session that is opened for it; the same part again after something was found. Works on a standby, too. @throws Error if the files cannot be looked at */
  lookAtFiles(): Promise<FileFinding>;
  info(): DatabaseInfo;
}
