/** What tells a PostgreSQL that works from one that hangs while it comes up. */
import { describe, expect, it } from 'vitest';
import { Standstill } from './standstill.ts';

function setUp() {
  const now = { ms: 1_000, pid: 7 as number | null, isMoving: true, mark: 'a' as string | null };
  const standstill = new Standstill({
    server: {
      info: () => ({ pid: now.pid, socketDir: '', port: 0, version: null }),
      isMoving: () => now.isMoving,
      workMark: () => Promise.resolve(now.mark),
    },
    timers: { nowMs: () => now.ms },
    timings: { hangMs: 2_000, pingMs: 250, standstillMs: 10_000 },
  });
  /** Looks every quarter of a second, and says after which time it was taken for hanging. */
  async function hangsAfter(maxMs: number, each: () => void = () => {}): Promise<number | null> {
    const begunAtMs = now.ms;
    while (now.ms < begunAtMs + maxMs) {
      each();
      if ((await standstill.look()) !== null) return now.ms - begunAtMs;
      now.ms += 250;
    }
    return null;
  }
  return { now, standstill, hangsAfter };
}

describe('a PostgreSQL that comes up', () => {
  it('hangs when its main process has been stopped for long enough', async () => {
    const { now, hangsAfter } = setUp();
    now.isMoving = false;
    expect(await hangsAfter(60_000)).toBe(2_000);
  });

  it('hangs when nothing is done for much longer than a disk may take', async () => {
    const { hangsAfter } = setUp();
    expect(await hangsAfter(60_000)).toBeGreaterThanOrEqual(10_000);
  });

  it('does not hang while something is done now and then, or has no process yet, or the system does not tell', async () => {
    const { now, hangsAfter } = setUp();
    let n = 0;
    expect(
      await hangsAfter(60_000, () => {
        n += 1;
        now.mark = String(Math.floor(n / 30));
      }),
    ).toBeNull();
    now.mark = null;
    expect(await hangsAfter(60_000)).toBeNull();
    Object.assign(now, { pid: null, isMoving: false });
    expect(await hangsAfter(60_000)).toBeNull();
  });

  it('does not hang because nobody has looked for long', async () => {
    const { now, standstill } = setUp();
    await standstill.look();
    now.ms += 600_000;
    expect(await standstill.look()).toBeNull();
    now.ms += 250;
    expect(await standstill.look()).toBeNull();
  });
});
