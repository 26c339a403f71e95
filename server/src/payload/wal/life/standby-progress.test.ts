import { describe, expect, it } from 'vitest';
import type { Slot } from '../../../multipaxos/types/names.ts';
import { lsn } from '../testing/entries.ts';
import { positionNone, type WalPosition } from '../../../wal/position.ts';
import { StandbyProgress } from './standby-progress.ts';

function at(slot: number, end: number): WalPosition {
  return { ...positionNone, slot: slot as Slot, end: lsn(end) };
}

function setUp(...ends: readonly number[]) {
  const positions = ends.map((end, index) => at(index + 1, end));
  const wal = {
    base: positions[0]!,
    get position() {
      return positions.at(-1)!;
    },
    positionAt: (reached: number) => positions.findLast(({ end }) => end <= reached) ?? positions[0]!,
  };
  const progress = new StandbyProgress(wal);
  const report = (flushed: number, replayed: number): boolean =>
    progress.report({ written: lsn(flushed), flushed: lsn(flushed), replayed: lsn(replayed) }, 1000);
  return { progress, report, positions };
}

describe('the progress of a standby', () => {
  it('is in slots what it has replayed, and durable what it has flushed', () => {
    const { progress, report } = setUp(100, 110, 120, 120);
    expect(report(110, 105)).toBe(true);
    expect([progress.appliedSlot, progress.durable.slot]).toEqual([1, 2]);
    report(120, 110);
    expect([progress.appliedSlot, progress.durable.slot]).toEqual([2, 4]);
    report(120, 120);
    expect(progress.appliedSlot).toBe(4);
  });

  it('has received what it has written, and nothing of a timeline that was left', () => {
    const { progress } = setUp(100, 110, 120);
    expect(progress.received).toBe(100);
    progress.report({ written: lsn(120), flushed: lsn(110), replayed: lsn(105) }, 1000);
    expect([progress.received, progress.flushed, progress.replayed]).toEqual([120, 110, 105]);
    progress.fork(lsn(112));
    expect([progress.received, progress.flushed]).toEqual([112, 110]);
  });

  it('lets nobody in before it has replayed what it had when it was started', () => {
    const { progress, report } = setUp(100, 110);
    expect(progress.isConsistent).toBe(false);
    report(110, 99);
    expect(progress.isConsistent).toBe(false);
    report(110, 100);
    expect(progress.isConsistent).toBe(true);
  });

  it('is let in to where what it had ends within a record', () => {
    const { progress, report, positions } = setUp(128);
    report(128, 120);
    expect(progress.isConsistent).toBe(false);
    progress.wholeRecords(positions.at(-1)!, lsn(120));
    expect(progress.isConsistent).toBe(true);
  });

  it('stands still as long as it replays nothing more, though it flushes', () => {
    const { progress } = setUp(100, 110, 120);
    const report = (flushed: number, replayed: number, atMs: number): void =>
      void progress.report({ written: lsn(flushed), flushed: lsn(flushed), replayed: lsn(replayed) }, atMs);
    report(100, 90, 1000);
    report(110, 90, 5000);
    expect([progress.unchangedForMs(6000), progress.replayStoodForMs(6000)]).toEqual([1000, 5000]);
    report(110, 95, 6000);
    expect(progress.replayStoodForMs(6000)).toBe(0);
  });

  it('never goes back on an older report', () => {
    const { progress, report } = setUp(100, 110);
    report(110, 110);
    expect(report(100, 100)).toBe(false);
    expect([progress.flushed, progress.replayed]).toEqual([110, 110]);
  });

  it('puzzles over part of a record at the end, which is never replayed, until it is told where the last whole one ends', () => {
    const { progress, report, positions } = setUp(100, 110, 128);
    report(120, 116);
    expect(progress.isPuzzled(5000)).toBe(false);
    report(128, 116);
    expect(progress.isPuzzled(1010)).toBe(false);
    expect(progress.isPuzzled(1100)).toBe(true);
    expect(progress.appliedSlot).toBe(2);
    progress.wholeRecords(positions.at(-1)!, lsn(120));
    expect(progress.isPuzzled(5000)).toBe(false);
    expect(progress.appliedSlot).toBe(2);
    report(128, 120);
    expect(progress.appliedSlot).toBe(3);
  });

  it('does not take what lies beyond a fork for flushed', () => {
    const { progress, report, positions } = setUp(100, 110, 130);
    report(130, 118);
    expect(progress.durable.slot).toBe(3);
    positions.push(at(4, 118), at(5, 140));
    progress.fork(lsn(118));
    expect(progress.flushed).toBe(118);
    expect(progress.durable.slot).toBe(4);
  });
});
