/**
 * One random schedule from its seed: a group of whole replicas in simulated time under clients and faults, again and again mended, judged from outside.
 *
 * Responsible for: what is tried when. A seed gives the same run each time. What must hold is group-judge.ts; what a majority must do while others are cut off is connected-majority.ts.
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import { Random } from '../../server/src/ports/testing/random.ts';
import { GroupClients, keys } from './group-clients.ts';
import { GroupFaults } from './group-faults.ts';
import { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import { GroupJudge } from './group-judge.ts';
import { cutOffMinority } from './connected-majority.ts';
import { bothWatch, type MemberWatch } from '../../server/src/replica/testing/member-watch.ts';
import { mixes, type Mix, type MixName } from './mixes.ts';

/** From `atMs` of the run on, chance goes another way than its seed would. */
export interface Turn {
  readonly atMs: number;
  readonly salt: number;
}

export interface ScheduleOptions {
  readonly seed: number;
  /** Default: none. */
  readonly turns?: readonly Turn[];
  readonly replicas?: number;
  /** Default: `default`. */
  readonly mix?: MixName;
  /** How often faults strike for a while and are mended then. */
  readonly rounds?: number;
  /** Only these faults, by their names. Default: all, as often as the seed says. */
  readonly only?: readonly string[];
  /** Machines keep archives of WAL, which are judged. Default: none does. */
  readonly archives?: boolean;
  /** Clients read at followers, too. Default: none does. */
  readonly followerReads?: boolean;
  /** Hosts refuse connections to a process that has died, so that others hear of it. Default: they are silent. */
  readonly refuses?: boolean;
  readonly logLevel?: string;
  /** The most that a client rests, mostly. */
  readonly restMs?: number;
  /** Of everything that a replica tells, in the order in which it happens; `atMs`: of the run. */
  readonly onEvent?: (event: TraceEvent, atMs: number) => void;
  /** Hears, besides the judge, of what disks and links are given. */
  readonly watch?: MemberWatch;
  /** For whoever looks on. Before anything happens to it. */
  readonly onGroup?: (group: MemoryGroup) => Promise<void>;
}

export interface ScheduleResult {
  readonly faults: readonly string[];
  readonly counts: GroupJudge['counts'] & {
    readonly leaderships: number;
    /** Of archives, compared with what is chosen. */
    readonly archivedBytes: number;
  };
  /** What befell it, for people. */
  readonly story: readonly string[];
  readonly simulatedMs: number;
  /** Callbacks of simulated time. */
  readonly steps: number;
}

/** A window of the core that is often full. */
const narrow = 4;
const faultyMs = 6_000;
/** Of a group that is left in peace: until everybody has a database, votes and is served. */
const healthyMs = 120_000;
/** A majority whose members all reach each other, and whose PostgreSQLs are up, serves within this time, whatever the others do. */
const majorityServesMs = 15_000;
/** Nobody writes any more: archives have everything then. */
const archivedMs = 10_000;

export async function runSchedule(options: ScheduleOptions): Promise<ScheduleResult> {
  const schedule = new Schedule(options);
  await options.onGroup?.(schedule.group);
  return schedule.run();
}

class Schedule {
  private readonly random: Random;
  private readonly judge = new GroupJudge((id) => this.group.member(id));
  private readonly mix: Mix;
  readonly group: MemoryGroup;
  private readonly faults: GroupFaults;
  private readonly clients: GroupClients;
  private readonly rounds: number;

  constructor({
    seed,
    turns = [],
    replicas = 3,
    mix = 'default',
    rounds = 2,
    only,
    archives = false,
    logLevel,
    followerReads = false,
    refuses = false,
    restMs,
    onEvent,
    watch,
  }: ScheduleOptions) {
    this.random = new Random(seed);
    this.rounds = rounds;
    this.mix = mixes[mix];
    const windowSlotsMax = this.random.pick([1024, 1024, narrow]);
    const { commitPoints } = this.mix;
    const commitPoint = commitPoints === undefined ? {} : { commitPoint: this.random.pick(commitPoints) };
    this.group = new MemoryGroup({
      replicas,
      spares: this.mix.spares(this.random),
      seed,
      config: {
        timings: this.random.pick<Mix['timings'][number]>(this.mix.timings),
        // What does not fit the window of the core waits before it, as WAL that is in PostgreSQL only.
        bounds: { windowSlotsMax },
        ...commitPoint,
        trace: { file: onEvent !== undefined },
      },
      ...(logLevel === undefined ? {} : { logLevel }),
      onEvent: (id, event) => {
        this.judge.event(this.group, this.group.member(id), event);
        onEvent?.(event, this.group.time.nowMs());
      },
      excuses: (id, error) => this.faults.excuses(id, error),
      onReported: (id, position) =>
        this.judge.slots.reported(
          this.group.machines.find((machine) => machine.id === id),
          position,
        ),
      archives,
      watch: watch === undefined ? this.judge.core : bothWatch(this.judge.core, watch),
    });
    this.group.network.refuses = refuses;
    // A log that lets go of its newest two windows, too, may leave a group without a way on. Of 1024 slots nobody lacks two windows here.
    const fullLog = windowSlotsMax === narrow ? 0.85 : 1;
    this.faults = new GroupFaults(this.group, this.random.fork(), {
      only: only ?? null,
      among: this.mix.faults,
      fullLog,
      archives,
    });
    this.clients = new GroupClients(this.group, this.judge, {
      random: this.random.fork(),
      restMs,
      followerReads,
    });
    // A leader's readers are shown less than a follower's for so long, now and then.
    if (followerReads) for (const { postgres } of this.group.machines) postgres.showMomentMs = 40;
    for (const { atMs, salt } of turns)
      this.group.time.after(atMs, () => [this.random, this.group.random].forEach((one) => one.turn(salt)));
  }

  async run(): Promise<ScheduleResult> {
    const { group, judge } = this;
    const problems: string[] = [];
    try {
      await group.begin();
      group.time.every(20, () => {
        judge.look(group);
        // Nothing is worth waiting for any more.
        if (judge.faults.length > 0 && group.troubles.length === 0) group.troubles.push(judge.faults[0]!);
      });
      this.clients.begin();
      for (let round = 0; round < this.rounds; round++) await this.round();
      await this.conclude();
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
    const simulatedMs = Math.round(group.time.nowMs());
    await group.stop().catch((error: Error) => problems.push(error.message));
    return {
      faults: [...new Set([...problems, ...judge.faults])],
      counts: {
        ...judge.counts,
        leaderships: judge.slots.leaderships,
        archivedBytes: judge.archives.bytes,
      },
      story: this.faults.told,
      simulatedMs,
      steps: group.time.steps,
    };
  }

  private async round(): Promise<void> {
    const { group, random, faults } = this;
    if (random.chance(this.mix.foul)) group.network.weather = this.mix.weather;
    const endMs = group.time.nowMs() + faultyMs;
    while (group.time.nowMs() < endMs) {
      await group.time.pass(random.chance(0.3) ? random.next() * 20 : random.next() * 1500);
      faults.strike();
    }
    await group.time.pass(random.next() * 2000);
    await faults.mend();
    do await group.healthy(healthyMs);
    while (await faults.startOthers());
    await this.expectService('a healthy group', 10_000);
    if (!random.chance(0.7)) return;
    // Which majority must serve is known only once no change of the members is under way.
    const isSettled = (): boolean => faults.areMembersSettled && group.isHealthy();
    if (!(await group.time.passUntil(isSettled, healthyMs))) throw new Error('the members do not settle');
    await this.cutOff();
  }

  /** Some are cut off, and stay so: the others serve. */
  private async cutOff(): Promise<void> {
    const { group, random, faults } = this;
    const { how, stop } = cutOffMinority(group, random);
    faults.tell(how);
    await group.time.pass(random.next() * 3000);
    const beganMs = group.time.nowMs();
    await this.expectService(`a connected majority (${how})`, majorityServesMs);
    this.judge.counts.majorityMs = Math.max(
      this.judge.counts.majorityMs,
      Math.round(group.time.nowMs() - beganMs),
    );
    await group.time.pass(random.next() * 3000);
    await this.expectService(`a connected majority that has served (${how})`, majorityServesMs);
    stop();
    await group.healthy(healthyMs);
  }

  /** A write is acknowledged that began after now. */
  private async expectService(who: string, withinMs: number): Promise<void> {
    const { group, judge } = this;
    const { begun } = judge;
    if (await group.time.passUntil(() => judge.lastDone > begun, withinMs)) return;
    throw new Error(`${who} answers nobody within ${withinMs} ms:\n${group.describe()}`);
  }

  /** All that is chosen is archived soon, by whoever can go on with what it has. */
  private async concludeArchives(): Promise<void> {
    const { group, judge } = this;
    if (!(await group.time.passUntil(() => judge.archives.areComplete(group.members), archivedMs)))
      throw new Error(`archives are not complete within ${archivedMs} ms`);
    judge.archives.conclude(group.members);
  }

  private async conclude(): Promise<void> {
    const { group, judge } = this;
    await this.clients.end();
    await group.healthy(healthyMs);
    await group.equal();
    await this.concludeArchives();
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
}
