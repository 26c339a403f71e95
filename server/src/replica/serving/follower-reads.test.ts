import { describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { ControlMessage, ReadIndexQuestion } from '../../ports/control.ts';
import type { Currency, Freshness } from '../../ports/standby-reads.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { FollowerReads } from './follower-reads.ts';

const linearizable: Freshness = { kind: 'linearizable' };
const bounded = (stalenessMaxMs: number): Freshness => ({ kind: 'bounded', stalenessMaxMs });
const r1 = 'r1' as ReplicaId;

function setUp() {
  const time = new SimulatedTime();
  const world = {
    leader: r1 as ReplicaId | null,
    index: null as Slot | null,
    replayed: 0,
    announced: 0,
    isShown: true,
  };
  const sent: { readonly to: string; readonly message: ControlMessage }[] = [];
  const reads = new FollowerReads({
    transport: { sendControl: (to, message) => sent.push({ to, message }) },
    timers: time,
    run: 'a run',
    leader: () => world.leader,
    readIndex: () => world.index,
    announce: () => {
      world.announced += 1;
    },
    replayed: () => world.replayed as Slot,
    hurry: () => undefined,
    onReader: () => undefined,
    shown: { isShown: () => world.isShown, awaitShown: async () => world.isShown, over: () => undefined },
    socketPath: () => '/tmp/socket',
    reservedUsers: ['postgres'],
    findLogin: () => Promise.reject(new Error('nobody is asked')),
    lookAtLeft: () => Promise.resolve({ ended: 0, living: [] }),
    retryMs: 200,
  });
  reads.letIn(true);
  const life = (): number => reads.standby()?.life ?? 0;
  /** What has been told so far. */
  const begin = (freshness: Freshness, waitMs = 1000): { told: Currency | null } => {
    const read: { told: Currency | null } = { told: null };
    void reads.beginRead(life(), freshness, waitMs).then((currency) => {
      read.told = currency;
    });
    return read;
  };
  const questions = (): readonly ReadIndexQuestion[] =>
    sent.flatMap(({ message }) => (message.kind === 'ReadIndexQuestion' ? [message] : []));
  const answer = async (index: number, { number, run } = questions().at(-1)!): Promise<void> => {
    reads.handleReadIndex({ kind: 'ReadIndexAnswer', run, number, index: index as Slot });
    await time.pass(0);
  };
  const replay = async (slot: number): Promise<void> => {
    world.replayed = slot;
    reads.reached(slot as Slot);
    await time.pass(0);
  };
  return { time, world, sent, reads, life, begin, questions, answer, replay };
}

describe('a linearizable read', () => {
  it('waits until what the leader has told is replayed', async () => {
    const { time, begin, answer, replay, sent, reads } = setUp();
    const read = begin(linearizable);
    await time.pass(1);
    expect(sent).toEqual([{ to: 'r1', message: { kind: 'ReadIndexQuestion', run: 'a run', number: 1 } }]);
    await answer(7);
    expect(reads.wanted).toBe(7);
    await replay(6);
    expect(read.told).toBeNull();
    await replay(7);
    expect(read.told).toEqual({ code: 'current' });
    expect(reads.wanted).toBeNull();
  });

  it('waits for what it was told itself, not for what one before it was told', async () => {
    const { time, begin, answer, replay } = setUp();
    const reads = [];
    for (const index of [7, 8]) {
      reads.push(begin(linearizable));
      await time.pass(1);
      await answer(index);
    }
    await replay(7);
    expect(reads.map(({ told }) => told?.code)).toEqual(['current', undefined]);
    await replay(8);
    expect(reads.map(({ told }) => told?.code)).toEqual(['current', 'current']);
  });

  it('does not wait for what is replayed already', async () => {
    const { time, begin, answer, replay } = setUp();
    await replay(7);
    const read = begin(linearizable);
    await time.pass(1);
    await answer(7);
    expect(read.told).toEqual({ code: 'current' });
  });

  it('has no use for an index that was asked for before', async () => {
    const { time, begin, answer, questions } = setUp();
    const first = begin(linearizable);
    await time.pass(1);
    const late = begin(linearizable);
    await time.pass(1);
    expect(questions()).toHaveLength(1);
    await answer(0);
    expect([first.told, late.told]).toEqual([{ code: 'current' }, null]);
    await time.pass(1);
    expect(questions()).toHaveLength(2);
    await answer(0);
    expect(late.told).toEqual({ code: 'current' });
  });

  it('shares a question with all that were asked for before that was sent', async () => {
    const { time, begin, answer, questions } = setUp();
    const all = Array.from({ length: 50 }, () => begin(linearizable));
    await time.pass(1);
    await answer(0);
    expect(all.map(({ told }) => told?.code)).toEqual(all.map(() => 'current'));
    expect(questions()).toHaveLength(1);
  });

  it('is asked for again when no answer comes, and an answer to what was given up counts for nothing', async () => {
    const { time, begin, answer, questions } = setUp();
    const read = begin(linearizable);
    await time.pass(1);
    const [lost] = questions();
    await time.pass(250);
    expect(questions()).toHaveLength(2);
    await answer(0, lost);
    expect(read.told).toBeNull();
    await answer(0);
    expect(read.told).toEqual({ code: 'current' });
  });

  it('takes no answer to a question of an earlier life of the process', async () => {
    const { time, begin, answer } = setUp();
    const read = begin(linearizable);
    await time.pass(1);
    await answer(0, { kind: 'ReadIndexQuestion', run: 'another', number: 1 });
    expect(read.told).toBeNull();
  });

  it('is refused when its time is over, and tells why', async () => {
    const { time, world, begin, answer } = setUp();
    world.leader = null;
    const alone = begin(linearizable, 1000);
    await time.pass(1001);
    expect(alone.told).toEqual({ code: 'noAnswer', staleMs: null });
    world.leader = r1;
    const behind = begin(linearizable, 1000);
    await time.pass(250);
    await answer(9);
    await time.pass(1000);
    expect(behind.told).toEqual({ code: 'behind', staleMs: null });
  });

  it('may be told when the leader shows what it has found, in the life of the standby in which it ran', async () => {
    const { reads, world, life } = setUp();
    const before = life();
    expect([reads.mayTell(before), await reads.awaitTold(before, 10)]).toEqual([true, true]);
    world.isShown = false;
    expect([reads.mayTell(before), await reads.awaitTold(before, 10)]).toEqual([false, false]);
    world.isShown = true;
    reads.letIn(false);
    reads.letIn(true);
    expect([reads.mayTell(before), await reads.awaitTold(before, 10)]).toEqual([false, false]);
    expect(reads.mayTell(life())).toBe(true);
  });

  it('ends with the life of the standby, and of the next one nothing is known', async () => {
    const { time, reads, begin, answer, life, questions } = setUp();
    const read = begin(linearizable);
    await time.pass(1);
    const [question] = questions();
    const before = life();
    let changes = 0;
    reads.onStandbyChange(() => changes++);
    reads.letIn(false);
    reads.letIn(false);
    await time.pass(0);
    expect([read.told, changes, reads.standby()]).toEqual([{ code: 'over' }, 1, null]);
    reads.letIn(true);
    expect(life()).not.toBe(before);
    expect(await reads.beginRead(before, { kind: 'snapshot' }, 10)).toEqual({ code: 'over' });
    const next = begin(linearizable);
    await answer(0, question);
    expect(next.told).toBeNull();
  });

  it('asks no more while there is much that is not replayed, and every read has its answer in the end', async () => {
    const { time, begin, answer, replay, questions } = setUp();
    const all: { told: Currency | null }[] = [];
    for (let index = 1; index <= 30; index++) {
      all.push(begin(linearizable, 100_000));
      await time.pass(1);
      if (questions().length === index) await answer(index);
    }
    expect(questions()).toHaveLength(16);
    await replay(16);
    await time.pass(1);
    expect(questions()).toHaveLength(17);
    await answer(30);
    await replay(30);
    expect(all.every(({ told }) => told?.code === 'current')).toBe(true);
  });
});

describe('a bounded read', () => {
  it('asks nobody while what the standby has is young enough, and the leader ahead of its age', async () => {
    const { time, begin, answer, questions } = setUp();
    const first = begin(bounded(1000));
    await time.pass(1);
    await answer(0);
    expect(first.told).toEqual({ code: 'current' });
    await time.pass(400);
    const young = begin(bounded(1000));
    await time.pass(0);
    expect([young.told?.code, questions().length]).toEqual(['current', 1]);
    await time.pass(300);
    const old = begin(bounded(1000));
    await time.pass(1);
    expect([old.told?.code, questions().length]).toEqual(['current', 2]);
  });

  it('knows nothing of a standby that has just taken the place of another', async () => {
    const { time, reads, begin, answer } = setUp();
    begin(bounded(1000));
    await time.pass(1);
    await answer(0);
    reads.letIn(false);
    reads.letIn(true);
    const read = begin(bounded(1000));
    await time.pass(0);
    expect(read.told).toBeNull();
    await answer(0);
    expect(read.told).toEqual({ code: 'current' });
  });

  it('takes what it has to be as old as the question, however late the answer came', async () => {
    const { time, begin, answer } = setUp();
    const read = begin(bounded(100), 300);
    await time.pass(1);
    await time.pass(150);
    await answer(0);
    expect(read.told).toBeNull();
    await time.pass(300);
    expect(read.told).toMatchObject({ code: 'noAnswer' });
  });

  it('is refused by a follower that is cut off, which knows how old what it has is', async () => {
    const { time, begin, answer } = setUp();
    begin(bounded(1000));
    await time.pass(1);
    await answer(0);
    await time.pass(5000);
    const read = begin(bounded(1000), 500);
    await time.pass(500);
    expect(read.told?.code).toBe('noAnswer');
    expect((read.told as { staleMs: number }).staleMs).toBeGreaterThan(5000);
    const lenient = begin(bounded(60_000), 500);
    await time.pass(0);
    expect(lenient.told).toEqual({ code: 'current' });
  });
});

it('a snapshot read asks nobody', async () => {
  const { time, begin, sent } = setUp();
  const read = begin({ kind: 'snapshot' });
  await time.pass(1);
  expect([read.told, sent]).toEqual([{ code: 'current' }, []]);
});

describe('a leader', () => {
  it('answers with how far the log is chosen, and lets the others know', () => {
    const { reads, world, sent } = setUp();
    world.index = 12 as Slot;
    reads.answerReadIndex('r2.3' as ReplicaId, { kind: 'ReadIndexQuestion', run: 'x', number: 5 });
    const message = { kind: 'ReadIndexAnswer', run: 'x', number: 5, index: 12 };
    expect([sent, world.announced]).toEqual([[{ to: 'r2', message }], 1]);
  });

  it('that does not serve, or has no lease, says nothing', () => {
    const { reads, sent } = setUp();
    reads.answerReadIndex('r2' as ReplicaId, { kind: 'ReadIndexQuestion', run: 'x', number: 5 });
    expect(sent).toEqual([]);
  });
});
