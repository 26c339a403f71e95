import pino from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../adapters/system-clock.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { ArchivedRange, ArchiveSource, ArchiveStatus, WalArchive } from '../../ports/wal-archive.ts';
import { Archiving, type ArchivingOptions } from './archiving.ts';
import { ChosenWal } from './chosen-wal.ts';
import type { Lsn, Timeline } from '../../wal/lsn.ts';
import { ballot, leadership, lsn, range, slots, start, walBytes } from './testing/entries.ts';
import { foldEntry } from './wal-history.ts';
import { positionNone, type WalPosition } from '../../wal/position.ts';

const [b1, b2] = [ballot(1, 'r1'), ballot(2, 'r2')];
const begun = [start(b1), leadership(b1, 1, 100)];
const many = Array.from({ length: 40 }, (_, n) => range(b1, 1, 100 + 10 * n, 10));

/** Keeps what it is given in memory, piece by piece. */
class Kept implements WalArchive {
  readonly ranges: ArchivedRange[] = [];
  closed = false;
  private readonly left: Pick<ArchiveStatus, 'timeline' | 'end'>;

  constructor(left: Pick<ArchiveStatus, 'timeline' | 'end'> = { timeline: null, end: null }) {
    this.left = left;
  }

  append({ data, ...range }: ArchivedRange): Promise<void> {
    this.ranges.push({ ...range, data: Buffer.from(data) });
    return Promise.resolve();
  }

  forgetBelow(): Promise<void> {
    return Promise.resolve();
  }

  status(): ArchiveStatus {
    return { ...this.left, durable: null, bytes: 0, gaps: 0, problem: null };
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  /** As `timeline start-end`, what follows put together. */
  get told(): string[] {
    const runs: { timeline: Timeline; start: number; end: number }[] = [];
    for (const { timeline, start: from, data } of this.ranges) {
      const last = runs.at(-1);
      if (last?.timeline === timeline && last.end === from) last.end += data.byteLength;
      else runs.push({ timeline, start: from, end: from + data.byteLength });
    }
    return runs.map((run) => `${run.timeline} ${run.start}-${run.end}`);
  }
}

function walOf(
  log: readonly Entry[],
  base: WalPosition = positionNone,
  { ringBytesMax = 50, isRead = (): Promise<void> => Promise.resolve() } = {},
): ChosenWal {
  return new ChosenWal({
    base,
    log: {
      read: (from, to) => {
        const found = log.slice(from - 1, Math.min(to, from + 2));
        return isRead().then(() => found);
      },
    },
    commitPoint: () => log.length as Slot,
    readLocal: () => Promise.resolve(Buffer.alloc(0)),
    onEffect: () => undefined,
    onMissing: () => undefined,
    onFailed: (error) => {
      throw error;
    },
    ringBytesMax,
    timers: systemClock,
  });
}

function positionAfter(entries: readonly Entry[]): WalPosition {
  let position = positionNone;
  for (const slotEntry of slots(entries)) ({ position } = foldEntry(position, slotEntry));
  return position;
}

let running: Archiving | null = null;
afterEach(() => running?.stop());

function archive(
  wal: () => ChosenWal | null,
  kept: Kept,
  options: Partial<ArchivingOptions> = {},
): ArchiveSource[] {
  const opened: ArchiveSource[] = [];
  running = new Archiving({
    wal,
    directory: { readWal: () => Promise.reject(new Error('not there')) },
    open: (source) => {
      opened.push(source);
      return Promise.resolve(kept);
    },
    timers: systemClock,
    logger: pino({ level: 'silent' }),
    everyMs: 2,
    retryMs: 2,
    ...options,
  });
  running.start();
  return opened;
}

describe('archiving', () => {
  it('begins at what is chosen when nothing was archived, and follows it', async () => {
    const log: Entry[] = [...begun, ...many.slice(0, 5)];
    const wal = walOf(log);
    await wal.catchUp();
    const kept = new Kept();
    const opened = archive(() => wal, kept);
    await expect.poll(() => opened).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(kept.told).toEqual([]);
    for (const [index, entry] of many.slice(5, 20).entries()) {
      log.push(entry);
      wal.push(slots([entry], 8 + index));
    }
    await expect.poll(() => kept.told).toEqual(['1 150-300']);
    expect(Buffer.concat(kept.ranges.map(({ data }) => data))).toEqual(walBytes(150, 150));
  });

  it('waits for the first leadership of a group, and opens the archive once', async () => {
    const log: Entry[] = [];
    let wal: ChosenWal | null = null;
    const opened = archive(() => wal, new Kept({ timeline: null, end: null }));
    await new Promise((resolve) => setTimeout(resolve, 10));
    wal = walOf(log);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(opened).toEqual([]);
    log.push(...begun);
    await wal.catchUp();
    await expect.poll(() => opened).toHaveLength(1);
  });

  it('goes on where the archive was left, from the log', async () => {
    const wal = walOf([...begun, ...many]);
    await wal.catchUp();
    const kept = new Kept({ timeline: 1 as Timeline, end: lsn(123) });
    archive(() => wal, kept);
    await expect.poll(() => kept.told).toEqual(['1 123-500']);
    expect(Buffer.concat(kept.ranges.map(({ data }) => data))).toEqual(walBytes(123, 377));
  });

  it('goes back to the fork where a timeline was left, and never hands over what lies beyond', async () => {
    const log: Entry[] = [...begun, ...many.slice(0, 5)];
    const wal = walOf(log);
    await wal.catchUp();
    const kept = new Kept({ timeline: 1 as Timeline, end: lsn(110) });
    const opened = archive(() => wal, kept);
    await expect.poll(() => kept.told).toEqual(['1 110-150']);
    for (const entry of [start(b2), leadership(b2, 2, 128), range(b2, 2, 128, 30)]) {
      log.push(entry);
      wal.push(slots([entry], log.length));
    }
    await expect.poll(() => kept.told).toEqual(['1 110-150', '2 128-158']);
    expect(opened[0]!.history(2 as Timeline)).toContain('0/80');
  });

  it('hands over what was read as of the timeline that it was read from, though that was left meanwhile', async () => {
    const log: Entry[] = [...begun, ...many.slice(0, 5)];
    let isRead = Promise.resolve();
    const wal = walOf(log, positionNone, { ringBytesMax: 1, isRead: () => isRead });
    await wal.catchUp();
    let goOn = (): void => undefined;
    isRead = new Promise((resolve) => (goOn = resolve));
    const kept = new Kept({ timeline: 1 as Timeline, end: lsn(130) });
    const opened = archive(() => wal, kept);
    await expect.poll(() => opened).toHaveLength(1);
    for (const entry of [start(b2), leadership(b2, 2, 128), range(b2, 2, 128, 30)]) {
      log.push(entry);
      wal.push(slots([entry], log.length));
    }
    goOn();
    await expect.poll(() => kept.told).toEqual(['1 130-150', '2 128-158']);
  });

  it('passes over what is not to be had any more, and goes on after a copy has taken its place', async () => {
    const log = [...begun, ...many];
    const first = walOf(log.slice(0, 7));
    await first.catchUp();
    let wal: ChosenWal | null = first;
    const kept = new Kept({ timeline: 1 as Timeline, end: lsn(120) });
    archive(() => wal, kept);
    await expect.poll(() => kept.told).toEqual(['1 120-150']);
    wal = null;
    const purged = Object.assign([...log], {
      slice: (from: number, to: number) => (from < 30 ? [] : log.slice(from, to)),
    });
    const copied = walOf(purged, positionAfter(log.slice(0, 32)));
    await copied.catchUp();
    wal = copied;
    await expect.poll(() => kept.told).toEqual(['1 120-150', '1 400-500']);
  });

  it('tries an archive that cannot be used again, and says so', async () => {
    const wal = walOf([...begun, ...many]);
    await wal.catchUp();
    const kept = new Kept({ timeline: 1 as Timeline, end: lsn(490) });
    let fails = 3;
    archive(() => wal, kept, {
      open: () => {
        fails -= 1;
        return fails >= 0 ? Promise.reject(new Error('it is of another cluster')) : Promise.resolve(kept);
      },
      retryMs: 15,
    });
    await expect.poll(() => running!.status()?.problem).toBe('it is of another cluster');
    await expect.poll(() => kept.told).toEqual(['1 490-500']);
    expect(running!.status()?.problem).toBeNull();
    await running!.stop();
    expect(kept.closed).toBe(true);
  });

  it('has what the archive misses from the directory, or else from the log, of the same timeline only', async () => {
    const log = [...begun, ...many.slice(0, 5), start(b2), leadership(b2, 2, 128), range(b2, 2, 128, 30)];
    const wal = walOf(log);
    await wal.catchUp();
    const asked: string[] = [];
    const opened = archive(() => wal, new Kept(), {
      directory: {
        readWal: (from: Lsn, timeline: Timeline, bytes: number) => {
          asked.push(`${timeline} ${from} ${bytes}`);
          if (from >= 110) return Promise.reject(new Error('recycled'));
          // What lies in another segment does not come along.
          return Promise.resolve(Buffer.alloc(from === 105 ? bytes / 2 : bytes, 7));
        },
      },
    });
    await expect.poll(() => opened).toHaveLength(1);
    const { missing } = opened[0]!;
    expect(await missing(lsn(100), lsn(105), 1 as Timeline)).toEqual(Buffer.alloc(5, 7));
    expect(await missing(lsn(105), lsn(125), 1 as Timeline)).toEqual(walBytes(105, 20));
    expect(await missing(lsn(110), lsn(128), 1 as Timeline)).toEqual(walBytes(110, 18));
    expect(await missing(lsn(130), lsn(140), 1 as Timeline)).toBeNull();
    expect(asked).toEqual(['1 100 5', '1 105 20', '1 110 18', '1 130 10']);
  });
});
