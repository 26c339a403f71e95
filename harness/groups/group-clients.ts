/**
 * Clients of a group in simulated time: some go to whoever serves, some to one replica only, as long as it does; some read only, one reads at standbys, and some ask again and again what became of transactions that were never answered.
 *
 * Responsible for: what they do when. What they are told is the judge's.
 */
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { ModelClient } from '../../server/src/payload/wal/testing/model-client.ts';
import type { Random } from '../../server/src/ports/testing/random.ts';
import { MemoryClient, type Transaction } from '../../server/src/replica/testing/memory-client.ts';
import type { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import type { GroupJudge, Known } from './group-judge.ts';

export const keys = ['a', 'b', 'c', 'd'];
const writers = 4;
/** They wait for no choice: whoever lets them read something stale is noticed. */
const readers = 2;
const askers = 3;
/** These are asked after more often than all others: what becomes of them may just be being settled. */
const newestDoubts = 5;

interface Habits {
  readonly writes: boolean;
  /** Where it goes; null: to whoever serves. Only who goes to the next leader while others wait for the last one changes what those must not show. */
  readonly at: ReplicaId | null;
}

interface ClientsOptions {
  readonly random: Random;
  readonly restMs?: number | undefined;
  /** Some read at followers what must be current. */
  readonly followerReads?: boolean;
}

/** How old what bounded reads find may be. */
const stalenessMaxMs = 400;
/** What clients knew is remembered for so long. */
const rememberedMs = 5_000;

export class GroupClients {
  private readonly group: MemoryGroup;
  private readonly judge: GroupJudge;
  private readonly random: Random;
  private readonly restMs: number;
  private readonly followerReads: boolean;
  private readonly client: MemoryClient;
  private isOpen = true;
  private atWork = 0;
  private values = 0;
  private readonly remembered: { readonly atMs: number; readonly known: ReadonlyMap<string, Known> }[] = [];

  /** `restMs`: the most that a client rests, mostly. */
  constructor(
    group: MemoryGroup,
    judge: GroupJudge,
    { random, restMs = 60, followerReads = false }: ClientsOptions,
  ) {
    this.group = group;
    this.judge = judge;
    this.random = random;
    this.restMs = restMs;
    this.followerReads = followerReads;
    this.client = new MemoryClient(group);
  }

  begin(): void {
    for (let n = 0; n < writers; n++) this.work({ writes: true, at: null });
    for (let n = 0; n < readers; n++) this.work({ writes: false, at: null });
    for (const at of this.group.ids) {
      this.work({ writes: true, at });
      this.work({ writes: false, at });
    }
    const random = this.random.fork();
    this.repeat(
      () => this.readStandby(random),
      () => random.next() * 100,
    );
    for (let n = 0; n < askers; n++) {
      const asker = this.random.fork();
      this.repeat(
        () => this.askAgain(asker),
        () => asker.next() * 50,
      );
    }
    if (this.followerReads) this.beginFollowerReads();
  }

  /** Nobody begins anything from now on. Resolves when all have ended. @throws Error if somebody is not answered */
  async end(): Promise<void> {
    this.isOpen = false;
    if (!(await this.group.time.passUntil(() => this.atWork === 0, 60_000)))
      throw new Error('a client is left without an answer');
  }

  private work(habits: Habits): void {
    const random = this.random.fork();
    this.repeat(
      () => this.transact(random, habits),
      () => random.next() * (random.chance(0.1) ? 400 : this.restMs),
    );
  }

  /** `act` again and again, each time after a pause. */
  private repeat(act: () => Promise<void>, pauseMs: () => number): void {
    this.atWork += 1;
    void (async () => {
      while (this.isOpen) {
        await new Promise<void>((resolve) => this.group.time.after(pauseMs(), resolve));
        await act();
      }
      this.atWork -= 1;
    })();
  }

  private async transact(random: Random, { writes, at }: Habits): Promise<void> {
    const { judge, client, group } = this;
    if (at !== null && group.member(at).replica?.service.service().kind !== 'here') return;
    const transaction = writes ? this.transaction(random) : { reads: [random.pick(keys)], writes: [] };
    const begun = judge.begins(transaction, group.time.nowMs());
    const disturb = (session: ModelClient): void => {
      if (random.chance(0.1)) this.disturb(session, random);
    };
    const end = await client.transact(transaction, disturb, at ?? undefined);
    judge.ends(begun, end, group.time.nowMs());
  }

  private transaction(random: Random): Transaction {
    this.values += 1;
    const value = `v${this.values}${random.chance(0.05) ? 'x'.repeat(random.below(20_000)) : ''}`;
    // In one order, so that none waits for another that waits for it.
    const written = keys.filter(() => random.chance(0.4));
    const mode = random.chance(0.05) ? random.pick(['local', 'off'] as const) : undefined;
    const request = { database: 'app', owner: '16384:5', name: `request ${this.values}` };
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

  private beginFollowerReads(): void {
    const { time } = this.group;
    for (const act of [
      (random: Random) => this.readFollower(random),
      (random: Random) => this.readFollower(random),
      (random: Random) => this.readBounded(random),
    ]) {
      const random = this.random.fork();
      this.repeat(
        () => act(random),
        () => random.next() * 30,
      );
    }
    this.remember();
    time.every(10, () => this.remember());
  }

  private remember(): void {
    const atMs = this.group.time.nowMs();
    this.remembered.push({ atMs, known: new Map(keys.map((key) => [key, this.judge.knownOf(key)])) });
    while (this.remembered[0]!.atMs < atMs - rememberedMs) this.remembered.shift();
  }

  /** What clients knew of it `ms` ago, or a little earlier. */
  private knownAgo(ms: number, key: string): Known {
    const atMs = this.group.time.nowMs() - ms;
    const then = this.remembered.findLast((each) => each.atMs <= atMs);
    return then?.known.get(key) ?? { acknowledged: 0, shown: 0 };
  }

  private async readFollower(random: Random): Promise<void> {
    const member = random.pick(this.group.members);
    const key = random.pick(keys);
    const known = this.judge.knownOf(key);
    const found = await this.client.readFollower(member.id, [key], { kind: 'linearizable' });
    if (found !== null) this.judge.followerRead(member, key, found[0]!, { known, isLinearizable: true });
  }

  /** Clocks of replicas may run a little slower than the judge's. */
  private async readBounded(random: Random): Promise<void> {
    const member = random.pick(this.group.members);
    const key = random.pick(keys);
    const known = this.knownAgo(stalenessMaxMs * 1.1, key);
    const found = await this.client.readFollower(member.id, [key], { kind: 'bounded', stalenessMaxMs });
    if (found !== null) this.judge.followerRead(member, key, found[0]!, { known, isLinearizable: false });
  }

  private async readStandby(random: Random): Promise<void> {
    const member = random.pick(this.group.members);
    const key = random.pick(keys);
    const found = await this.client.readStandby(member.id, [key]);
    if (found !== null) this.judge.standbyRead(member, key, found[0]!);
  }

  /** Anywhere, and of any: what was told once is told for ever. */
  private async askAgain(random: Random): Promise<void> {
    const { client, group, judge } = this;
    if (client.doubts.length === 0) return;
    const member = random.pick(group.members);
    const doubtful = random.pick(random.chance(0.7) ? client.doubts.slice(-newestDoubts) : client.doubts);
    const outcome = await client.askAgain(doubtful, member, random.pick([0, 50, 1000]));
    judge.told(doubtful.transaction, member, outcome);
  }
}
