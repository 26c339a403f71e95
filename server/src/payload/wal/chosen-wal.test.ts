import { describe, expect, it } from 'vitest';
import { systemClock } from '../../adapters/system-clock.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import { ChosenWal, type ChosenWalOptions } from './chosen-wal.ts';
import { segmentBytes, type Lsn } from '../../wal/lsn.ts';
import { ballot, leadership, lsn, noop, range, slots, start, walBytes } from './testing/entries.ts';
import { foldEntry } from './wal-history.ts';
import { positionNone, type WalPosition } from '../../wal/position.ts';

const [b1, b2] = [ballot(1, 'r1'), ballot(2, 'r2')];

function positionAfter(entries: readonly Entry[]): WalPosition {
  let position = positionNone;
  for (const slotEntry of slots(entries)) ({ position } = foldEntry(position, slotEntry));
  return position;
}

function setUp(log: Entry[], options: Partial<ChosenWalOptions> & { base?: WalPosition } = {}) {
  const told: string[] = [];
  const missing: string[] = [];
  let reads = 0;
  const wal = new ChosenWal({
    base: positionNone,
    log: {
      read: (from: Slot, to: Slot) => {
        reads += 1;
        return Promise.resolve(log.slice(from - 1, Math.min(to, from + 2)));
      },
    },
    commitPoint: () => log.length as Slot,
    readLocal: (from, _timeline, bytesMax) => Promise.resolve(walBytes(from, bytesMax)),
    onEffect: (effect, { slot }) => told.push(`${slot} ${effect.kind}`),
    onMissing: (reason) => missing.push(reason),
    onFailed: (error) => {
      throw error;
    },
    ringBytesMax: 50,
    timers: systemClock,
    ...options,
  });
  return { wal, told, missing, reads: () => reads };
}

async function readAll(wal: ChosenWal, from: number, bytesMax = 30): Promise<Buffer> {
  const found: Buffer[] = [];
  for (let at = from; ; ) {
    const pieces = await wal.read(lsn(at), wal.position.end, bytesMax);
    if (pieces === null) return Buffer.concat(found);
    found.push(...pieces);
    at += pieces.reduce((sum, piece) => sum + piece.length, 0);
  }
}

const begun = [start(b1), leadership(b1, 1, 100)];
const many = Array.from({ length: 40 }, (_, n) => range(b1, 1, 100 + 10 * n, 10));

describe('the chosen WAL', () => {
  it('misses nothing any more once it is stopped, whatever comes of what was being read', async () => {
    let isRead = (): void => undefined;
    const read = () => new Promise<Entry[]>((resolve) => (isRead = () => resolve([])));
    const { wal, missing } = setUp([...begun], { log: { read } });
    const caughtUp = wal.catchUp();
    wal.stop();
    isRead();
    await caughtUp;
    expect(missing).toEqual([]);
  });

  it('folds what the log has, then what is told, each slot once', async () => {
    const log = [...begun, ...many.slice(0, 5)];
    const { wal, told } = setUp(log);
    await wal.catchUp();
    expect(wal.position).toMatchObject({ slot: 7, end: 150 });
    log.push(many[5]!);
    wal.push(slots([many[5]!], 8));
    wal.push(slots([many[5]!], 8));
    expect(wal.position).toMatchObject({ slot: 8, end: 160 });
    expect(told).toEqual(['1 nothing', '2 leadership', ...[3, 4, 5, 6, 7, 8].map((slot) => `${slot} range`)]);
  });

  it('folds at once what follows, and fetches what was left out from the log', async () => {
    const log = [...begun, ...many];
    const { wal, told } = setUp(log);
    wal.push(slots(begun));
    expect(told).toHaveLength(2);
    wal.push(slots(many.slice(20, 22), 23));
    await expect.poll(() => wal.position.slot).toBe(42);
    expect(told).toHaveLength(42);
  });

  it('reads every byte back from any position, from memory or from the log', async () => {
    const { wal } = setUp([...begun, ...many]);
    await wal.catchUp();
    for (const from of [100, 101, 109, 110, 250, 449, 455, 499]) {
      expect(await readAll(wal, from)).toEqual(walBytes(from, 500 - from));
    }
    expect(await wal.read(lsn(500), lsn(500), 10)).toBeNull();
  });

  it('begins where the first leadership did, or at the base', async () => {
    const { wal } = setUp([...begun, ...many, start(b2), leadership(b2, 2, 480)]);
    await wal.catchUp();
    expect(wal.begin).toBe(100);
    const base = positionAfter([...begun, ...many.slice(0, 5)]);
    expect(setUp([], { base }).wal.begin).toBe(150);
  });

  it('reads what keeps up from memory alone', async () => {
    const log = [...begun, ...many];
    const { wal, reads } = setUp(log);
    await wal.catchUp();
    const before = reads();
    expect(wal.read(lsn(490), lsn(500), 100)).toHaveLength(1);
    expect(reads()).toBe(before);
  });

  it('reads the new timeline from its fork on, never what lies beyond the end of the old one', async () => {
    const other = Buffer.alloc(30, 0xff);
    const log = [...begun, ...many.slice(0, 5), start(b2), leadership(b2, 2, 128)];
    const { wal } = setUp(log, { ringBytesMax: 1 });
    await wal.catchUp();
    const b2Range = range(b2, 2, 128, 30);
    if (b2Range.kind !== 'command') throw new Error('no command');
    b2Range.payload.set(other, b2Range.payload.length - other.length);
    log.push(b2Range);
    wal.push(slots([b2Range], log.length));
    const expected = Buffer.concat([walBytes(100, 28), other]);
    for (const bytesMax of [1, 7, 30, 1000]) expect(await readAll(wal, 100, bytesMax)).toEqual(expected);
    expect(await readAll(wal, 140)).toEqual(other.subarray(12));
  });

  it('reads zeros up to a fork above what is chosen, from any position', async () => {
    const log: Entry[] = [...begun, ...many.slice(0, 2)];
    const { wal } = setUp(log, { ringBytesMax: 1_000_000 });
    await wal.catchUp();
    const fork = segmentBytes;
    const more = [start(b2), leadership(b2, 2, fork), range(b2, 2, fork, 10)];
    const first = log.length + 1;
    log.push(...more);
    wal.push(slots(more, first));
    expect(wal.position.end).toBe(fork + 10);
    const expected = Buffer.concat([
      walBytes(lsn(100), 20),
      Buffer.alloc(fork - 120),
      walBytes(lsn(fork), 10),
    ]);
    for (const from of [100, 110, 115, 120, 125, 8192, fork - 1, fork, fork + 3]) {
      expect((await readAll(wal, from, 1_000_000)).equals(expected.subarray(from - 100))).toBe(true);
    }
  });

  it('reads from the directory what the log has let go of, and nothing else', async () => {
    const log = [...begun, ...many];
    const local: [number, number][] = [];
    const purgedTo = { slot: 0 };
    const { wal } = setUp(log, {
      log: {
        read: (from, to) =>
          Promise.resolve(from <= purgedTo.slot ? [] : log.slice(from - 1, Math.min(to, from + 2))),
      },
      readLocal: (from, _timeline, bytesMax) => {
        local.push([from, from + bytesMax]);
        return Promise.resolve(walBytes(from, bytesMax));
      },
    });
    await wal.catchUp();
    // Far from any mark, and in the middle of what a mark covers.
    purgedTo.slot = 20;
    wal.purged(positionAfter(log.slice(0, 20)));
    expect(await readAll(wal, 105)).toEqual(walBytes(105, 395));
    expect(local.length).toBeGreaterThan(0);
    expect(Math.max(...local.map(([, to]) => to))).toBe(280);
    local.length = 0;
    expect(await readAll(wal, 280)).toEqual(walBytes(280, 220));
    expect(local).toEqual([]);
  });

  it('says that WAL is missing where the directory does not have it, and not where it cannot be read', async () => {
    const log = [...begun, ...many];
    const base = positionAfter(log.slice(0, 12));
    const absent = setUp(log, { base, readLocal: () => Promise.resolve(Buffer.alloc(0)) });
    await absent.wal.catchUp();
    await expect(readAll(absent.wal, 120)).rejects.toMatchObject({
      name: 'WalMissingError',
      isOfDirectory: true,
    });
    const error = Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    const busy = setUp(log, { base, readLocal: () => Promise.reject(error) });
    await busy.wal.catchUp();
    await expect(readAll(busy.wal, 120)).rejects.toBe(error);
  });

  it('takes nothing from the directory that lies beyond the end of its timeline', async () => {
    const old = [...begun, ...many.slice(0, 10)];
    const durable = positionAfter(old);
    // The first range behind the fork is not in memory any more.
    const more = [range(b2, 2, 160, 50), range(b2, 2, 210, 50)];
    const log = [...old, start(b2), leadership(b2, 2, 160), ...more];
    const local: [number, number][] = [];
    const options: Partial<ChosenWalOptions> = {
      ringBytesMax: 1,
      readLocal: (from, timeline, bytesMax) => {
        expect(timeline).toBe(1);
        local.push([from, from + bytesMax]);
        return Promise.resolve(walBytes(from, bytesMax));
      },
    };
    for (const inTime of [true, false]) {
      const { wal } = setUp(log, inTime ? { ...options, base: durable } : options);
      await wal.catchUp();
      if (!inTime) wal.purged(durable);
      expect(await readAll(wal, 110)).toEqual(walBytes(110, 150));
      expect(Math.max(...local.map(([, to]) => to))).toBe(160);
    }
  });

  it('reads below its base from the directory', async () => {
    const log = [...begun, ...many];
    const base = positionAfter(log.slice(0, 12));
    const { wal, told } = setUp(log, { base });
    await wal.catchUp();
    expect(told[0]).toBe('13 range');
    expect(await readAll(wal, 120)).toEqual(walBytes(120, 380));
  });

  it('finds the highest slot that a position covers', async () => {
    const { wal } = setUp([...begun, many[0]!, noop, many[1]!]);
    await wal.catchUp();
    expect([99, 100, 109, 110, 119, 120, 500].map((at) => wal.positionAt(at as Lsn).slot)).toEqual([
      1, 2, 2, 4, 4, 5, 5,
    ]);
  });

  it('says that the log lacks what must come next', async () => {
    const { wal, missing } = setUp([], { commitPoint: () => 5 as Slot });
    await wal.catchUp();
    expect(missing).toEqual(["slot 1 is chosen, and this replica's log begins above"]);
  });
});
