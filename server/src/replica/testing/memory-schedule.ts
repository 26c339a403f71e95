/**
 * One random schedule from its seed: a group in memory under clients and faults, again and again mended, judged from outside.
 *
 * Responsible for: what is tried when. A seed gives the same run each time. What must hold is memory-judge.ts.
 */
import { Random } from '../../ports/testing/random.ts';
import type { ModelClient } from '../../payload/wal/testing/model-client.ts';
import { MemoryClient, type Transaction } from './memory-client.ts';
import { MemoryFaults } from './memory-faults.ts';
import { MemoryGroup } from './memory-group.ts';
import { MemoryJudge } from './memory-judge.ts';

export interface ScheduleOptions {
  readonly seed: number;
  readonly replicas?: number;
  /** How often faults strike for a while and are mended then. */
  readonly rounds?: number;
  readonly logLevel?: string;
}

export interface ScheduleResult {
  readonly faults: readonly string[];
  readonly counts: MemoryJudge['counts'];
  /** What befell it, for people. */
  readonly story: readonly string[];
  readonly simulatedMs: number;
}

const keys = ['a', 'b', 'c', 'd'];
const clients = 4;
const faultyMs = 6_000;
/** Of a group that is left in peace: until everybody has a database, votes and is served. */
const healthyMs = 120_000;

export async function runSchedule(options: ScheduleOptions): Promise<ScheduleResult> {
  const schedule = new Schedule(options);
  return schedule.run();
}

class Schedule {
  private readonly random: Random;
  private readonly judge = new MemoryJudge();
  private readonly group: MemoryGroup;
  private readonly faults: MemoryFaults;
  private readonly client: MemoryClient;
  private readonly rounds: number;
  private values = 0;
  private isWriting = true;
  private writers = 0;

  constructor({ seed, replicas = 3, rounds = 2, logLevel }: ScheduleOptions) {
    this.random = new Random(seed);
    this.rounds = rounds;
    this.group = new MemoryGroup({
      replicas,
      seed,
      ...(logLevel === undefined ? {} : { logLevel }),
      onEvent: (id, event) => this.judge.event({ id }, event),
      onReported: (id, position) =>
        this.judge.reported(
          this.group.members.find((member) => member.id === id),
          position,
        ),
    });
    this.faults = new MemoryFaults(this.group, this.random.fork());
    this.client = new MemoryClient(this.group);
  }

  async run(): Promise<ScheduleResult> {
    const { group, judge } = this;
    const problems: string[] = [];
    try {
      await group.begin();
      group.time.every(20, () => judge.look(group));
      for (let n = 0; n < clients; n++) void this.write(this.random.fork());
      void this.readStandbys(this.random.fork());
      for (let round = 0; round < this.rounds; round++) await this.round();
      await this.conclude();
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
    const simulatedMs = Math.round(group.time.nowMs());
    await group.stop().catch((error: Error) => problems.push(error.message));
    return {
      faults: [...problems, ...judge.faults],
      counts: judge.counts,
      story: this.faults.told,
      simulatedMs,
    };
  }

  private async round(): Promise<void> {
    const { group, random, faults } = this;
    if (random.chance(0.4)) group.network.weather = { loss: 0.03, doubling: 0.03, slow: 0.1 };
    const endMs = group.time.nowMs() + faultyMs;
    while (group.time.nowMs() < endMs) {
      await group.time.pass(random.chance(0.3) ? random.next() * 20 : random.next() * 1500);
      faults.strike();
    }
    await group.time.pass(random.next() * 2000);
    await faults.mend();
    await group.healthy(healthyMs);
    await this.expectService();
  }

  /** A group that is healthy takes a write. */
  private async expectService(): Promise<void> {
    const { group, judge } = this;
    const { done } = judge.counts;
    if (await group.time.passUntil(() => judge.counts.done > done, 10_000)) return;
    throw new Error(`a healthy group answers nobody:\n${group.describe()}`);
  }

  private async conclude(): Promise<void> {
    const { group, judge } = this;
    this.isWriting = false;
    if (!(await group.time.passUntil(() => this.writers === 0, 60_000)))
      throw new Error('a client is left without an answer');
    await group.healthy(healthyMs);
    await group.equal();
    const lists = new Map<string, readonly string[]>();
    for (const { process } of group.members) {
      const found = await group.time.until(process!.server.read(keys));
      for (const [index, key] of keys.entries()) {
        const before = lists.get(key);
        if (before !== undefined && before.join() !== found[index]!.join())
          throw new Error(`the replicas differ in ${key}`);
        lists.set(key, found[index]!);
      }
    }
    judge.conclude(lists, group.contents()[0]!);
  }

  // ------------------------------------------------------------------------------------------------- clients

  private async write(random: Random): Promise<void> {
    const { judge, client } = this;
    this.writers += 1;
    while (this.isWriting) {
      await this.pause(random.next() * (random.chance(0.1) ? 400 : 60));
      const transaction = this.transaction(random);
      const { acknowledgements } = judge;
      const end = await client.transact(transaction, (session) => {
        if (random.chance(0.1)) this.disturb(session, random);
      });
      judge.ends(transaction, end, acknowledgements);
    }
    this.writers -= 1;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.group.time.after(ms, resolve));
  }

  private transaction(random: Random): Transaction {
    this.values += 1;
    const value = `v${this.values}${random.chance(0.05) ? 'x'.repeat(random.below(20_000)) : ''}`;
    // In one order, so that none waits for another that waits for it.
    const written = keys.filter(() => random.chance(0.4));
    const mode = random.chance(0.05) ? random.pick(['local', 'off'] as const) : undefined;
    const request = { database: 'app', role: 'app', name: `request ${this.values}` };
    return {
      reads: random.chance(0.5) ? keys.filter(() => random.chance(0.5)) : [],
      writes: written.map((key) => ({ key, value })),
      ...(mode === undefined ? {} : { mode }),
      ...(random.chance(0.2) ? { request } : {}),
    };
  }

  /** Somebody cancels what it does, or ends the session, some time. */
  private disturb(session: ModelClient, random: Random): void {
    this.group.time.after(random.next() * 15, () => {
      if (random.chance(0.6)) session.cancel();
      else session.terminate();
    });
  }

  private async readStandbys(random: Random): Promise<void> {
    while (this.isWriting) {
      await this.pause(random.next() * 100);
      const member = random.pick(this.group.members);
      const key = random.pick(keys);
      const found = await this.client.readStandby(member.id, [key]);
      if (found !== null) this.judge.standbyRead(member, key, found[0]!);
    }
  }
}
