/**
 * A planned hand-over of leadership, in the order in which it has to go: a successor that is ready, no new work, the end of what is under way, all of the WAL chosen, and the resignation (multipaxos/hand-over.ts).
 *
 * Responsible for: the order, its bounds, and serving again where it does not come to the resignation. Decides nothing about votes or leases. Invariants: one at a time; each wait is bounded; who was asked hears what became of it.
 */
import type { Logger } from 'pino';
import { noHandOvers } from '../../api/measures.ts';
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { HandOverCode } from '../../multipaxos/types/effects.ts';
import type { Ballot, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import type { LeadAnswer, LeadQuestion } from '../../ports/control.ts';
import type { PrimaryDatabase } from '../../ports/database-server.ts';
import type { Transport } from '../../ports/transport.ts';
import type { Lsn } from '../../wal/lsn.ts';

export interface HandOverOptions {
  readonly self: ReplicaId;
  /** Names this life of the process. */
  readonly run: string;
  readonly transport: Pick<Transport, 'sendControl'>;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly leadership: () => {
    readonly serving: boolean;
    readonly leader: ReplicaId | null;
    readonly ballot: Ballot;
  };
  /** Another one leads, and says that clients are served there. */
  readonly leaderServes: () => boolean;
  /** Incarnations. */
  readonly voters: () => readonly ReplicaId[];
  readonly commitPoint: () => Slot;
  /** How many slots a successor may have yet to replay. */
  readonly lagSlotsMax: number;
  readonly service: {
    /** Null: nobody is served here. */
    readonly servedUnder: Ballot | null;
    drain(reason: string): void;
    drained(): Promise<void>;
    serveElsewhere(leader: ReplicaId | null, reason: string): void;
    serveHere(ballot: Ballot): void;
  };
  /** A change of the members is being chosen. */
  readonly isChanging: () => boolean;
  /** A comparison of the data, which may hold back commits, is given up: it would end with the leadership in any case. */
  readonly makeWay: (reason: string) => void;
  readonly primary: () => PrimaryDatabase | null;
  /** No more of PostgreSQL's WAL is proposed, until it is to be again. */
  readonly rest: (isResting: boolean) => void;
  readonly awaitChosen: (lsn: Lsn, signal: AbortSignal) => Promise<boolean>;
  /** Has the others hear of the commit point, and then asks the core. */
  readonly announce: () => void;
  readonly resign: (successor: ReplicaId) => void;
}

export interface HandOverWishes {
  /** Null: whoever is readiest. */
  readonly to: ReplicaId | null;
  /** How long transactions that are open, and statements that run, have to end. */
  readonly transactionMs: number;
  /** How long another leader is waited for, once this one has resigned. Default: longer than an election takes that begins with a time-out. */
  readonly electedMs?: number;
  /** How long it is waited until the next leader serves clients, which it does when its PostgreSQL is promoted. Default: not at all. */
  readonly servedMs?: number;
  /** How long others have to say that they are ready. Default: enough for links that are not slow. */
  readonly answerMs?: number;
  /** From the moment at which nobody is served any more until the WAL is chosen and the successor knows. Default: enough for a disk that is not slow. */
  readonly settleMs?: number;
}

export type HandOverOutcome =
  | { readonly code: 'done'; readonly leader: ReplicaId; readonly tookMs: number }
  | { readonly code: 'notLeader' }
  | { readonly code: 'busy' | 'noSuccessor' | 'timedOut'; readonly reason: string };

/** Whoever is ready says so within this time. */
const answerMsDefault = 300;
const settleMsDefault = 1500;
/** The readiest has so long to hear of all that is chosen before the others who are ready may lead as well. */
const preferredMs = 100;
const electedMsDefault = 5000;
const retryMs = 2;
const servesLookMs = 10;
const stopping = 'leadership is being handed over';

export class HandOver {
  /** How often each outcome was told. */
  ends: Readonly<Record<HandOverOutcome['code'], number>> = noHandOvers;
  private readonly options: HandOverOptions;
  private underWay = false;
  private asked = 0;
  private answerMs = answerMsDefault;
  private answers = new Map<ReplicaId, LeadAnswer>();
  private said: HandOverCode | null = null;

  constructor(options: HandOverOptions) {
    this.options = options;
  }

  /** Never rejects. */
  async run(wishes: HandOverWishes): Promise<HandOverOutcome> {
    const outcome = await this.runAlone(wishes);
    this.ends = { ...this.ends, [outcome.code]: this.ends[outcome.code] + 1 };
    return outcome;
  }

  private async runAlone(wishes: HandOverWishes): Promise<HandOverOutcome> {
    if (this.underWay) return { code: 'busy', reason: 'A hand-over is under way already.' };
    this.underWay = true;
    try {
      return await this.handOver(wishes);
    } finally {
      this.underWay = false;
    }
  }

  private async handOver({
    to,
    transactionMs,
    electedMs = electedMsDefault,
    servedMs = 0,
    answerMs = answerMsDefault,
    settleMs = settleMsDefault,
  }: HandOverWishes): Promise<HandOverOutcome> {
    const { service, timers, logger } = this.options;
    const ballot = service.servedUnder;
    if (ballot === null) return { code: 'notLeader' };
    this.answerMs = answerMs;
    const found = await this.findSuccessors(to);
    if ('reason' in found) return { code: 'noSuccessor', reason: found.reason };
    if (service.servedUnder !== ballot) return { code: 'notLeader' };
    // Nobody would be served until it is over.
    if (this.options.isChanging()) return { code: 'busy', reason: 'A change of the members is under way.' };
    const { successors } = found;
    const beganMs = timers.nowMs();
    logger.info({ successors, transactionMs }, 'leadership is handed over');
    this.options.makeWay(stopping);
    service.drain(stopping);
    await Promise.race([service.drained(), pause(timers, transactionMs)]);
    if (service.servedUnder !== ballot) return { code: 'notLeader' };
    service.serveElsewhere(null, stopping);
    const trouble = await this.settle(successors, settleMs);
    if (trouble !== null) return this.goOn(ballot, trouble);
    const elected = await this.awaitLeader(beganMs, electedMs);
    return elected.code === 'done' && servedMs > 0
      ? this.awaitService(elected.leader, { to, beganMs, servedMs })
      : elected;
  }

  /** It leads on, if it still does. */
  private goOn(ballot: Ballot, reason: string): HandOverOutcome {
    const { leadership, service, logger } = this.options;
    if (!leadership().serving) return { code: 'notLeader' };
    logger.warn({ reason }, 'leadership was not handed over, and this replica serves again');
    service.serveHere(ballot);
    return { code: 'timedOut', reason };
  }

  /**
   * All that PostgreSQL has is chosen, a successor knows that, and this replica has resigned. Returns why not, or null.
   *
   * What PostgreSQL writes after the last session has ended nobody was told of: it is not waited for, since a statement that runs on, or a vacuum, would not come to an end.
   */
  private async settle(successors: readonly ReplicaId[], settleMs: number): Promise<string | null> {
    const { timers, awaitChosen, announce, rest } = this.options;
    const notChosen = `Not all that PostgreSQL has written was chosen within ${settleMs} ms.`;
    const over = new AbortController();
    const stop = timers.after(settleMs, () => over.abort());
    let last: HandOverCode | null = null;
    try {
      const end = await this.endOfWal(over.signal);
      if (end === null || !(await inTime(awaitChosen(end, over.signal), over.signal, false)))
        return notChosen;
      rest(true);
      const preferredUntilMs = timers.nowMs() + preferredMs;
      while (last !== 'notLeader' && !over.signal.aborted) {
        announce();
        last = this.resign(timers.nowMs() < preferredUntilMs ? successors.slice(0, 1) : successors);
        if (last === 'handedOver') return null;
        await pause(timers, retryMs);
      }
    } finally {
      stop();
      if (last !== 'handedOver') rest(false);
    }
    if (last !== 'behind') return notChosen;
    const names = successors.map(replicaOf).join(' and ');
    return `${names} did not get all that is chosen within ${settleMs} ms.`;
  }

  /** To the first of them who knows all that is chosen. */
  private resign(successors: readonly ReplicaId[]): HandOverCode | null {
    let last: HandOverCode | null = null;
    for (const successor of successors) {
      this.said = null;
      this.options.resign(successor);
      last = this.said;
      if (last !== 'behind' && last !== 'noVoter') break;
    }
    return last;
  }

  private async endOfWal(signal: AbortSignal): Promise<Lsn | null> {
    const primary = this.options.primary();
    if (primary === null) return null;
    return inTime(
      primary.flushed().catch(() => null),
      signal,
      null,
    );
  }

  /** The core's answer, within the call that asks it. */
  answered(code: HandOverCode): void {
    this.said = code;
  }

  private async awaitLeader(beganMs: number, electedMs: number): Promise<HandOverOutcome> {
    const { timers, leadership, self } = this.options;
    const untilMs = timers.nowMs() + electedMs;
    while (timers.nowMs() < untilMs) {
      const { leader } = leadership();
      if (leader !== null && replicaOf(leader) !== self)
        return { code: 'done', leader: replicaOf(leader), tookMs: Math.round(timers.nowMs() - beganMs) };
      await pause(timers, retryMs);
    }
    return {
      code: 'timedOut',
      reason: `It has resigned, and no other leader was heard for ${electedMs} ms.`,
    };
  }

  /** Whoever leads then: one that is elected, and cannot be promoted, names another one. */
  private async awaitService(
    elected: ReplicaId,
    {
      to,
      beganMs,
      servedMs,
    }: { readonly to: ReplicaId | null; readonly beganMs: number; readonly servedMs: number },
  ): Promise<HandOverOutcome> {
    const { timers, leadership, leaderServes, service, self } = this.options;
    const untilMs = timers.nowMs() + servedMs;
    while (timers.nowMs() < untilMs) {
      if (service.servedUnder !== null) return insteadOf(elected, self);
      const { leader } = leadership();
      if (leader !== null && replicaOf(leader) !== self && leaderServes()) {
        const now = replicaOf(leader);
        if (to !== null && now !== to) return insteadOf(to, now);
        return { code: 'done', leader: now, tookMs: Math.round(timers.nowMs() - beganMs) };
      }
      await pause(timers, servesLookMs);
    }
    const { leader } = leadership();
    if (leader === null)
      return {
        code: 'timedOut',
        reason: `${elected} was elected, did not serve clients within ${servedMs} ms, and leads no more: no leader is known.`,
      };
    const [name, why] = [replicaOf(leader), await this.saidBy(leader)];
    return {
      code: 'timedOut',
      reason: `${name} was elected but does not serve yet, after ${servedMs} ms: ${why}. Its PostgreSQL must be promoted first.`,
    };
  }

  /** What keeps it from leading. */
  private async saidBy(leader: ReplicaId): Promise<string> {
    await this.ask([leader]);
    const answer = this.answers.get(replicaOf(leader));
    if (answer === undefined) return 'it does not answer';
    return answer.reason === '' ? 'it says nothing of why' : answer.reason;
  }

  // ------------------------------------------------------------------------------------------------- the successor

  /** Whoever is ready, the readiest first. */
  private async findSuccessors(
    to: ReplicaId | null,
  ): Promise<{ readonly successors: readonly ReplicaId[] } | { readonly reason: string }> {
    const { self, voters } = this.options;
    if (to === self) return { reason: `${to} leads already.` };
    const others = voters().filter((name) => replicaOf(name) !== self);
    const asked = others.filter((name) => to === null || replicaOf(name) === to);
    if (asked.length === 0)
      return { reason: to === null ? 'There is no other voter.' : `${to} is no voter.` };
    await this.ask(asked);
    const ready = asked
      .filter((name) => this.whyNot(name) === null)
      .sort((a, b) => this.answers.get(replicaOf(b))!.applied - this.answers.get(replicaOf(a))!.applied);
    if (ready.length > 0) return { successors: ready };
    return { reason: asked.map((name) => `${replicaOf(name)} ${this.whyNot(name)}.`).join(' ') };
  }

  private async ask(names: readonly ReplicaId[]): Promise<void> {
    const { transport, run, timers } = this.options;
    this.asked += 1;
    this.answers = new Map();
    for (const name of names)
      transport.sendControl(replicaOf(name), { kind: 'LeadQuestion', run, number: this.asked });
    const untilMs = timers.nowMs() + this.answerMs;
    while (this.answers.size < names.length && timers.nowMs() < untilMs) await pause(timers, retryMs);
  }

  private whyNot(name: ReplicaId): string | null {
    const answer = this.answers.get(replicaOf(name));
    if (answer === undefined) return `did not answer within ${this.answerMs} ms`;
    if (answer.reason !== '') return `is not ready: ${answer.reason}`;
    const lag = this.options.commitPoint() - answer.applied;
    return lag <= this.options.lagSlotsMax ? null : `has ${lag} slots to replay`;
  }

  handleAnswer(from: ReplicaId, answer: LeadAnswer): void {
    if (answer.run === this.options.run && answer.number === this.asked)
      this.answers.set(replicaOf(from), answer);
  }

  /** `reason` empty: this replica could lead now. */
  answerQuestion(from: ReplicaId, { run, number }: LeadQuestion, reason: string, applied: Slot): void {
    this.options.transport.sendControl(replicaOf(from), { kind: 'LeadAnswer', run, number, reason, applied });
  }
}

function insteadOf(elected: ReplicaId, leader: ReplicaId): HandOverOutcome {
  return {
    code: 'timedOut',
    reason: `${elected} was elected, did not come to serve clients, and leads no more: ${leader} leads, and serves them.`,
  };
}

function inTime<T>(work: Promise<T>, signal: AbortSignal, otherwise: T): Promise<T> {
  if (signal.aborted) return Promise.resolve(otherwise);
  return new Promise((resolve, reject) => {
    const end = (): void => resolve(otherwise);
    signal.addEventListener('abort', end, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}
