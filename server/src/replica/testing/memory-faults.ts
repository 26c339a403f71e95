/** What befalls a group in memory: faults by chance, each of which ends by itself, or when all are mended. */
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { Random } from '../../ports/testing/random.ts';
import type { MemoryGroup } from './memory-group.ts';
import type { MemoryMember } from './memory-member.ts';
import { calm } from './memory-network.ts';

type Fault = (member: MemoryMember) => void;

export class MemoryFaults {
  readonly told: string[] = [];
  private readonly group: MemoryGroup;
  private readonly random: Random;
  /** At most one replica at a time has lost something for good: a majority keeps its logs. */
  private wiped: ReplicaId | null = null;
  private pending: (() => void)[] = [];
  private readonly faults: readonly (readonly [number, string, Fault])[];

  constructor(group: MemoryGroup, random: Random) {
    this.group = group;
    this.random = random;
    this.faults = [
      [3, 'the process dies', (member) => this.away(member, () => member.crash())],
      [3, 'the machine fails', (member) => this.away(member, () => member.crashMachine())],
      [1, 'all machines fail', () => this.allFail()],
      [3, 'PostgreSQL is killed', (member) => member.postgres.killMain()],
      [1, 'a backend is killed', (member) => member.postgres.crashBackend()],
      [2, 'PostgreSQL is stopped by a signal', (member) => this.stand(member, 'stopped')],
      [1, 'PostgreSQL hangs', (member) => this.stand(member, 'hanging')],
      [2, 'the process is stopped by a signal', (member) => this.freeze(member)],
      [3, 'is cut off', (member) => this.isolate(member)],
      [1, 'is not heard', (member) => this.cutOneWay(member)],
      [1, 'its standby is slow', (member) => this.slow(member)],
      [1, 'a promotion does not end', (member) => this.hangPromotion(member)],
      [1, 'PostgreSQL does not start', (member) => void (member.postgres.failingStarts = 2)],
      [1, 'its log is full', (member) => this.press(member)],
      [1, 'stops in order', (member) => this.stopInOrder(member)],
      [1, 'loses its database', (member) => this.wipe(member, 'database')],
      [1, 'loses its log', (member) => this.wipe(member, 'log')],
      [1, 'loses both', (member) => this.wipe(member, 'both')],
    ];
  }

  /** One more. It strikes the leader as often as all others together. */
  strike(): void {
    const { members, random } = this.group;
    const serving = this.group.serving();
    const member = serving !== null && random.chance(0.4) ? serving : this.random.pick(members);
    let left = this.random.below(this.faults.reduce((sum, [weight]) => sum + weight, 0));
    const [, name, fault] = this.faults.find(([weight]) => (left -= weight) < 0)!;
    this.told.push(`${Math.round(this.group.time.nowMs())} ms: ${member.id}: ${name}`);
    fault(member);
  }

  /** All that is still wrong is mended. Resolves when everybody runs. */
  async mend(): Promise<void> {
    this.told.push(`${Math.round(this.group.time.nowMs())} ms: all is mended`);
    const { pending } = this;
    this.pending = [];
    for (const end of pending) end();
    this.group.network.heal();
    this.group.network.weather = calm;
    for (const member of this.group.members) {
      member.postgres.failingStarts = 0;
      if (!member.isRunning) await member.start();
    }
    this.wiped = null;
  }

  private later(end: () => void, msMax = 4000): void {
    let isOver = false;
    const once = (): void => {
      if (!isOver) end();
      isOver = true;
    };
    this.pending.push(once);
    this.group.time.after(this.random.next() * msMax, once);
  }

  private away(member: MemoryMember, crash: () => void): void {
    crash();
    this.later(() => this.start(member));
  }

  private start(member: MemoryMember): void {
    if (!member.isRunning) void member.start();
  }

  private allFail(): void {
    for (const member of this.group.members) this.away(member, () => member.crashMachine());
  }

  private stand({ postgres }: MemoryMember, how: 'stopped' | 'hanging'): void {
    postgres.stand(how);
    this.later(() => postgres.goOn());
  }

  private freeze({ process }: MemoryMember): void {
    if (process === null) return;
    process.timers.stop();
    this.later(() => process.timers.goOn());
  }

  private isolate({ id }: MemoryMember): void {
    this.group.network.isolate(id, this.group.ids);
    this.later(() => this.group.network.heal());
  }

  private cutOneWay({ id }: MemoryMember): void {
    for (const other of this.group.ids) if (other !== id) this.group.network.cut(id, other);
    this.later(() => this.group.network.heal());
  }

  private slow({ postgres }: MemoryMember): void {
    postgres.slowness = 30;
    this.later(() => {
      postgres.slowness = 1;
    });
  }

  private hangPromotion({ postgres }: MemoryMember): void {
    postgres.promotionHangs = true;
    this.later(() => {
      postgres.promotionHangs = false;
    });
  }

  private press(member: MemoryMember): void {
    member.logBytesSaid = Number.MAX_SAFE_INTEGER;
    this.later(() => {
      member.logBytesSaid = null;
    });
  }

  private stopInOrder(member: MemoryMember): void {
    const { process } = member;
    if (process === null || process.timers.stopped) return;
    void member.stop();
    // Whoever has waited long enough for it kills it.
    this.later(() => {
      if (member.process === process) member.crash();
      this.start(member);
    }, 12_000);
  }

  private wipe(member: MemoryMember, what: 'log' | 'database' | 'both'): void {
    if (this.wiped !== null) return;
    // Nobody else may be without a log, or the group has lost its majority for good.
    const others = this.group.members.filter((other) => other !== member);
    const areVoters = others.every(({ replica }) => replica?.membership.isVoter() === true);
    if (!areVoters || this.group.serving() === null) return;
    this.wiped = member.id;
    this.away(member, () => {
      member.crashMachine();
      member.lose(what);
    });
  }
}
