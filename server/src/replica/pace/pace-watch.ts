/**
 * How fast this replica would commit, what others tell of themselves, and a hand-over to one that is much faster (docs/adr/0040).
 *
 * Responsible for: measuring, telling, and asking for the hand-over, which is the planned one (consensus/hand-over.ts). Who is better is decided in better-leader.ts. Times are those of this replica's clock; what is decided is counted
 * in looks.
 */
import type { Logger } from 'pino';
import { noHandOvers, type HandOverEnd } from '../../api/measures.ts';
import type { PaceReport } from '../../api/status.ts';
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { Pace } from '../../multipaxos/types/messages.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { HandOverOutcome, HandOverWishes } from '../consensus/hand-over.ts';
import { type BetterLeader, BetterLeaderFinder, type OtherPace } from './better-leader.ts';
import { LinkTimes, linkQuestion, readLink } from './link-times.ts';
import { RecentTimes } from './recent-times.ts';

export interface PaceWatchOptions {
  readonly self: ReplicaId;
  readonly nowMs: () => number;
  /** For how long what is given to the log has not become durable; null: nothing is. */
  readonly logBusyMs: () => number | null;
  /** This replica leads and serves clients. */
  readonly leads: () => boolean;
  /** Incarnations. */
  readonly voters: () => readonly ReplicaId[];
  /** Of a leader: for how long each other member has answered nothing. */
  readonly silences: () => ReadonlyMap<ReplicaId, number>;
  /** The leader wants to know how far others are from each other. */
  readonly linksAsked: () => boolean;
  readonly sendLink: (to: ReplicaId, bytes: Uint8Array) => void;
  readonly handOver: (wishes: HandOverWishes) => Promise<HandOverOutcome>;
  /** False: it is told only. */
  readonly mayHandOver: boolean;
  readonly logger: Logger;
}

/** Of looks with a write: 6 s, where each has one. */
const logTimes = { newest: 20, looksMax: 100 } as const;
/** Of checkups, which come every two seconds. */
const databaseTimes = { newest: 5, looksMax: 30 } as const;
/** So many times make a value that is told, and one that is acted upon: a single flush of two seconds is seen in seven looks. */
const told = { log: 3, database: 2 } as const;
const actedUpon = { log: 10, database: 3 } as const;
/** What another replica has told counts for so many looks. */
const toldLooks = 10;
/** Links are asked for once in so many looks. */
const askEveryLooks = 3;
/** From here on a leader wants to know whether others are nearer to each other. */
const farMs = 100;
/** Transactions, and then the last WAL, have a few flushes more to end, within bounds: what a commit takes is seen too small at first. */
const flushes = 4;
const transactionMsMin = 1000;
const settleMsMin = 1500;
const endMsMax = 10_000;
/** A successor answers over the same links. */
const answerMsMin = 300;
const answerMsMax = 3000;

export class PaceWatch {
  /** How often leadership was to move, by what came of it. */
  ends: Readonly<Record<HandOverEnd, number>> = noHandOvers;
  private readonly options: PaceWatchOptions;
  private readonly finder = new BetterLeaderFinder();
  private readonly log = new RecentTimes(logTimes);
  private readonly database = new RecentTimes(databaseTimes);
  private readonly links = new LinkTimes();
  private flushes = { sumMs: 0, count: 0 };
  private readonly others = new Map<ReplicaId, { readonly pace: Pace; readonly look: number }>();
  private looks = 0;
  private underWay: BetterLeader | null = null;

  constructor(options: PaceWatchOptions) {
    this.options = options;
  }

  // ------------------------------------------------------------------------------------------------- what is measured

  /** A group has become durable in the log. */
  flushed(tookMs: number): void {
    this.flushes.sumMs += tookMs;
    this.flushes.count += 1;
  }

  /** PostgreSQL's counters were read: a flush of its WAL took so long since the last time; null: there was none. */
  databaseFlushed(ms: number | null): void {
    this.database.take(ms);
  }

  /** It is another PostgreSQL. */
  databaseRenewed(): void {
    this.database.clear();
  }

  /** Another member has answered this leader. */
  answered(from: ReplicaId, tookMs: number, pace: Pace | null): void {
    this.links.answered(from, tookMs);
    if (pace !== null) this.others.set(from, { pace, look: this.looks });
  }

  /** What another member asks or answers about its link to this one. */
  takeLink(from: ReplicaId, bytes: Uint8Array): void {
    const read = readLink(bytes, this.options.nowMs());
    if (read === null) return;
    if ('answer' in read) this.options.sendLink(from, read.answer);
    else this.links.answered(from, read.tookMs);
  }

  // ------------------------------------------------------------------------------------------------- what is told

  /** With this replica's answers to heartbeats; null: nothing is known. */
  get pace(): Pace | null {
    const pace = this.paceOf(told);
    return pace.logMs === null && pace.databaseMs === null && pace.quorumMs === null ? null : pace;
  }

  get report(): PaceReport | null {
    return this.pace === null ? null : { ...this.pace, slow: this.finder.slow };
  }

  /** Of a leader, with its heartbeats. */
  get asksLinks(): boolean {
    return this.options.leads() && (this.quorumMs() ?? 0) >= farMs;
  }

  /** For people; null: nothing is slow. */
  get message(): string | null {
    if (this.underWay !== null) return `Leadership is handed over to ${whyOf(this.underWay)}.`;
    if (!this.finder.slow) return null;
    return `${slowness(this.paceOf(told))}.${this.options.leads() ? ' No other voter is known to be much faster, or leadership moved a short time ago.' : ''}`;
  }

  private paceOf(least: typeof told | typeof actedUpon): Pace {
    return {
      logMs: this.log.median(least.log),
      databaseMs: this.database.median(least.database),
      quorumMs: this.quorumMs(),
    };
  }

  private quorumMs(): number | null {
    const voters = this.options.voters();
    const others = voters.filter((name) => name !== this.options.self);
    return this.links.quorumMs(others, Math.floor(voters.length / 2) + others.length - voters.length + 1);
  }

  // ------------------------------------------------------------------------------------------------- what is done

  /** One look. */
  tick(): void {
    const { options, flushes } = this;
    this.looks += 1;
    const busyMs = options.logBusyMs();
    const meanMs = flushes.count === 0 ? null : flushes.sumMs / flushes.count;
    this.flushes = { sumMs: 0, count: 0 };
    this.log.take(meanMs === null ? busyMs : Math.max(meanMs, busyMs ?? 0));
    this.lookAtLinks();
    const better = this.finder.look({
      leads: options.leads(),
      own: this.paceOf(actedUpon),
      others: this.othersNow(),
    });
    if (better !== null && options.mayHandOver && this.underWay === null) void this.handOver(better);
  }

  private lookAtLinks(): void {
    const { options } = this;
    const others = options.voters().filter((name) => name !== options.self);
    const silences = options.silences();
    // One that answers in time is silent for less than a look or two.
    this.links.look(others, (name) => {
      const ms = silences.get(name);
      return ms === undefined || ms < 1000 ? null : ms;
    });
    if (!options.linksAsked() || this.looks % askEveryLooks !== 0) return;
    for (const name of others) options.sendLink(name, linkQuestion(options.nowMs()));
  }

  private othersNow(): readonly OtherPace[] {
    const voters = this.options.voters();
    const found: OtherPace[] = [];
    for (const [name, { pace, look }] of this.others) {
      if (!voters.includes(name) || this.looks - look > toldLooks) this.others.delete(name);
      else found.push({ replica: replicaOf(name), pace });
    }
    return found;
  }

  private async handOver(better: BetterLeader): Promise<void> {
    const { logger, handOver } = this.options;
    const { replica, ownMs, part } = better;
    const bounded = (ms: number, least: number, most: number): number =>
      Math.round(Math.min(most, Math.max(least, ms)));
    this.underWay = better;
    this.finder.attempted();
    const pace = this.paceOf(told);
    logger.warn({ to: replica, part, pace }, `leadership is handed over to ${whyOf(better)}`);
    const outcome = await handOver({
      to: replica,
      transactionMs: bounded(flushes * ownMs + transactionMsMin, transactionMsMin, endMsMax),
      settleMs: bounded(flushes * ownMs, settleMsMin, endMsMax),
      answerMs: bounded(2 * (pace.quorumMs ?? 0), answerMsMin, answerMsMax),
    });
    this.underWay = null;
    this.ends = { ...this.ends, [outcome.code]: this.ends[outcome.code] + 1 };
    if (outcome.code !== 'done') logger.warn({ outcome }, 'leadership stays at a slow replica');
  }
}

function whyOf({ replica, part, ownMs, theirMs }: BetterLeader): string {
  const what = part === 'disk' ? 'the disk of this replica is slow' : 'this replica is far from its quorum';
  return `${replica}: ${what}, and a commit takes about ${whole(ownMs)} ms here and ${whole(theirMs)} ms there`;
}

function slowness({ logMs, databaseMs, quorumMs }: Pace): string {
  const parts = [
    ...(logMs === null ? [] : [`a flush of the log takes ${whole(logMs)} ms`]),
    ...(databaseMs === null ? [] : [`a flush of PostgreSQL's WAL ${whole(databaseMs)} ms`]),
    ...(quorumMs === null ? [] : [`the answer of a quorum ${whole(quorumMs)} ms`]),
  ];
  return `Commits are slow at this replica: ${parts.join(', ')}`;
}

function whole(ms: number): string {
  return Math.round(ms).toLocaleString('en');
}
