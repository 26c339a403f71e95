/**
 * One comparison on the leader: who has reported, who is asked again, and for how long they are waited for.
 *
 * Responsible for: that and nothing else; what the reports come to is verify-judgement.ts.
 * Invariant: it ends: when all that are up have reported, when its time is over, or when the replica leads no more.
 */
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { pause } from '../../payload/pause.ts';
import type { Timers } from '../../ports/clock.ts';
import type { VerifyReport } from '../../ports/control.ts';
import type { DigestSnapshot, PreparedDigest } from '../../ports/digest.ts';
import type { Transport } from '../../ports/transport.ts';
import type { Reported } from './verify-judgement.ts';

export interface ComparisonOptions {
  readonly check: string;
  readonly self: ReplicaId;
  readonly transport: Pick<Transport, 'sendControl' | 'connected'>;
  readonly members: () => readonly ReplicaId[];
  readonly serving: () => boolean;
  readonly timers: Pick<Timers, 'nowMs' | 'after'>;
  readonly timeoutMs: number;
  /** Made before the check is proposed: while the snapshots are taken, commits wait. */
  readonly prepared: PreparedDigest;
}

const pollMs = 100;
const askEveryMs = 1000;
/** After its own digest is there, a leader gives the others as long again, and this. */
const graceMs = 30_000;

export class Comparison {
  readonly check: string;
  private readonly options: ComparisonOptions;
  private readonly reports = new Map<ReplicaId, VerifyReport>();
  private readonly snapshots: DigestSnapshot[] = [];
  private prepared: PreparedDigest | null;

  constructor(options: ComparisonOptions) {
    this.options = options;
    this.check = options.check;
    this.prepared = options.prepared;
  }

  /** Null: it is used already. */
  takePrepared(): PreparedDigest | null {
    const { prepared } = this;
    this.prepared = null;
    return prepared;
  }

  /** The leader's own, kept open until all have reported: they keep VACUUM from removing what the others' snapshots need. */
  keepOpen(snapshot: DigestSnapshot): void {
    this.snapshots.push(snapshot);
  }

  report(from: ReplicaId, report: VerifyReport): void {
    this.reports.set(from, report);
  }

  /** Null: the replica leads no more, and is sent no reports. */
  async gather(slot: Slot): Promise<readonly Reported[] | null> {
    const { timers, timeoutMs, self, serving, members } = this.options;
    const startedAtMs = timers.nowMs();
    let askedAtMs = startedAtMs;
    let ownAtMs: number | null = null;
    while (serving()) {
      const missing = this.missing();
      const elapsedMs = timers.nowMs() - startedAtMs;
      if (ownAtMs === null && this.reports.has(self)) ownAtMs = elapsedMs;
      const isOver = elapsedMs > timeoutMs || (ownAtMs !== null && elapsedMs > 2 * ownAtMs + graceMs);
      if (missing.length === 0 || isOver) return members().map((replica) => this.reportOf(replica));
      if (timers.nowMs() - askedAtMs >= askEveryMs) {
        askedAtMs = timers.nowMs();
        this.ask(missing, slot);
      }
      await pause(timers, pollMs);
    }
    return null;
  }

  /** Those that are up and have not reported. */
  private missing(): readonly ReplicaId[] {
    const { self, transport, members } = this.options;
    const up = new Set([self, ...transport.connected()]);
    return members().filter((replica) => !this.reports.has(replica) && up.has(replica));
  }

  private ask(replicas: readonly ReplicaId[], slot: Slot): void {
    const { check, self, transport } = this.options;
    for (const replica of replicas) {
      if (replica !== self) transport.sendControl(replica, { kind: 'VerifyQuestion', check, slot });
    }
  }

  private reportOf(replica: ReplicaId): Reported {
    const report = this.reports.get(replica);
    if (report === undefined)
      return { replica, digest: null, reason: 'nothing was heard of it', isFenced: false };
    const { digest, reason, isFenced } = report;
    return { replica, digest, reason, isFenced };
  }

  async close(): Promise<void> {
    await this.takePrepared()?.close();
    await Promise.all(this.snapshots.map((snapshot) => snapshot.close()));
  }
}
