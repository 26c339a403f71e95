import { describe, expect, it } from 'vitest';
import { systemClock } from '../../adapters/system-clock.ts';
import type { Timers } from '../../ports/clock.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import type { WalStream } from '../../ports/database-server.ts';
import type { ProposeResult } from '../payload.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';
import { Shipper } from './shipper.ts';
import { ballot, lsn, walBytes } from './testing/entries.ts';
import { decodeWalEntry } from './wal-entry.ts';

const leadership = ballot(3, 'r1');

interface SetUp {
  readonly entryBytesMax?: number;
  readonly queueBytesMax?: number;
  readonly groupIntervalMs?: () => number;
  readonly timers?: Timers;
}

function setUp(more: SetUp = {}) {
  let isWriting = false;
  const ranges: { start: number; bytes: number }[] = [];
  const released: number[] = [];
  const agreed: number[] = [];
  const calls: string[] = [];
  let answer: ProposeResult['code'] = 'proposed';
  const shipper = new Shipper({
    leadership,
    timeline: 2 as Timeline,
    from: lsn(1000),
    entryBytesMax: 1000,
    queueBytesMax: 500,
    propose: (payload) => {
      if (answer !== 'proposed') return { code: answer };
      const entry = decodeWalEntry(payload);
      if (entry.kind !== 'range') throw new Error('no range');
      expect(Buffer.from(entry.data)).toEqual(walBytes(entry.start, entry.data.length));
      ranges.push({ start: entry.start, bytes: entry.data.length });
      return { code: 'proposed', label: `x/${ranges.length}` };
    },
    isWriting: () => isWriting,
    groupIntervalMs: () => null,
    onShipped: () => undefined,
    onReleased: () => undefined,
    onAgreed: (ms) => agreed.push(ms),
    timers: systemClock,
    ...more,
  });
  const stream: WalStream = {
    report: (position: Lsn) => released.push(position),
    ping: () => undefined,
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
    close: () => calls.push('close'),
  };
  shipper.attach(stream);
  let end = 1000;
  const take = (...sizes: number[]): void => {
    const pieces = sizes.map((size) => {
      const piece = walBytes(end, size);
      end += size;
      return piece;
    });
    shipper.take(pieces);
  };
  const answers = (code: ProposeResult['code']): void => {
    answer = code;
  };
  const writes = (is: boolean): void => {
    isWriting = is;
  };
  return { shipper, ranges, released, agreed, calls, take, answers, writes };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a shipper', () => {
  it('proposes what one turn has brought as one range', async () => {
    const { ranges, take } = setUp();
    take(10, 20);
    take(30);
    expect(ranges).toEqual([]);
    await turn();
    expect(ranges).toEqual([{ start: 1000, bytes: 60 }]);
  });

  it('cuts where a piece ends, and takes one that is larger than an entry alone', async () => {
    const { ranges, take } = setUp({ entryBytesMax: 130 });
    take(40, 40, 40, 300, 40);
    await turn();
    expect(ranges).toEqual([
      { start: 1000, bytes: 80 },
      { start: 1080, bytes: 40 },
      { start: 1120, bytes: 300 },
      { start: 1420, bytes: 40 },
    ]);
  });

  it('proposes again, in order, what the window had no room for', async () => {
    const { shipper, ranges, take, answers } = setUp();
    answers('windowFull');
    take(10);
    await turn();
    take(20);
    await turn();
    expect(ranges).toEqual([]);
    answers('proposed');
    shipper.ship();
    expect(ranges).toEqual([{ start: 1000, bytes: 30 }]);
  });

  it('gathers what comes while a range is on its way and the log is written to', async () => {
    const { shipper, ranges, take, writes } = setUp();
    writes(true);
    take(10);
    await turn();
    expect(ranges).toEqual([{ start: 1000, bytes: 10 }]);
    take(20);
    await turn();
    take(30);
    await turn();
    shipper.ship();
    expect(ranges).toHaveLength(1);
    writes(false);
    shipper.ship();
    expect(ranges.slice(1)).toEqual([{ start: 1010, bytes: 50 }]);
  });

  it('gathers no longer than a range of its own is on its way', async () => {
    const { shipper, ranges, take, writes } = setUp();
    writes(true);
    take(10);
    await turn();
    take(20);
    await turn();
    expect(ranges).toHaveLength(1);
    // The log is still being written to, as where its disk is full: nothing else would call.
    shipper.chosen(lsn(1010));
    await turn();
    expect(ranges).toEqual([
      { start: 1000, bytes: 10 },
      { start: 1010, bytes: 20 },
    ]);
  });

  it('that rests proposes nothing, whatever is chosen or written meanwhile, and then all of it', async () => {
    const { shipper, ranges, take } = setUp();
    take(10);
    await turn();
    shipper.rest(true);
    take(20);
    await turn();
    shipper.chosen(lsn(1010));
    shipper.ship();
    await turn();
    expect(ranges).toEqual([{ start: 1000, bytes: 10 }]);
    expect(shipper.releasedTo).toBe(1010);
    shipper.rest(false);
    expect(ranges).toEqual([
      { start: 1000, bytes: 10 },
      { start: 1010, bytes: 20 },
    ]);
  });

  it('gathers no bulk', async () => {
    const { ranges, take, writes } = setUp({ entryBytesMax: 100_000, queueBytesMax: 500_000 });
    writes(true);
    take(10);
    await turn();
    take(64 * 1024);
    await turn();
    expect(ranges).toHaveLength(2);
  });

  it('stops PostgreSQL when too much waits, and lets it go on when half of it is gone', async () => {
    const { shipper, calls, take, answers } = setUp();
    answers('windowFull');
    take(400);
    await turn();
    expect(calls).toEqual([]);
    take(200);
    expect(calls).toEqual(['pause']);
    expect(shipper.isPaused).toBe(true);
    answers('proposed');
    shipper.ship();
    expect(calls).toEqual(['pause', 'resume']);
  });

  it('reports what is chosen, never back, and nothing beyond what is held', async () => {
    const { shipper, released } = setUp();
    shipper.chosen(lsn(1010));
    await turn();
    shipper.chosen(lsn(1005));
    shipper.hold(lsn(1020));
    shipper.chosen(lsn(1030));
    await turn();
    expect(released).toEqual([1000, 1010, 1020]);
    shipper.letGo(lsn(1030));
    await turn();
    expect(released).toEqual([1000, 1010, 1020, 1030]);
    expect(shipper.releasedTo).toBe(1030);
  });

  it('reports once what one message has brought', async () => {
    const { shipper, released } = setUp();
    for (const end of [1010, 1020, 1030]) shipper.chosen(lsn(end));
    await turn();
    expect(released).toEqual([1000, 1030]);
  });

  it('tells how long each range took', async () => {
    const { shipper, agreed, take } = setUp();
    for (let n = 0; n < 3; n += 1) {
      take(10);
      await turn();
    }
    shipper.chosen(lsn(1020));
    expect(agreed).toHaveLength(2);
    shipper.chosen(lsn(1030));
    expect(agreed).toHaveLength(3);
    expect(Math.min(...agreed)).toBeGreaterThanOrEqual(0);
  });

  it('proposes and reports nothing any more once it does not lead', async () => {
    const { shipper, ranges, released, calls, take, answers } = setUp();
    answers('notLeader');
    take(10);
    await turn();
    expect(calls).toEqual(['close']);
    answers('proposed');
    take(10);
    shipper.ship();
    shipper.chosen(lsn(1010));
    await turn();
    expect(ranges).toEqual([]);
    expect(released).toEqual([1000]);
  });
});

describe('a shipper that has an interval', () => {
  function begun() {
    const time = new SimulatedTime();
    let intervalMs = 4;
    const parts = setUp({
      timers: time,
      groupIntervalMs: () => intervalMs,
      entryBytesMax: 100_000,
      queueBytesMax: 500_000,
    });
    return { ...parts, time, change: (ms: number) => (intervalMs = ms) };
  }

  it('proposes the first at once, and what comes within it when it is over', async () => {
    const { ranges, take, time } = begun();
    take(10);
    await time.pass(0);
    expect(ranges).toEqual([{ start: 1000, bytes: 10 }]);
    for (let ms = 0; ms < 3; ms += 1) {
      take(20);
      await time.pass(1);
    }
    expect(ranges).toHaveLength(1);
    await time.pass(1);
    expect(ranges.slice(1)).toEqual([{ start: 1010, bytes: 60 }]);
    // Nothing has come for longer than that.
    await time.pass(10);
    take(30);
    await time.pass(0);
    expect(ranges.slice(2)).toEqual([{ start: 1070, bytes: 30 }]);
  });

  it('does not wait for its end with what is much, nor longer than the interval is by then', async () => {
    const { ranges, take, time, change } = begun();
    take(10);
    await time.pass(0);
    take(64 * 1024);
    await time.pass(0);
    expect(ranges).toHaveLength(2);
    change(1);
    take(10);
    await time.pass(1);
    expect(ranges).toHaveLength(3);
  });

  it('waits though nothing of its own is on its way, and though the log is idle', async () => {
    const { shipper, ranges, take, time } = begun();
    take(10);
    await time.pass(0);
    shipper.chosen(lsn(1010));
    take(10);
    await time.pass(0);
    shipper.ship();
    expect(ranges).toHaveLength(1);
    await time.pass(4);
    expect(ranges).toHaveLength(2);
  });

  it('proposes nothing of what it has gathered once it is stopped', async () => {
    const { shipper, ranges, take, time } = begun();
    take(10);
    await time.pass(0);
    take(10);
    await time.pass(1);
    shipper.stop();
    await time.pass(10);
    expect(ranges).toHaveLength(1);
  });
});
