import { describe, expect, it } from 'vitest';
import { eventually } from '../ports/testing/eventually.ts';
import { describeTimers } from '../ports/testing/timers-contract.ts';
import { createNowMs, systemClock } from './system-clock.ts';

describeTimers('the system', () => ({
  timers: systemClock,
  until: (holds) =>
    eventually(() => {
      if (!holds()) throw new Error('it has not come to hold');
    }),
}));

/** `putAside`: before these readings of a clock, counted from 0, the process does not run for that long. */
function setUp(putAside: ReadonlyMap<number, number> = new Map()) {
  const time = { monotonicMs: 5000, wallMs: 1_700_000_000_000, uptimeMs: 90_000 };
  let readings = 0;
  const pass = (ms: number): void => {
    time.monotonicMs += ms;
    time.wallMs += ms;
    time.uptimeMs += ms;
  };
  const reading = (tell: () => number) => (): number => {
    pass(putAside.get(readings++) ?? 0);
    return tell();
  };
  const nowMs = createNowMs({
    monotonicMs: reading(() => time.monotonicMs),
    wallMs: reading(() => time.wallMs),
    uptimeMs: reading(() => Math.floor(time.uptimeMs / 10) * 10),
  });
  const suspend = (ms: number): void => {
    time.wallMs += ms;
    time.uptimeMs += ms;
  };
  return { time, nowMs, pass, suspend };
}

describe('the clock', () => {
  it('counts a suspension of the machine at the first reading after it', () => {
    const { nowMs, pass, suspend } = setUp();
    const before = nowMs();
    pass(7);
    suspend(3000);
    expect(nowMs() - before).toBeGreaterThanOrEqual(2990);
    expect(nowMs() - before).toBeLessThanOrEqual(3020);
    suspend(60_000);
    pass(1);
    expect(nowMs() - before).toBeGreaterThan(62_900);
  });

  it('does not heed a wall clock that is set', () => {
    const { time, nowMs, pass } = setUp();
    const before = nowMs();
    for (const ms of [3_600_000, -7_200_000, 1000]) {
      time.wallMs += ms;
      pass(10);
      nowMs();
    }
    expect(nowMs() - before).toBe(30);
  });

  it('notices a suspension soon even if the wall clock was set back in it', () => {
    const { time, nowMs, pass, suspend } = setUp();
    const before = nowMs();
    suspend(5000);
    time.wallMs -= 5000;
    pass(251);
    expect(nowMs() - before).toBeGreaterThan(5200);
  });

  it.each(Array.from({ length: 40 }, (_, reading) => reading))(
    'takes it for no suspension that the process did not run before reading %i, and counts one behind it',
    (reading) => {
      const { time, nowMs, pass, suspend } = setUp(new Map([[reading, 70]]));
      for (let n = 0; n < 40; n++) {
        pass(260);
        nowMs();
      }
      expect(nowMs()).toBe(time.monotonicMs);
      suspend(3000);
      for (let n = 0; n < 2; n++) {
        expect(nowMs() - time.monotonicMs).toBeGreaterThanOrEqual(2990);
        expect(nowMs() - time.monotonicMs).toBeLessThanOrEqual(3010);
        pass(260);
      }
    },
  );

  it('counts a suspension at whose end the process did not run for a while', () => {
    for (let reading = 5; reading < 22; reading++) {
      const { time, nowMs, pass, suspend } = setUp(new Map([[reading, 70]]));
      suspend(3000);
      nowMs();
      pass(260);
      nowMs();
      pass(260);
      expect(nowMs() - time.monotonicMs).toBeGreaterThanOrEqual(2990);
      expect(nowMs() - time.monotonicMs).toBeLessThanOrEqual(3010);
    }
  });

  it('never goes back, and drifts with nobody', () => {
    const { time, nowMs, pass, suspend } = setUp();
    let last = nowMs();
    const first = last;
    for (let n = 0; n < 5000; n += 1) {
      pass(13);
      if (n % 7 === 0) time.wallMs += n % 2 === 0 ? 40 : -45;
      if (n === 2500) suspend(100);
      const now = nowMs();
      expect(now).toBeGreaterThanOrEqual(last + 13);
      last = now;
    }
    expect(last - first).toBeGreaterThanOrEqual(5000 * 13);
    expect(last - first).toBeLessThanOrEqual(5000 * 13 + 110);
  });
});
