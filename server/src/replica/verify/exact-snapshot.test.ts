import { beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../adapters/system-clock.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import { ChosenWal } from '../../payload/wal/chosen-wal.ts';
import { segmentBytes, walPageBytes, type Lsn, type Timeline } from '../../wal/lsn.ts';
import { encodeRecord, type NewRecord } from '../../wal/record/testing/encode-record.ts';
import { ballot, leadership, start } from '../../payload/wal/testing/entries.ts';
import { recordOf } from '../../payload/wal/testing/model-records.ts';
import { encodeRange } from '../../payload/wal/wal-entry.ts';
import { positionNone } from '../../wal/position.ts';
import type { SnapshotView } from '../../ports/digest.ts';
import { missingBelow, shownTooEarly } from './exact-snapshot.ts';

const leader = ballot(1);
/** In the middle of a page, as a founder's WAL mostly begins. */
const foundedAt = (2 * segmentBytes - 3 * walPageBytes + 512) as Lsn;

/** The chosen WAL of a group that was just founded, and of which the log has everything. */
class Wal {
  private readonly log: Entry[] = [start(leader), leadership(leader, 1, foundedAt)];
  private next = foundedAt;
  private previous = 0 as Lsn;
  readonly chosen: ChosenWal;

  constructor(ringBytesMax: number) {
    this.chosen = new ChosenWal({
      base: positionNone,
      log: { read: (from, to) => Promise.resolve(this.log.slice(from - 1, to)) },
      commitPoint: () => this.log.length as Slot,
      readLocal: () => Promise.reject(new Error('the directory was asked')),
      onEffect: () => undefined,
      onMissing: () => undefined,
      onFailed: (error) => {
        throw error;
      },
      ringBytesMax,
      timers: systemClock,
    });
    this.chosen.push(this.log.map((entry, index) => ({ slot: (index + 1) as Slot, entry })));
  }

  write(record: NewRecord): void {
    const place = { at: this.next, previous: this.previous, timeline: 1 as Timeline, system: 7n };
    const { bytes, start: begin } = encodeRecord(place, record);
    this.previous = begin;
    this.choose(bytes);
  }

  commit(xid: bigint): void {
    this.write(recordOf({ kind: 'commit', xid }));
  }

  fill(bytes: number): void {
    for (let left = bytes; left > 0; left -= 4000) this.write(recordOf({ kind: 'filler', bytes: 4000 }));
  }

  /** To the next segment, as a backup does at its end. */
  switchSegment(rest: 'zeros' | 'old pages' = 'zeros'): void {
    this.write({ manager: 0, info: 0x40, xid: 0n, main: new Uint8Array() });
    // Zeros up to the next page, always.
    const bytes = Buffer.alloc(segmentBytes - (this.next % segmentBytes));
    const firstPage = walPageBytes - (this.next % walPageBytes);
    const end = rest === 'old pages' ? bytes.length : 0;
    for (let at = firstPage; at < end; at += walPageBytes) {
      bytes.writeUInt16LE(0xd118, at);
      bytes.writeUInt32LE(1, at + 4);
      bytes.writeBigUInt64LE(BigInt(this.next + at - segmentBytes), at + 8);
    }
    this.choose(bytes);
  }

  private choose(bytes: Buffer): void {
    const place = { leadership: leader, timeline: 1 as Timeline, start: this.next };
    const command = this.log[1]!;
    if (command.kind !== 'command') throw new Error('no command');
    const entry = { ...command, payload: encodeRange(place, [bytes]) };
    this.log.push(entry);
    this.chosen.push([{ slot: this.log.length as Slot, entry }]);
    this.next = (this.next + bytes.length) as Lsn;
  }
}

const view = (end: bigint, ...running: readonly bigint[]): SnapshotView => ({
  end,
  running: new Set(running),
});

let wal: Wal;
/** Whatever the payload does when its own commit is to be chosen. */
let onBarrier: () => void;

beforeEach(() => {
  wal = new Wal(4 * 1024 * 1024);
  onBarrier = () => undefined;
});

function primary() {
  const { chosen } = wal;
  return {
    wal: chosen,
    isStandby: false,
    get chosenEnd() {
      return chosen.position.end;
    },
    barrier: () => Promise.resolve(onBarrier()),
  };
}

it('a snapshot lacks what has committed below the position, and is still running in it or above its end', async () => {
  wal.commit(998n);
  wal.commit(1001n);
  const isMissing = await missingBelow(primary(), wal.chosen.position);
  expect(isMissing(view(1002n))).toBe(false);
  expect(isMissing(view(1002n, 1000n))).toBe(false);
  expect(isMissing(view(1002n, 1001n))).toBe(true);
  expect(isMissing(view(1001n))).toBe(true);
});

it('what commits above the position is not asked of a snapshot, and must not be in it', async () => {
  wal.commit(1000n);
  const { position } = wal.chosen;
  wal.commit(1001n);
  onBarrier = () => wal.commit(1002n);
  const isMissing = await missingBelow(primary(), position);
  expect(isMissing(view(1001n))).toBe(false);
  expect(await shownTooEarly(primary(), position, [view(1001n), view(1003n, 1001n, 1002n)])).toBe(false);
  expect(await shownTooEarly(primary(), position, [view(1001n), view(1002n)])).toBe(true);
  // One that committed after all of them were taken is looked for, too.
  expect(await shownTooEarly(primary(), position, [view(1003n, 1001n)])).toBe(true);
});

it('a standby shows what it has replayed, whatever is in the WAL', async () => {
  wal.commit(1000n);
  const standby = { ...primary(), isStandby: true };
  expect((await missingBelow(standby, wal.chosen.position))(view(1n))).toBe(false);
  expect(await shownTooEarly(standby, positionNone, [view(2000n)])).toBe(false);
});

it.each(['zeros', 'old pages'] as const)(
  'the rest of a segment, %s, is passed over, wherever reading begins',
  async (rest) => {
    wal.switchSegment(rest);
    const within = { ...wal.chosen.position, end: (2 * segmentBytes - walPageBytes - 100) as Lsn };
    wal.commit(1000n);
    expect((await missingBelow(primary(), wal.chosen.position))(view(1001n, 1000n))).toBe(true);
    expect(await shownTooEarly(primary(), within, [view(1001n)])).toBe(true);
    // And where the first page that is read is in it.
    wal.switchSegment(rest);
    wal.fill(1024 * 1024);
    wal.commit(1002n);
    const isMissing = await missingBelow(primary(), wal.chosen.position);
    expect(isMissing(view(1003n, 1002n))).toBe(true);
    expect(isMissing(view(1003n))).toBe(false);
  },
);

it('what was released long ago is not looked for', async () => {
  wal = new Wal(1024);
  wal.commit(1000n);
  wal.fill(2 * 1024 * 1024);
  wal.commit(1001n);
  const isMissing = await missingBelow(primary(), wal.chosen.position);
  expect(isMissing(view(1002n, 1000n))).toBe(false);
  expect(isMissing(view(1002n, 1001n))).toBe(true);
});

it('a leadership that ends meanwhile proves nothing', async () => {
  const payload = { ...primary(), wal: wal.chosen as ChosenWal | null };
  onBarrier = () => {
    payload.wal = null;
  };
  await expect(shownTooEarly(payload, wal.chosen.position, [])).rejects.toThrow('leadership has ended');
});
