/** For tests: several replicas' parts of a comparison, in simulated time. Each has its data in memory, and stands at the position of a check at once. */
import { pino } from 'pino';
import type { VerifyResult } from '../../../api/status.ts';
import type { ReplicaId, Slot } from '../../../multipaxos/types/names.ts';
import { positionNone } from '../../../wal/position.ts';
import type { ControlMessage } from '../../../ports/control.ts';
import type { DigestSnapshot, DigestSource, SnapshotView } from '../../../ports/digest.ts';
import { SimulatedTime } from '../../../ports/testing/simulated-time.ts';
import { Verification, type VerificationOptions } from '../verification.ts';
import { VerifyPoint } from '../verify-point.ts';

type Differs = Parameters<VerificationOptions['onDiffers']>;

export const timeoutMs = 60_000;
export const digestMs = 500;
/** Of a snapshot, for whoever asks what it shows. */
const nothing: SnapshotView = { end: 1n, running: new Set() };

export class VerifyMember {
  readonly id: ReplicaId;
  readonly differed: Differs[] = [];
  data = 'right';
  isUp = true;
  /** Null: there is a database. */
  why: { reason: string; isFenced: boolean } | null = null;
  verification: Verification;
  openSnapshots = 0;
  /** Its digests come to no end by themselves. */
  hangs = false;
  /** So many checks are too much for it. */
  misses = 0;
  /** What a commit shows that is not chosen. */
  showsTooEarly = false;
  /** A transaction that is chosen shows from then on only. */
  showsAllAtMs = 0;
  private readonly group: VerifyGroup;
  private readonly point: VerifyPoint;
  private lives = 0;

  constructor(id: ReplicaId, group: VerifyGroup) {
    this.id = id;
    this.group = group;
    this.verification = this.begin();
    this.point = new VerifyPoint({
      isThere: () => true,
      takeSnapshot: (...what) => this.verification.takeSnapshot(...what),
      onGivenUp: (...what) => this.verification.givenUp(...what),
      letGo: () => undefined,
      timers: group.time,
      waitMs: 3000,
      pollMs: 5,
    });
  }

  /** Its process is started again. */
  restart(): void {
    this.verification.stop();
    this.verification = this.begin();
  }

  private begin(): Verification {
    const { group, id } = this;
    return new Verification({
      self: id,
      run: `run${++this.lives}`,
      digests: () => this.source(),
      transport: {
        sendControl: (to, message) => group.send(id, to, message),
        connected: () =>
          group.members.filter((other) => other.isUp && other.id !== id).map((other) => other.id),
      },
      leadership: () => ({ serving: group.leader === id, leader: group.leader }),
      propose: (check) => group.choose(id, check),
      missingBelow: () => Promise.resolve(() => !this.showsAll),
      shownTooEarly: () => Promise.resolve(this.showsTooEarly),
      whyNoDigest: () => this.why,
      members: () => ({ all: group.ids, voters: group.ids }),
      timers: group.time,
      timeoutMs,
      logger: pino({ level: 'silent' }),
      onResult: (result) => group.results.push(result),
      onDiffers: (...what) => this.differed.push(what),
    });
  }

  private get showsAll(): boolean {
    return this.group.time.nowMs() >= this.showsAllAtMs;
  }

  private source(): DigestSource {
    const { time } = this.group;
    const pause = (ms: number): Promise<void> => new Promise((resolve) => time.after(ms, resolve));
    const open = async (slot: Slot, isMissing: (view: SnapshotView) => boolean): Promise<DigestSnapshot> => {
      do await pause(1);
      while (isMissing(nothing));
      const digest = this.showsAll ? this.data : 'too little';
      const objects = [{ database: 'app', kind: 'table', name: 'a', rows: 1, digest }] as const;
      this.openSnapshots++;
      return {
        views: [],
        digest: async (signal) => {
          if (this.hangs) await new Promise((resolve) => signal.addEventListener('abort', resolve));
          else await pause(digestMs);
          signal.throwIfAborted();
          return { slot, objects, skipped: [], hasSequences: false };
        },
        close: () => Promise.resolve(void this.openSnapshots--),
      };
    };
    return { prepare: () => Promise.resolve({ open, close: () => Promise.resolve() }) };
  }

  /** As the payload does when it comes to the check in the log. */
  meet(check: string, slot: Slot): void {
    if (this.misses > 0) {
      this.misses--;
      this.verification.givenUp(check, slot, 'too late');
    } else if (this.why === null) void this.point.meet(check, { ...positionNone, slot });
    else if (this.why.isFenced) this.verification.passOver(check, this.why.reason);
  }

  receive(from: ReplicaId, message: ControlMessage): void {
    if (message.kind === 'VerifyQuestion') this.verification.onQuestion(from, message);
    if (message.kind === 'VerifyReport') this.verification.onReport(from, message);
    if (message.kind === 'VerifyVerdict') this.verification.onVerdict(message);
  }
}

export class VerifyGroup {
  readonly time = new SimulatedTime();
  readonly members: readonly VerifyMember[];
  readonly results: VerifyResult[] = [];
  /** The first one at the beginning. */
  leader: ReplicaId | null;
  /** Messages that are lost, from the first on. */
  lose: (message: ControlMessage) => boolean = () => false;
  checks = 0;

  constructor(ids: readonly ReplicaId[]) {
    this.leader = ids[0] ?? null;
    this.members = ids.map((id) => new VerifyMember(id, this));
  }

  get ids(): readonly ReplicaId[] {
    return this.members.map(({ id }) => id);
  }

  member(id: ReplicaId): VerifyMember {
    return this.members.find((member) => member.id === id)!;
  }

  send(from: ReplicaId, to: ReplicaId, message: ControlMessage): void {
    if (this.lose(message)) return;
    this.time.after(1, () => {
      if (this.member(to).isUp) this.member(to).receive(from, message);
    });
  }

  async choose(by: ReplicaId, check: string): Promise<Slot | null> {
    if (this.leader !== by) return null;
    const slot = ++this.checks as Slot;
    for (const member of this.members) if (member.isUp) this.time.after(2, () => member.meet(check, slot));
    await new Promise<void>((resolve) => this.time.after(3, resolve));
    return slot;
  }

  /** What each came to, and how long it took. */
  async compare(
    repair = false,
  ): Promise<{ outcomes: readonly string[]; advice: readonly string[]; tookMs: number }> {
    const begunMs = this.time.nowMs();
    const outcome = await this.time.until(
      this.member(this.leader!).verification.compare(repair),
      10 * timeoutMs,
    );
    if (!outcome.ok) throw new Error(outcome.message);
    const tookMs = this.time.nowMs() - begunMs;
    // Verdicts are sent more than once.
    await this.time.pass(5000);
    const { replicas, advice } = outcome.result;
    return {
      outcomes: replicas.map(({ outcome: each, detail }) => [each, ...detail].join(': ')),
      advice,
      tookMs,
    };
  }

  /** Snapshots that are still open, after a while. */
  async openSnapshots(): Promise<number> {
    for (const { verification } of this.members) verification.stop();
    await this.time.pass(1000);
    return this.members.reduce((sum, { openSnapshots }) => sum + openSnapshots, 0);
  }

  differed(): Record<string, readonly Differs[]> {
    const told = this.members.filter(({ differed }) => differed.length > 0);
    return Object.fromEntries(told.map(({ id, differed }) => [id, differed]));
  }
}
