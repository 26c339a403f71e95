import { describe, expect, it } from 'vitest';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { Lsn } from '../../wal/lsn.ts';
import { AnswerGate } from './answer-gate.ts';
import type { LeavingAnswer } from './told-answers.ts';

function setUp() {
  const time = new SimulatedTime();
  const events: string[] = [];
  const told: (LeavingAnswer | 'refused')[] = [];
  const world = { lease: true, alive: true, waits: 0, over: false };
  const barriers: { pass: () => void; fail: () => void }[] = [];
  const gate = new AnswerGate({
    leaseHeld: () => world.lease,
    told: { leaves: (answer) => told.push(answer), refused: () => told.push('refused') },
    server: { isAlive: () => world.alive, endedWaits: () => world.waits },
    barrier: () =>
      new Promise((resolve, reject) => {
        barriers.push({ pass: resolve, fail: () => reject(new Error('PostgreSQL is away')) });
      }),
    position: () => ({ slot: 1 as Slot, end: 100 as Lsn }),
    onEvent: (event) =>
      events.push(event.name === 'Barrier' && !event.opens ? 'Barrier that opens nothing' : event.name),
    timers: time,
    leasePollMs: 1,
  });
  const settle = (): Promise<void> => time.pass(5);
  const pass = () => {
    const state = { passed: undefined as boolean | undefined };
    void gate
      .pass(1, () => world.over)
      .then((passed) => {
        state.passed = passed;
      });
    return state;
  };
  /** As after the first barrier of a leadership. */
  const opened = async (): Promise<void> => {
    const first = pass();
    await settle();
    barriers.shift()!.pass();
    await settle();
    expect(first.passed).toBe(true);
    events.length = 0;
  };
  return { time, settle, gate, world, barriers, events, told, pass, opened };
}

describe('the gate of answers', () => {
  it('is shut for the first answer of a leadership until a barrier has passed', async () => {
    const { settle, gate, barriers, pass } = setUp();
    expect(gate.isOpen(1)).toBe(false);
    const answer = pass();
    await settle();
    expect(answer.passed).toBeUndefined();
    barriers[0]!.pass();
    await settle();
    expect(answer.passed).toBe(true);
    expect(gate.isOpen(1)).toBe(true);
  });

  it('is shut again for the first answer of the next one, though no wait was ended since', async () => {
    const { settle, gate, barriers, pass, opened } = setUp();
    await opened();
    gate.renew();
    expect(gate.isOpen(1)).toBe(false);
    const answer = pass();
    await settle();
    expect(answer.passed).toBeUndefined();
    barriers.shift()!.pass();
    await settle();
    expect([answer.passed, gate.isOpen(1)]).toEqual([true, true]);
  });

  it('tells of each answer that leaves when it had been read, and that one may not leave without the lease', async () => {
    const { settle, gate, world, opened, pass, told, time } = setUp();
    await opened();
    told.length = 0;
    const readMs = time.nowMs();
    expect(gate.isOpen(1)).toBe(true);
    world.lease = false;
    expect(gate.isOpen(1)).toBe(false);
    pass();
    await settle();
    world.lease = true;
    const leavesMs = time.nowMs() + 1;
    await settle();
    expect(told.at(0)).toEqual({ generation: 1, ranMs: readMs, nowMs: readMs });
    expect(told.slice(1, -1).every((each) => each === 'refused')).toBe(true);
    expect(told.at(-1)).toEqual({ generation: 1, ranMs: readMs, nowMs: leavesMs });
    expect(told.length).toBeGreaterThan(3);
  });

  it('is shut without the lease, and while the main process of PostgreSQL is not certainly alive', async () => {
    const { settle, gate, world, opened, pass } = setUp();
    await opened();
    world.lease = false;
    expect(gate.isOpen(1)).toBe(false);
    const answer = pass();
    await settle();
    expect(answer.passed).toBeUndefined();
    world.lease = true;
    await settle();
    expect(answer.passed).toBe(true);
    world.alive = false;
    expect(gate.isOpen(1)).toBe(false);
    const late = pass();
    await settle();
    expect(late.passed).toBeUndefined();
    world.over = true;
    await settle();
    expect(late.passed).toBe(false);
  });

  it('holds answers from the moment at which a wait was ended early until a barrier that began later has passed', async () => {
    const { settle, gate, world, barriers, events, opened, pass } = setUp();
    await opened();
    world.waits += 1;
    expect(gate.isOpen(1)).toBe(false);
    const answer = pass();
    await settle();
    expect(answer.passed).toBeUndefined();
    expect(events).toEqual(['EndWait']);
    barriers[0]!.pass();
    await settle();
    expect(answer.passed).toBe(true);
    expect(events).toEqual(['EndWait', 'Barrier']);
    expect(gate.isOpen(1)).toBe(true);
  });

  it('stays shut when another wait was ended while the barrier was under way', async () => {
    const { settle, gate, world, barriers, opened, pass } = setUp();
    await opened();
    world.waits = 1;
    const answer = pass();
    await settle();
    world.waits = 2;
    barriers.shift()!.pass();
    await settle();
    expect(answer.passed).toBe(true);
    expect(gate.isOpen(1)).toBe(false);
    const next = pass();
    await settle();
    expect(next.passed).toBeUndefined();
    barriers.shift()!.pass();
    await settle();
    expect([next.passed, gate.isOpen(1)]).toEqual([true, true]);
  });

  it('tells once that answers are held, and once that they go on: not before all waits are behind a barrier', async () => {
    const { settle, world, barriers, events, opened, pass } = setUp();
    await opened();
    world.waits = 1;
    pass();
    pass();
    await settle();
    world.waits = 2;
    barriers.shift()!.pass();
    await settle();
    expect(events).toEqual(['EndWait', 'Barrier that opens nothing']);
    pass();
    await settle();
    barriers.shift()!.pass();
    await settle();
    expect(events).toEqual(['EndWait', 'Barrier that opens nothing', 'Barrier']);
    world.waits = 3;
    pass();
    await settle();
    expect(events.at(-1)).toBe('EndWait');
  });

  it('lets no answer pass behind a barrier that had begun before it was read', async () => {
    const { settle, world, barriers, opened, pass } = setUp();
    await opened();
    world.waits += 1;
    const first = pass();
    await settle();
    world.waits += 1;
    const second = pass();
    await settle();
    expect(barriers).toHaveLength(1);
    barriers.shift()!.pass();
    await settle();
    expect(first.passed).toBe(true);
    await settle();
    expect(second.passed).toBeUndefined();
    expect(barriers).toHaveLength(1);
    // The same holds for the barrier that waited for the first.
    world.waits += 1;
    const third = pass();
    await settle();
    expect(barriers).toHaveLength(1);
    barriers.shift()!.pass();
    await settle();
    expect([second.passed, third.passed]).toEqual([true, undefined]);
    expect(barriers).toHaveLength(1);
    barriers.shift()!.pass();
    await settle();
    expect(third.passed).toBe(true);
  });

  it('shares one barrier among all that wait for the next', async () => {
    const { settle, world, barriers, opened, pass } = setUp();
    await opened();
    world.waits += 1;
    const first = pass();
    await settle();
    const others = [pass(), pass(), pass()];
    await settle();
    barriers.shift()!.pass();
    await settle();
    expect(first.passed).toBe(true);
    await settle();
    expect(barriers.length).toBe(1);
    barriers.shift()!.pass();
    await settle();
    expect(others.every(({ passed }) => passed === true)).toBe(true);
    expect(barriers).toHaveLength(0);
  });

  it('puts every answer behind a barrier as long as one session is not trusted', async () => {
    const { settle, gate, barriers, opened, pass } = setUp();
    await opened();
    const trust = gate.distrust();
    expect(gate.isOpen(1)).toBe(false);
    for (let n = 0; n < 3; n++) {
      const answer = pass();
      await settle();
      expect(answer.passed).toBeUndefined();
      barriers.shift()!.pass();
      await settle();
      expect(answer.passed).toBe(true);
      expect(gate.isOpen(1)).toBe(false);
    }
    trust();
    trust();
    expect(gate.isOpen(1)).toBe(true);
  });

  it('tries again after a barrier that failed, and ends with the generation', async () => {
    const { settle, world, barriers, opened, pass } = setUp();
    await opened();
    world.waits += 1;
    const answer = pass();
    await settle();
    barriers.shift()!.fail();
    await settle();
    expect(barriers.length).toBe(1);
    expect(answer.passed).toBeUndefined();
    world.over = true;
    barriers.shift()!.fail();
    await settle();
    expect(answer.passed).toBe(false);
  });

  it.each([
    ['the lease was lost', { lease: false }],
    ['the main process of PostgreSQL died', { alive: false }],
  ])('does not let an answer go behind a barrier that passed after %s', async (_what, change) => {
    const { settle, world, barriers, opened, pass } = setUp();
    await opened();
    world.waits += 1;
    const answer = pass();
    await settle();
    Object.assign(world, change);
    barriers.shift()!.pass();
    await settle();
    expect(answer.passed).toBeUndefined();
    world.over = true;
    await settle();
    expect(answer.passed).toBe(false);
  });

  it('does not let an answer go behind a barrier that passed after the generation had ended', async () => {
    const { settle, world, barriers, opened, pass } = setUp();
    await opened();
    world.waits += 1;
    const answer = pass();
    await settle();
    world.over = true;
    barriers.shift()!.pass();
    await settle();
    expect(answer.passed).toBe(false);
  });
});
