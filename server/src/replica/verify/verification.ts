/**
 * Comparing the data of all replicas as of one slot, while they serve.
 *
 * The leader has a check chosen like a transaction; each replica takes a snapshot of its database when it stands at exactly that slot (verify-point.ts), digests
 * it in its own time and reports to the leader, which judges by majority and tells those that differ.
 * Responsible for: asking, digesting, reporting, judging, verdicts. How data is digested is the postgres adapter's business, what a replica does that differs the
 * replica's.
 *
 * Invariants: one comparison at a time on a leader; a replica is said to differ only from data that a majority of the voters has; a verdict is heeded only by the
 * database that it was given for.
 */
import type { Logger } from 'pino';
import type { VerifyResult } from '../../api/status.ts';
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types.ts';
import type { WalPosition } from '../../payload/wal/wal-history.ts';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import type { DataDigest, VerifyReport, VerifyVerdict } from '../../ports/control.ts';
import type { DigestSource } from '../../ports/digest.ts';
import type { Transport } from '../../ports/transport.ts';
import { judge, type Reported } from './verify-judgement.ts';

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
  /** Of transactions that a snapshot takes for running: true if one of them has committed at or below the position. */
  readonly commitsBelow: (position: WalPosition) => Promise<(running: readonly bigint[]) => boolean>;
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

const pollMs = 200;
/** A report that is lost is a report that is missing: sent again, for a while. */
const sendings = 3;
const sendAgainMs = 1500;
/** After its own digest is there, a leader gives the others as long again, and this. */
const graceMs = 30_000;
/** So begins the reason of a report by a replica that knows of itself that it differs. */
const fencedReason = 'fenced: ';

interface Comparison {
  readonly check: string;
  readonly reports: Map<ReplicaId, VerifyReport>;
}

export class Verification {
  private readonly options: VerificationOptions;
  private comparing: Comparison | null = null;
  private next = 1;
  /** The check that the database, as it is now, was reported for last. */
  private reported: string | null = null;
  private readonly end = new AbortController();

  constructor(options: VerificationOptions) {
    this.options = options;
  }

  /** Another database has taken the place of the one that was compared. */
  databaseReplaced(): void {
    this.reported = null;
  }

  stop(): void {
    this.end.abort(new Error('the replica is stopping'));
  }

  /** The database stands at exactly this position. Commits wait until this resolves, so all that it does is to take snapshots. @throws Error if it cannot be had */
  async takeSnapshot(check: string, position: WalPosition, signal: AbortSignal): Promise<void> {
    const source = this.options.digests();
    if (source === null) throw new Error('PostgreSQL is away');
    const snapshot = await source.open(await this.options.commitsBelow(position), signal);
    if (signal.aborted) await snapshot.close();
    signal.throwIfAborted();
    const { slot } = position;
    void this.digest(check, slot, snapshot.digest(slot, this.end.signal)).then(() => snapshot.close());
  }

  givenUp(check: string, slot: Slot, reason: string): void {
    this.report(check, null, `at slot ${slot}: ${reason}`);
  }

  private async digest(check: string, slot: Slot, digesting: Promise<DataDigest>): Promise<void> {
    try {
      const { objects } = await digesting;
      this.report(check, { slot, objects }, '');
    } catch (error) {
      this.report(check, null, error instanceof Error ? error.message : String(error));
    }
  }

  /** On a replica whose database is not used any more: it says so at once. */
  passOver(check: string, why: string): void {
    this.report(check, null, `${fencedReason}${why}`);
  }

  private report(check: string, digest: DataDigest | null, reason: string): void {
    this.reported = check;
    const report: VerifyReport = { kind: 'VerifyReport', check, digest, reason };
    const { leader } = this.options.leadership();
    if (leader === null) return;
    if (replicaOf(leader) === this.options.self) this.onReport(this.options.self, report);
    else this.sendRepeatedly(replicaOf(leader), report);
  }

  private sendRepeatedly(to: ReplicaId, message: VerifyReport | VerifyVerdict): void {
    for (let n = 0; n < sendings; n++) {
      void pause(this.options.timers, n * sendAgainMs, this.end.signal).then(() => {
        if (!this.end.signal.aborted) this.options.transport.sendControl(to, message);
      });
    }
  }

  onReport(from: ReplicaId, report: VerifyReport): void {
    if (this.comparing?.check === report.check) this.comparing.reports.set(replicaOf(from), report);
  }

  onVerdict({ check, slot, differing, repair, equal }: VerifyVerdict): void {
    if (check !== this.reported) return;
    this.reported = null;
    const what = differing.slice(0, 5).join(', ');
    const reason = `at slot ${slot} its data differed from the majority's: ${what}`;
    this.options.onDiffers({ reason, equal }, repair);
  }

  /** On the leader. Resolves when all have reported, or cannot be waited for any longer. */
  async compare(repair: boolean): Promise<VerifyOutcome> {
    const { leadership, propose, self, run, onResult } = this.options;
    const { serving, leader } = leadership();
    const refuse = (code: 'notLeader' | 'busy' | 'unavailable', message: string): VerifyOutcome => {
      return { ok: false, code, message, leader: leader === null ? null : replicaOf(leader) };
    };
    if (!serving) return refuse('notLeader', `${self} is not the leader`);
    if (this.comparing !== null) return refuse('busy', 'another comparison is under way');
    const comparing: Comparison = { check: `${self}.${run}/${this.next++}`, reports: new Map() };
    this.comparing = comparing;
    try {
      const slot = await propose(comparing.check);
      if (slot === null) return refuse('unavailable', 'leadership ended before the comparison was agreed on');
      await this.gather(comparing);
      const { all, voters } = this.options.members();
      const reports = all.map((replica) => reportedBy(replica, comparing.reports.get(replica)));
      const result = judge(slot, reports, voters);
      onResult(result);
      this.tellVerdicts(comparing, result, repair);
      return { ok: true, result };
    } finally {
      this.comparing = null;
    }
  }

  private async gather({ reports }: Comparison): Promise<void> {
    const { members, transport, timers, timeoutMs, self, leadership } = this.options;
    const startedAtMs = timers.nowMs();
    let ownAtMs: number | null = null;
    const waitedFor = (): boolean => {
      const up = new Set([self, ...transport.connected()]);
      return members().all.some((replica) => !reports.has(replica) && up.has(replica));
    };
    while (waitedFor() && leadership().serving && !this.end.signal.aborted) {
      const elapsedMs = timers.nowMs() - startedAtMs;
      if (ownAtMs === null && reports.has(self)) ownAtMs = elapsedMs;
      if (elapsedMs > timeoutMs || (ownAtMs !== null && elapsedMs > 2 * ownAtMs + graceMs)) return;
      await pause(timers, pollMs, this.end.signal);
    }
  }

  private tellVerdicts({ check, reports }: Comparison, result: VerifyResult, repair: boolean): void {
    const { logger, self } = this.options;
    const equal = result.replicas.filter(({ outcome }) => outcome === 'equal').map(({ replica }) => replica);
    for (const { replica, outcome, detail } of result.replicas) {
      // One that is fenced knows already, and has only a repair to be told of.
      const isNews = repair || !isFenced(reports.get(replica));
      if (equal.length === 0 || outcome !== 'differs' || !isNews) continue;
      logger.error({ replica, detail, repair }, 'the data of a replica differs');
      const { slot } = result;
      const verdict = { kind: 'VerifyVerdict', check, slot, differing: detail, repair, equal } as const;
      if (replica === self) this.onVerdict(verdict);
      else this.sendRepeatedly(replica, verdict);
    }
  }
}

function isFenced(report: VerifyReport | undefined): boolean {
  return report?.reason.startsWith(fencedReason) ?? false;
}

function reportedBy(replica: ReplicaId, report: VerifyReport | undefined): Reported {
  if (report === undefined)
    return { replica, objects: null, reason: 'nothing was heard of it', fenced: false };
  const fenced = isFenced(report);
  const reason = fenced ? report.reason.slice(fencedReason.length) : report.reason;
  return { replica, objects: report.digest?.objects ?? null, reason, fenced };
}
