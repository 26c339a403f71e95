/**
 * What faults have in common: the group that they befall, when each ends, and what the product does not promise to survive.
 *
 * Invariants: each fault ends by itself, or when all are mended; at most one replica at a time has lost something for good, so that a majority keeps its logs.
 */
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { Random } from '../../server/src/ports/testing/random.ts';
import type { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';

export class FaultScene {
  readonly told: string[] = [];
  readonly group: MemoryGroup;
  readonly random: Random;
  /** What a log that is full has, of its bound. */
  readonly fullLog: number;
  wiped: ReplicaId | null = null;
  /** A change of the members is under way, or may be yet. */
  changing = false;
  /** Who was asked for changes of the members, and has not answered. */
  readonly asked = new Set<{ readonly leader: MemoryMember; readonly process: MemoryMember['process'] }>();
  /** Whose disk has failed a write, or let a bit turn: its process may end for that. */
  readonly failing = new Set<ReplicaId>();
  readonly rotten = new Set<ReplicaId>();
  private pending: (() => void)[] = [];
  /** How often all was mended. */
  private mended = 0;
  private storyUntilMs = 0;

  constructor(group: MemoryGroup, random: Random, fullLog: number) {
    this.group = group;
    this.random = random;
    this.fullLog = fullLog;
  }

  tell(what: string): void {
    this.told.push(`${Math.round(this.group.time.nowMs())} ms: ${what}`);
  }

  /** `end` some time from now, or when all is mended. */
  later(end: () => void, msMax = 4000): void {
    this.until(this.random.next() * msMax, end);
  }

  /** `end` in `ms`, or when all is mended. */
  until(ms: number, end: () => void): void {
    let isOver = false;
    const once = (): void => {
      if (!isOver) end();
      isOver = true;
    };
    this.pending.push(once);
    this.group.time.after(ms, once);
  }

  /** The next act of a fault in `ms`, unless all is mended before. */
  next(ms: number, act: () => void): void {
    const { mended } = this;
    this.group.time.after(ms, () => {
      if (mended === this.mended) act();
    });
  }

  /** True if nobody who still runs is making a change of the members: what others were asked for is chosen when the next write is, or never. */
  get areMembersSettled(): boolean {
    return [...this.asked].every(({ leader, process }) => leader.process !== process);
  }

  /** True if no other story is under way: then this one is, for `ms`. */
  beginStory(ms: number): boolean {
    const nowMs = this.group.time.nowMs();
    if (nowMs < this.storyUntilMs) return false;
    this.storyUntilMs = nowMs + ms;
    return true;
  }

  endAll(): void {
    this.mended += 1;
    this.storyUntilMs = 0;
    const { pending } = this;
    this.pending = [];
    for (const end of pending) end();
  }

  /** It comes back some time later. */
  away(member: MemoryMember, crash: () => void, msMax?: number): void {
    crash();
    this.later(() => this.start(member), msMax);
  }

  start(member: MemoryMember): void {
    if (!member.isRunning) void member.start({ isSlow: true });
  }

  /** An operator stops what is no member, and empties its disk. */
  clear(machine: MemoryMember): void {
    machine.crashMachine();
    machine.lose('both');
  }

  /** Nobody else may be without a log, or be leaving, or the group has lost its majority for good; and one must have a database that is whole, which old leaders have not. */
  mayLose(member: MemoryMember): boolean {
    const { group, rotten } = this;
    const { members } = group;
    // What was lost may be back.
    if (rotten.size === 0 && members.every(({ isRunning }) => isRunning) && group.isHealthy())
      this.wiped = null;
    const others = members.filter((other) => other !== member);
    const areVoters = others.every(({ replica }) => replica?.membership.isVoter() === true);
    const isMajority = 2 * others.length > members.length;
    const mayAny = !this.changing && this.wiped === null && group.serving() !== null;
    return mayAny && isMajority && areVoters && this.hasDatabaseWithout(member);
  }

  /** Somebody else has one that is whole. */
  hasDatabaseWithout(member: MemoryMember): boolean {
    return this.group.members.some(
      ({ id, postgres: { disk } }) => id !== member.id && disk.state?.role.kind === 'standby',
    );
  }
}
