import { describe, expect, it } from 'vitest';
import type { Entry } from '../../multipaxos/types/entries.ts';
import { segmentBytes, type Timeline } from '../../wal/lsn.ts';
import { ballot, leadership, lsn, noop, range, slots, start, verify } from './testing/entries.ts';
import { timelineFile } from '../../wal/timeline-file.ts';
import { foldEntry, type WalEffect } from './wal-history.ts';
import { endOfTimeline, positionNone, timelineAt, type WalPosition } from '../../wal/position.ts';

function fold(entries: readonly Entry[]): { position: WalPosition; effects: WalEffect[] } {
  let position = positionNone;
  const effects = slots(entries).map((slotEntry) => {
    const folded = foldEntry(position, slotEntry);
    position = folded.position;
    return folded.effect;
  });
  return { position, effects };
}

function kinds(entries: readonly Entry[]): string[] {
  return fold(entries).effects.map(({ kind }) => kind);
}

const [b1, b2, b3] = [ballot(1, 'r1'), ballot(2, 'r2'), ballot(3, 'r3')];
/** A group that has begun at 100 and has 50 bytes. */
const begun = [start(b1), leadership(b1, 1, 100), range(b1, 1, 100, 50)];

describe('the chosen log of WAL', () => {
  it('begins with whatever its founder has, and goes on without a gap', () => {
    const { position } = fold([...begun, noop, range(b1, 1, 150, 10)]);
    expect(position).toMatchObject({ slot: 5, leadership: b1, timeline: 1, end: 160, forks: [], system: 7n });
  });

  it('takes a range only where the chosen WAL ends', () => {
    expect(
      kinds([...begun, range(b1, 1, 151, 10), range(b1, 1, 149, 10), range(b1, 2, 150, 10)]).slice(3),
    ).toEqual(['nobodys', 'nobodys', 'nobodys']);
  });

  it('takes nothing of a leadership that has not begun, or is over', () => {
    expect(kinds([range(b1, 1, 0, 10)])).toEqual(['nobodys']);
    expect(kinds([...begun, range(b2, 1, 150, 10)]).at(-1)).toBe('nobodys');
    const changed = [...begun, start(b2), leadership(b2, 2, 140)];
    expect(
      kinds([...changed, range(b1, 1, 150, 10), range(b1, 2, 140, 10), range(b2, 2, 140, 10)]).slice(5),
    ).toEqual(['nobodys', 'nobodys', 'range']);
  });

  it('lets a newer leader that has only started end what was before', () => {
    expect(kinds([...begun, start(b2), range(b1, 1, 150, 10), leadership(b1, 2, 150)]).slice(4)).toEqual([
      'nobodys',
      'nobodys',
    ]);
  });

  it('lets no leadership begin above the start of a newer leader, even if it never has', () => {
    const late = [...begun, start(b3), leadership(b2, 2, 150)];
    expect(kinds(late).at(-1)).toBe('nobodys');
    expect(kinds([...late, range(b2, 2, 150, 10), leadership(b3, 2, 150)]).slice(5)).toEqual([
      'nobodys',
      'leadership',
    ]);
  });

  it('forks onto the next number, and keeps the number of a leadership that wrote nothing', () => {
    expect(kinds([...begun, start(b2), leadership(b2, 2, segmentBytes + 1)]).at(-1)).toBe('nobodys');
    expect(kinds([...begun, start(b2), leadership(b2, 3, 150)]).at(-1)).toBe('nobodys');
    expect(kinds([...begun, start(b2), leadership(b2, 1, 150)]).at(-1)).toBe('nobodys');
    expect(kinds([...begun, start(b2), leadership(b2, 2, 150, { system: 8n })]).at(-1)).toBe('nobodys');
    const { position } = fold([
      ...begun,
      start(b2),
      leadership(b2, 2, 144),
      start(b3),
      leadership(b3, 3, 144),
    ]);
    expect(position).toMatchObject({ leadership: b3, timeline: 3, end: 144 });
    expect(position.forks).toEqual([
      { timeline: 2, at: 144 },
      { timeline: 3, at: 144 },
    ]);
  });

  it('forks above what is chosen at the end of the segment, and nowhere else', () => {
    const forked = (fork: number) =>
      fold([start(b1), leadership(b1, 1, 100), range(b1, 1, 100, 10), start(b2), leadership(b2, 2, fork)]);
    expect(forked(segmentBytes).position).toMatchObject({ timeline: 2, end: segmentBytes });
    for (const fork of [112, segmentBytes - 8, segmentBytes + 8, 2 * segmentBytes])
      expect(forked(fork).position).toMatchObject({ timeline: 1, end: 110 });
  });

  it('lets a replica go on with its own timeline, and nobody else', () => {
    const again = ballot(4, 'r1');
    const resumed = [...begun, start(again), leadership(again, 1, 150, { resumes: true })];
    expect(fold([...resumed, range(again, 1, 150, 5)]).position).toMatchObject({
      timeline: 1,
      end: 155,
      forks: [],
    });
    expect(kinds([...begun, start(b2), leadership(b2, 1, 150, { resumes: true })]).at(-1)).toBe('nobodys');
    expect(kinds([...begun, start(again), leadership(again, 1, 149, { resumes: true })]).at(-1)).toBe(
      'nobodys',
    );
    expect(kinds([...begun, start(again), leadership(again, 2, 150, { resumes: true })]).at(-1)).toBe(
      'nobodys',
    );
  });

  it('begins a leadership once', () => {
    expect(kinds([...begun, leadership(b1, 2, 150)]).at(-1)).toBe('nobodys');
  });

  it('compares data under the leadership that asked for it only', () => {
    expect(kinds([...begun, verify(b1, 'c'), start(b2), verify(b1, 'd')]).slice(3)).toEqual([
      'verify',
      'nothing',
      'nobodys',
    ]);
  });

  it('knows of every position which timeline it is of, and where each timeline ends', () => {
    const later = [range(b2, 2, 140, 60), start(b3), leadership(b3, 3, 190), range(b3, 3, 190, 10)];
    const { position } = fold([...begun, start(b2), leadership(b2, 2, 140), ...later]);
    expect([0, 139, 140, 189, 190, 500].map((at) => timelineAt(position, lsn(at)))).toEqual([
      1, 1, 2, 2, 3, 3,
    ]);
    expect([1, 2, 3, 4].map((n) => endOfTimeline(position, n as Timeline))).toEqual([
      140,
      190,
      null,
      undefined,
    ]);
    expect(timelineFile(position, 3 as Timeline)).toBe('1\t0/8C\tanother leader\n2\t0/BE\tanother leader\n');
    expect(timelineFile(position, 2 as Timeline)).toBe('1\t0/8C\tanother leader\n');
  });

  it('refuses to leave out a slot', () => {
    expect(() => foldEntry(positionNone, slots([noop], 2)[0]!)).toThrow('slot 2 was folded in after slot 0');
  });
});
