/**
 * Comparing the data of all replicas as of one slot, while they serve.
 *
 * The leader has a check chosen like a transaction; each replica takes snapshots of its databases when it stands at exactly that position (verify-point.ts), digests them in its own time and reports to the leader, which asks
 * again and again those that have not reported, judges by majority and tells those that differ.
 * Responsible for: asking, digesting, reporting, judging, verdicts. How data is digested is the postgres adapter's business, what a replica does that differs the replica's.
 *
 * Invariants: one comparison at a time on a leader; a verdict is heeded only by the database that it was given for; a digest is reported only if its snapshots show exactly what is chosen up to the position.
 */
import type { Logger } from 'pino';
import type { VerifyResult } from '../../api/status.ts';
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { pause } from '../../payload/pause.ts';
import type { WalPosition } from '../../wal/position.ts';
import type { Timers } from '../../ports/clock.ts';
import type { DataDigest, VerifyQuestion, VerifyReport, VerifyVerdict } from '../../ports/control.ts';
import type { DigestSnapshot, DigestSource, SnapshotView } from '../../ports/digest.ts';
import type { Transport } from '../../ports/transport.ts';
import { Comparison } from './comparison.ts';
import { judge, type Judgement } from './verify-judgement.ts';

export interface VerificationOptions {
  /** The replica's own name. */
  readonly self: ReplicaId;
  /** Unique to this run of the process. */
  readonly run: string;
  /** Null while PostgreSQL is away. */
  readonly digests: () => DigestSource | null;
  readonly transport: Pick<Transport, 'sendControl' | 'connected'>;
  readonly leadership: () => { readonly serving: boolean; readonly leader: ReplicaId | null };
  /** Has the check chosen. Resolves with its slot once this replica has come to it; null if it does not lead any more. */
  readonly propose: (check: string) => Promise<Slot | null>;
  /** True of a snapshot that lacks a transaction which has committed at or below the position. */
  readonly missingBelow: (position: WalPosition) => Promise<(view: SnapshotView) => boolean>;
  /** True if one of the snapshots shows a transaction that has committed above the position. Resolves only when nothing is held back there. */
  readonly shownTooEarly: (position: WalPosition, views: readonly SnapshotView[]) => Promise<boolean>;
  /** Of a replica that will have no digest, why: its data counts for nothing, or it has none. Null: it reports by itself. */
  readonly whyNoDigest: () => { readonly reason: string; readonly isFenced: boolean } | null;
  /** Replicas that have been here, and those of them that vote. */
  readonly members: () => { readonly all: readonly ReplicaId[]; readonly voters: readonly ReplicaId[] };
  readonly timers: Pick<Timers, 'nowMs' | 'after'>;
  readonly timeoutMs: number;
  readonly logger: Logger;
  readonly onResult: (result: VerifyResult) => void;
  /** This replica's data differs from the majority's. */
  readonly onDiffers: (loss: { reason: string; equal: readonly ReplicaId[] }, repair: boolean) => void;
}

export type VerifyOutcome =
  | { readonly ok: true; readonly result: VerifyResult }
  | {
      readonly ok: false;
      readonly code: 'notLeader' | 'busy' | 'unavailable';
      readonly message: string;
      readonly leader: ReplicaId | null;
    };

/** A verdict that is lost would leave a replica in service that differs. */
const verdictSendings = 3;
const verdictAgainMs = 1500;
const namesInReason = 5;
/** What is not read by then is left out, so that there is a report of the rest. */
const readingShare = 0.9;
/** The leader asks once a second. */
const silenceMs = 30_000;
const lookMs = 1000;

export class Verification {
  private readonly options: VerificationOptions;
  private isBusy = false;
  private comparing: Comparison | null = null;
  private next = 1;
  /** What was reported last of the database as it is now. */
  private reported: VerifyReport | null = null;
  private digesting: { readonly check: string; readonly over: AbortController } | null = null;
  private askedAtMs = 0;
  /** Why the comparison that is under way on the leader was given up. */
  private why: string | null = null;
  private readonly end = new AbortController();

  constructor(options: VerificationOptions) {
    this.options = options;
  }

  /** Another database has taken the place of the one that was compared. */
  databaseReplaced(): void {
    this.reported = null;
    this.digesting?.over.abort(new Error('the database was replaced'));
  }

  /** What is under way on the leader is given up, and so is its own part of it: something else is not to wait for that. */
  giveUp(reason: string): void {
    if (this.isBusy) this.why = reason;
  }

  stop(): void {
    const reason = new Error('the replica is stopping');
    this.end.abort(reason);
    this.digesting?.over.abort(reason);
  }

  // ------------------------------------------------------------------------------------------------ on every replica

  /** The database stands at exactly this position. Commits wait until this resolves, so all that it does is to take snapshots. @throws Error if they cannot be had */
  async takeSnapshot(check: string, position: WalPosition, signal: AbortSignal): Promise<void> {
    const own = this.comparing?.check === check ? this.comparing.takePrepared() : null;
    const prepared = own ?? (await this.source().prepare());
    let snapshot: DigestSnapshot;
    try {
      const isMissing = await this.options.missingBelow(position);
      snapshot = await prepared.open(position.slot, isMissing, signal);
    } catch (error) {
      await prepared.close();
      throw error;
    }
    if (signal.aborted) await snapshot.close();
    signal.throwIfAborted();
    void this.digest(check, position, snapshot);
  }

  private source(): DigestSource {
    const source = this.options.digests();
    if (source === null) throw new Error('PostgreSQL is away');
    return source;
  }

  /** Never rejects: whatever it comes to is reported. */
  private async digest(check: string, position: WalPosition, snapshot: DigestSnapshot): Promise<void> {
    const { timers, timeoutMs, shownTooEarly } = this.options;
    const over = new AbortController();
    // A newer check makes an older one worthless.
    this.digesting?.over.abort(new Error('another comparison has begun'));
    this.digesting = { check, over };
    const cancel = timers.after(timeoutMs, () =>
      over.abort(new Error(`it took longer than ${timeoutMs} ms`)),
    );
    void this.endWithAsker(check, over);
    try {
      const [digest, isTooEarly] = await Promise.all([
        snapshot.digest(over.signal, readingShare * timeoutMs),
        shownTooEarly(position, snapshot.views),
      ]);
      if (isTooEarly)
        throw new Error(`a transaction showed before it was chosen: its session does not wait for that`);
      this.report(check, digest, '');
    } catch (error) {
      this.report(check, null, error instanceof Error ? error.message : String(error));
    } finally {
      cancel();
      over.abort(new Error('it is over'));
      if (this.comparing?.check === check) this.comparing.keepOpen(snapshot);
      else await snapshot.close();
    }
  }

  /** Nobody tells a replica that a comparison was given up: its leader leads no more, or asks no more. */
  private async endWithAsker(check: string, over: AbortController): Promise<void> {
    const { timers, leadership } = this.options;
    let asker: ReplicaId | null = null;
    this.askedAtMs = timers.nowMs();
    while (!over.signal.aborted) {
      const { leader } = leadership();
      asker ??= leader;
      if (leader !== null && leader !== asker) over.abort(new Error('its leader leads no more'));
      else if (this.comparing?.check !== check && timers.nowMs() - this.askedAtMs > silenceMs)
        over.abort(new Error('nobody asks for it any more'));
      else await pause(timers, lookMs);
    }
  }

  givenUp(check: string, slot: Slot, reason: string): void {
    this.report(check, null, `at slot ${slot}: ${reason}`);
  }

  /** On a replica whose database is not relied on any more: it says so at once. */
  passOver(check: string, why: string): void {
    this.report(check, null, why, true);
  }

  private report(check: string, digest: DataDigest | null, reason: string, isFenced = false): void {
    const report: VerifyReport = { kind: 'VerifyReport', check, digest, reason, isFenced };
    this.reported = report;
    const { leader } = this.options.leadership();
    // Who leads will ask, whenever that is known.
    if (leader === null) return;
    if (replicaOf(leader) === this.options.self) this.onReport(this.options.self, report);
    else this.options.transport.sendControl(replicaOf(leader), report);
  }

  /** A report may have been lost, and a replica without a database does not come to the check. */
  onQuestion(from: ReplicaId, { check }: VerifyQuestion): void {
    if (this.digesting?.check === check) this.askedAtMs = this.options.timers.nowMs();
    if (this.reported?.check !== check) {
      const why = this.options.whyNoDigest();
      if (why === null) return;
      this.reported = { kind: 'VerifyReport', check, digest: null, ...why };
    }
    this.options.transport.sendControl(replicaOf(from), this.reported);
  }

  onVerdict({ check, slot, differing, repair, equal }: VerifyVerdict): void {
    if (check !== this.reported?.check) return;
    this.reported = null;
    const what = differing.slice(0, namesInReason).join(', ');
    const reason = `at slot ${slot} its data differed from the majority's: ${what}`;
    this.options.onDiffers({ reason, equal }, repair);
  }

  // -------------------------------------------------------------------------------------------------- on the leader

  onReport(from: ReplicaId, report: VerifyReport): void {
    if (this.comparing?.check === report.check) this.comparing.report(replicaOf(from), report);
  }

  /** Resolves when all have reported, or cannot be waited for any longer, and those that differ are told. */
  async compare(repair: boolean): Promise<VerifyOutcome> {
    const { leadership, self, onResult } = this.options;
    const { serving, leader } = leadership();
    const refuse = (code: 'notLeader' | 'busy' | 'unavailable', message: string): VerifyOutcome => {
      return { ok: false, code, message, leader: leader === null ? null : replicaOf(leader) };
    };
    if (!serving) return refuse('notLeader', `${self} is not the leader`);
    if (this.isBusy) return refuse('busy', 'another comparison is under way');
    this.isBusy = true;
    this.why = null;
    try {
      let found = await this.compareOnce(repair);
      // Its snapshot is taken amid sessions that come and go: what it alone seems to lack is looked at twice. So is a group too busy to take snapshots in time, most of it.
      if (found !== null && (isAtOdds(found.judgement, self) || isUndecided(found.judgement)))
        found = await this.compareOnce(repair);
      if (found === null) return refuse('unavailable', this.why ?? 'leadership ended during the comparison');
      onResult(found.judgement.result);
      this.tellVerdicts(found.check, found.judgement, repair);
      return { ok: true, result: found.judgement.result };
    } catch (error) {
      return refuse('unavailable', error instanceof Error ? error.message : String(error));
    } finally {
      this.isBusy = false;
    }
  }

  /** Null: leadership has ended, or it was given up. @throws Error if PostgreSQL is away */
  private async compareOnce(repair: boolean): Promise<{ check: string; judgement: Judgement } | null> {
    const { self, run, transport, timers, timeoutMs, propose, members, leadership } = this.options;
    const check = `${self}.${run}/${this.next++}`;
    const comparison = new Comparison({
      check,
      self,
      transport,
      timers,
      timeoutMs,
      members: () => members().all,
      serving: () => leadership().serving && !this.end.signal.aborted && this.why === null,
      prepared: await this.source().prepare(),
    });
    this.comparing = comparison;
    try {
      const slot = this.why === null ? await propose(check) : null;
      if (slot === null) return null;
      const reports = await comparison.gather(slot);
      if (reports === null) return null;
      return { check, judgement: judge({ slot, reports, voters: members().voters, repair }) };
    } finally {
      this.comparing = null;
      // Its own part may still be under way.
      if (this.digesting?.check === check) this.digesting.over.abort(new Error('the comparison is over'));
      await comparison.close();
    }
  }

  private tellVerdicts(check: string, { result, told, equal }: Judgement, repair: boolean): void {
    const { logger, self } = this.options;
    for (const { replica, differing } of told) {
      logger.error({ replica, differing, repair }, 'the data of a replica differs');
      const verdict = { kind: 'VerifyVerdict', check, slot: result.slot, differing, repair, equal } as const;
      if (replica === self) this.onVerdict(verdict);
      else this.sendVerdict(replica, verdict);
    }
  }

  private sendVerdict(to: ReplicaId, verdict: VerifyVerdict): void {
    for (let n = 0; n < verdictSendings; n++) {
      this.options.timers.after(n * verdictAgainMs, () => {
        if (!this.end.signal.aborted) this.options.transport.sendControl(to, verdict);
      });
    }
  }
}

function isAtOdds({ result }: Judgement, replica: ReplicaId): boolean {
  return result.replicas.some((each) => each.replica === replica && each.outcome === 'differs');
}

function isUndecided({ result }: Judgement): boolean {
  return result.replicas.every(({ outcome }) => outcome === 'noReport');
}
