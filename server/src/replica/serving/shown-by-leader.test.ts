import { describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { ShownQuestion } from '../../ports/control.ts';
import type { SnapshotView } from '../../ports/digest.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { ShownAnswers } from './shown-answers.ts';
import { ShownByLeader } from './shown-by-leader.ts';

const r1 = 'r1' as ReplicaId;
const view = (end: bigint, running: readonly bigint[] = []): SnapshotView => ({
  end,
  running: new Set(running),
});

/** A follower whose standby, and whose leader, the test speaks for. */
function setUp() {
  const time = new SimulatedTime();
  const world = { leader: r1 as ReplicaId | null, sent: 5, replayed: 5, end: 100n, isAway: false };
  /** Transactions that the standby shows. */
  const shows = new Set<bigint>();
  const questions: ShownQuestion[] = [];
  const looks = { snapshots: 0, statuses: 0 };
  const reads = new ShownByLeader({
    transport: {
      sendControl: (to, message) => {
        expect([to, message.kind]).toEqual(['r1', 'ShownQuestion']);
        questions.push(message as ShownQuestion);
      },
    },
    timers: time,
    server: {
      snapshot: (givenUp) => {
        looks.snapshots += 1;
        if (world.isAway)
          return new Promise((_, reject) =>
            givenUp.addEventListener('abort', () => reject(new Error('given up'))),
          );
        return Promise.resolve(view(world.end));
      },
      shownAmong: (xids) => {
        looks.statuses += 1;
        return Promise.resolve(xids.filter((xid) => shows.has(xid)));
      },
    },
    leader: () => world.leader,
    sent: () => world.sent as Slot,
    standbyHas: () => world.replayed as Slot,
    run: 'a run',
    retryMs: 200,
  });
  const wait = async (waitMs = 1000): Promise<{ told: boolean | null }> => {
    const one: { told: boolean | null } = { told: null };
    void reads.awaitShown(waitMs).then((isShown) => {
      one.told = isShown;
    });
    await time.pass(1);
    return one;
  };
  /** Of its snapshot, that is. */
  const answer = async (
    running: readonly bigint[] = [],
    { run, number } = questions.at(-1)!,
    end = 100n,
  ): Promise<void> => {
    const seen = { end: String(end), running: running.map(String) };
    reads.handleShown({ kind: 'ShownAnswer', run, number, ...seen });
    await time.pass(1);
  };
  return { time, world, shows, questions, looks, reads, wait, answer };
}

describe('what a standby has shown', () => {
  it('is told when the leader shows all that has ended there', async () => {
    const { reads, questions, wait, answer, looks } = setUp();
    expect(reads.isShown()).toBe(false);
    const one = await wait();
    expect(questions).toEqual([{ kind: 'ShownQuestion', run: 'a run', number: 1, end: '0', committed: [] }]);
    expect(one.told).toBeNull();
    await answer([], questions[0], 99n);
    expect(questions.at(-1)).toMatchObject({ number: 2, end: '100', committed: [] });
    expect(one.told).toBeNull();
    await answer([100n, 101n], questions[1], 102n);
    expect([one.told, looks.statuses]).toEqual([true, 0]);
  });

  it('waits for what runs at the leader and is committed here, and for nothing else that runs there', async () => {
    const { shows, questions, wait, answer } = setUp();
    shows.add(98n);
    const one = await wait();
    await answer([97n, 98n]);
    expect(questions.at(-1)).toMatchObject({ number: 2, end: '100', committed: ['98'] });
    expect(one.told).toBeNull();
    await answer([97n]);
    expect(one.told).toBe(true);
    const other = await wait();
    shows.delete(98n);
    await answer([97n]);
    expect([other.told, questions.length]).toEqual([true, 3]);
  });

  it('asks nobody while the standby cannot have been sent more than the leader shows', async () => {
    const { world, reads, wait, answer } = setUp();
    await wait();
    await answer();
    expect(reads.isShown()).toBe(true);
    world.sent = 6;
    expect(reads.isShown()).toBe(false);
  });

  it('is not known of what was replayed while it was asked for', async () => {
    const { world, reads, wait, answer } = setUp();
    world.replayed = 4;
    await wait();
    world.replayed = 5;
    await answer();
    expect(reads.isShown()).toBe(false);
  });

  it('has no use for a round that began before it was read, unless that covers all that the standby was sent', async () => {
    const { world, wait, answer, looks, questions } = setUp();
    const first = await wait();
    const covered = await wait();
    world.sent = 6;
    const late = await wait();
    expect([looks.snapshots, questions.length]).toEqual([1, 1]);
    await answer();
    expect([first.told, covered.told, late.told, looks.snapshots]).toEqual([true, true, null, 2]);
    await answer();
    expect(late.told).toBe(true);
  });

  it('is asked for again, of whoever leads then, when no answer comes', async () => {
    const { time, world, questions, wait, answer } = setUp();
    world.leader = null;
    const one = await wait();
    expect(questions).toEqual([]);
    world.leader = r1;
    await time.pass(450);
    expect(questions.map(({ number }) => number)).toEqual([1, 1]);
    await answer([], questions[0]);
    expect(one.told).toBe(true);
  });

  it('is believed of an answer to the question that is under way only', async () => {
    const { wait, answer, questions } = setUp();
    const one = await wait();
    await answer([], { ...questions[0]!, run: 'another run' });
    await answer([], { ...questions[0]!, number: 0 });
    expect(one.told).toBeNull();
  });

  it('is refused when it takes too long, whoever is silent, and then nothing is asked any more', async () => {
    const { time, world, wait, questions, reads, looks } = setUp();
    const one = await wait(300);
    await time.pass(300);
    expect([one.told, reads.counts.refused]).toEqual([false, 1]);
    const asked = questions.length;
    await time.pass(1000);
    expect(questions.length).toBe(asked);
    world.isAway = true;
    const other = await wait(300);
    await time.pass(300);
    expect([other.told, looks.snapshots]).toEqual([false, 2]);
    const askedMeanwhile = questions.length;
    await time.pass(1000);
    expect(questions.length).toBe(askedMeanwhile);
    world.isAway = false;
    await wait();
    expect([looks.snapshots, questions.length]).toEqual([3, askedMeanwhile + 1]);
  });

  it('is over with the life of the standby', async () => {
    const { reads, time, wait } = setUp();
    const one = await wait();
    reads.over();
    await time.pass(0);
    expect([one.told, reads.counts.refused]).toEqual([false, 0]);
  });
});

/** A leader whose PostgreSQL the test speaks for. */
function setUpLeader() {
  const time = new SimulatedTime();
  const world = { serves: true, now: view(100n), isAway: false };
  const sent: string[] = [];
  const looks: ((seen: SnapshotView) => void)[] = [];
  const answers = new ShownAnswers({
    transport: {
      sendControl: (to, message) => {
        if (message.kind === 'ShownAnswer')
          sent.push(`${to} ${message.run} ${message.number}: ${message.end} ${message.running.join(' ')}`);
      },
    },
    timers: time,
    server: {
      snapshot: (givenUp) =>
        new Promise((resolve, reject) => {
          looks.push(resolve);
          givenUp.addEventListener('abort', () => reject(new Error('given up')));
        }),
    },
    serves: () => world.serves,
    keepMs: 200,
    pollMs: 1,
    pollMsMax: 50,
  });
  const ask = async (from: string, end: bigint, committed: readonly bigint[] = []): Promise<void> => {
    const ids = { end: String(end), committed: committed.map(String) };
    answers.take(from as ReplicaId, { kind: 'ShownQuestion', run: 'x', number: 1, ...ids });
    await time.pass(0);
  };
  const show = async (seen: SnapshotView): Promise<void> => {
    looks.at(-1)!(seen);
    await time.pass(2);
  };
  return { time, world, sent, looks, ask, show };
}

describe('a leader', () => {
  it('tells what runs, when its snapshot comes to the end that it is asked for', async () => {
    const { sent, ask, show } = setUpLeader();
    await ask('r2.1', 100n);
    await show(view(99n));
    expect(sent).toEqual([]);
    await show(view(103n, [97n, 101n]));
    expect(sent).toEqual(['r2 x 1: 103 97 101']);
  });

  it('waits until what is asked for runs no more', async () => {
    const { sent, ask, show } = setUpLeader();
    await ask('r2', 100n, [97n]);
    await show(view(103n, [97n]));
    expect(sent).toEqual([]);
    await show(view(103n));
    expect(sent).toEqual(['r2 x 1: 103 ']);
  });

  it('has one snapshot for all that were asked before it was taken, and another for those behind', async () => {
    const { sent, ask, show, looks } = setUpLeader();
    await ask('r2', 100n);
    await ask('r3', 100n);
    expect(looks.length).toBe(1);
    await show(view(100n));
    expect(sent).toEqual(['r2 x 1: 100 ']);
    expect(looks.length).toBe(2);
    await show(view(100n));
    expect(sent).toEqual(['r2 x 1: 100 ', 'r3 x 1: 100 ']);
  });

  it('that has lost its lease by the time its snapshot is there says nothing', async () => {
    const { sent, ask, show, world, looks } = setUpLeader();
    world.serves = false;
    await ask('r2', 100n);
    expect(looks).toEqual([]);
    world.serves = true;
    await ask('r2', 100n);
    world.serves = false;
    await show(view(100n));
    expect(sent).toEqual([]);
  });

  it('keeps no question for ever, nor waits for a PostgreSQL that hangs', async () => {
    const { time, sent, ask, show, looks } = setUpLeader();
    await ask('r2', 100n);
    await time.pass(300);
    await ask('r2', 100n, [97n]);
    for (let times = 0; times < 150; times++) await show(view(100n, [97n]));
    const looked = looks.length;
    await time.pass(300);
    expect([sent, looks.length]).toEqual([[], looked]);
  });

  /** Every millisecond of so many, what was asked for runs still. */
  const running = async (leader: ReturnType<typeof setUpLeader>, ms: number): Promise<number> => {
    let answered = 0;
    for (let passed = 0; passed < ms; passed++) {
      if (leader.looks.length > answered) leader.looks.at(-1)!(view(103n, [97n]));
      answered = leader.looks.length;
      await leader.time.pass(1);
    }
    return leader.looks.length;
  };

  it('looks less and less often for a session that does not come to its end, though it is asked again', async () => {
    const leader = setUpLeader();
    await leader.ask('r2', 100n, [97n]);
    expect(await running(leader, 150)).toBeLessThan(10);
    await leader.ask('r2', 100n, [97n]);
    const looked = leader.looks.length;
    expect((await running(leader, 150)) - looked).toBeLessThan(6);
    expect(leader.sent).toEqual([]);
  });

  it('looks at once for another question, and often again', async () => {
    const leader = setUpLeader();
    await leader.ask('r2', 100n, [97n]);
    const looked = await running(leader, 105);
    await leader.ask('r3', 100n);
    expect(leader.looks.length).toBe(looked + 1);
    await leader.show(view(103n, [97n]));
    expect(leader.sent).toEqual(['r3 x 1: 103 97']);
    await leader.time.pass(2);
    expect(leader.looks.length).toBe(looked + 2);
  });
});
