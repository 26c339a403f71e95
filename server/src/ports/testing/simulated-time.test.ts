import { describe, expect, it } from 'vitest';
import { ProcessTime, SimulatedTime } from './simulated-time.ts';
import { describeTimers, type TimersFixture } from './timers-contract.ts';

function fixtureOf(time: SimulatedTime, timers: TimersFixture['timers']): TimersFixture {
  // Time that stands still where nothing is due has to be passed.
  const tick = (): void => void time.after(1, tick);
  tick();
  return {
    timers,
    async until(holds) {
      if (!(await time.passUntil(holds, 1000))) throw new Error('it has not come to hold');
    },
  };
}

describeTimers('simulated time', () => {
  const time = new SimulatedTime();
  return fixtureOf(time, time);
});

describeTimers('the time of a simulated process', () => {
  const time = new SimulatedTime();
  return fixtureOf(time, new ProcessTime(time, 1.01));
});

describe('simulated time', () => {
  it('waits for whoever looks on, and what they ask for comes first', async () => {
    const time = new SimulatedTime();
    const told: string[] = [];
    const tell = (what: string) => () => void told.push(`${what} at ${time.nowMs()}`);
    time.after(10, tell('planned'));
    time.pace = async (atMs) => {
      await Promise.resolve();
      if (told.length === 0) time.soon(tell(`asked for before ${atMs}`));
    };
    await time.pass(20);
    expect(told).toEqual(['asked for before 10 at 0', 'planned at 10']);
  });

  it('calls back in the order of time, and of asking at the same time', async () => {
    const time = new SimulatedTime();
    const told: string[] = [];
    const tell = (what: string) => () => void told.push(`${what} at ${time.nowMs()}`);
    time.after(20, tell('late'));
    time.after(10, tell('first'));
    time.after(10, tell('second'));
    time.soon(tell('now'));
    const cancel = time.after(15, tell('never'));
    const stop = time.every(8, tell('again'));
    time.after(12, cancel);
    time.after(17, stop);
    await time.pass(100);
    expect(told).toEqual([
      'now at 0',
      'again at 8',
      'first at 10',
      'second at 10',
      'again at 16',
      'late at 20',
    ]);
    expect(time.nowMs()).toBe(100);
  });

  it('lets all that waits for promises run before time passes', async () => {
    const time = new SimulatedTime();
    const told: string[] = [];
    time.after(1, () => told.push('time'));
    void (async () => {
      for (let n = 0; n < 50; n++) await Promise.resolve();
      told.push('promises');
    })();
    await time.pass(5);
    expect(told).toEqual(['promises', 'time']);
  });

  it('says when something does not come to pass', async () => {
    const time = new SimulatedTime();
    expect(await time.passUntil(() => time.nowMs() >= 7, 5)).toBe(false);
    time.after(2, () => undefined);
    expect(await time.passUntil(() => time.nowMs() >= 7, 5)).toBe(true);
    await expect(time.until(new Promise(() => {}), 10)).rejects.toThrow('nothing came of it within 10 ms');
    expect(await time.until(new Promise((resolve) => time.after(3, () => resolve('x'))))).toBe('x');
  });

  it('comes late to a process that is stopped, and never to one that is dead', async () => {
    const time = new SimulatedTime();
    const process = new ProcessTime(time, 2);
    const told: string[] = [];
    process.after(20, () => told.push(`one at ${time.nowMs()}`));
    process.after(40, () => told.push(`other at ${time.nowMs()}`));
    process.stop();
    await time.pass(15);
    expect(told).toEqual([]);
    process.goOn();
    await time.pass(3);
    expect(told).toEqual(['one at 15']);
    await time.pass(10);
    expect(told).toEqual(['one at 15', 'other at 20']);
    expect(process.nowMs()).toBe(1000 + 2 * 28);
    process.after(1, () => told.push('dead'));
    process.die();
    await time.pass(10);
    expect(told).toHaveLength(2);
  });

  it('comes no sooner to a process whose clock has become slower', async () => {
    const time = new SimulatedTime();
    const process = new ProcessTime(time, 2, 500);
    const told: number[] = [];
    process.after(40, () => told.push(time.nowMs()));
    await time.pass(10);
    expect(process.nowMs()).toBe(520);
    process.goAt(1);
    await time.pass(20);
    expect(told).toEqual([30]);
    expect(process.nowMs()).toBe(540);
  });

  it('comes to a process that was stopped in the order in which it came due', async () => {
    const time = new SimulatedTime();
    const process = new ProcessTime(time);
    const told: string[] = [];
    process.after(1, () => told.push('first'));
    process.after(2, () => told.push('second'));
    process.stop();
    time.after(10, () => process.goOn());
    process.after(10, () => told.push('third'));
    time.after(10, () => process.after(0, () => told.push('fourth')));
    await time.pass(20);
    expect(told).toEqual(['first', 'second', 'third', 'fourth']);
  });
});

it('passes where somebody waits for next to nothing, as what is left of a wait by another clock may be', async () => {
  const time = new SimulatedTime();
  await time.pass(20_000);
  let isOver = false;
  time.after(1e-12, () => {
    isOver = time.nowMs() > 20_000;
  });
  await time.pass(1);
  expect(isOver).toBe(true);
});
