/** Runs that are written down here, of ranges that end inside a record: what TraceOrderedApply makes of them. */
import { expect, it } from 'vitest';
import type { ApplyItem } from './apply-event.ts';
import {
  chosen,
  founded,
  label,
  leadership,
  r1,
  r2,
  range,
  ship,
  told,
  verdictOn,
} from './testing/founded-group.ts';

/** A copy that begins when its source has WAL up to 300, and is told to go on from slot 3; `reports`: where its standby is, one after another. */
function copied(end: object, ...reports: readonly object[]): readonly ApplyItem[] {
  return [
    ...founded,
    ...range(3, 100, 200),
    ...range(4, 200, 300),
    { kind: 'begins', replica: r2 },
    told(r2, { name: 'BeginCopy', source: 'r1' }),
    told(r2, { name: 'EndCopy', source: 'r1', slot: 3, position: 200, timeline: 1, ...end }),
    told(r2, { name: 'DatabaseUp', role: 'standby', slot: 3, position: 200, timeline: 1, ...end }),
    told(r2, {
      name: 'Feed',
      slot: 4,
      label: label(4),
      leadership,
      timeline: 1,
      start: 200,
      end: 300,
    }),
    ...reports.map((report) => told(r2, { name: 'Replay', durable: 3, applied: 3, ...report })),
  ];
}

const whole = { flushed: 300, replayed: 296, durable: 4, applied: 4 };

it('a copy goes as far as its source was when it began, though its standby reports less, in the middle of a record', async () => {
  const less = { flushed: 248, replayed: 200 };
  expect(await verdictOn(copied({}, less, whole))).toBe('accepted');
  expect(await verdictOn(copied({}, whole))).toBe('accepted');
});

it('what the standby of a copy reports is no more than it was sent, and never sinks', async () => {
  expect(await verdictOn(copied({}, { flushed: 248, replayed: 304 }))).toBe('rejected at Replay');
  expect(await verdictOn(copied({}, whole, { flushed: 248, replayed: 296 }))).toBe('rejected at Replay');
  expect(await verdictOn(copied({ position: 196 }, whole))).toBe('rejected at EndCopy');
});

/** Its PostgreSQL ends when what is chosen ends inside a record, which begins at 200. */
const ended = [
  ...founded,
  ...range(3, 100, 200),
  ...range(4, 200, 260),
  told(r1, { name: 'FlushStandby', from: 0, slot: 4, position: 260 }),
  told(r1, { name: 'Depose', leadership, reason: '' }),
];
const checked = (slot: number): ApplyItem =>
  told(r1, { name: 'CheckPrefix', outcome: 'standby', slot, timeline: 1, position: 200 });
const up = (slot: number, position: number): ApplyItem =>
  told(r1, { name: 'DatabaseUp', role: 'standby', slot, position, timeline: 1 });

it('a directory goes on from the slot that it has said, though a range ends there inside a record', async () => {
  const replay = told(r1, { name: 'Replay', flushed: 260, replayed: 200, durable: 4, applied: 4 });
  expect(await verdictOn([...ended, checked(4), up(4, 260), replay])).toBe('accepted');
});

/** Part of a record is at the end of what the leader shipped last, which was never chosen; it leads again, and what it writes over that is in its first range. */
function resumed(): readonly ApplyItem[] {
  const end = 320;
  const second = { round: 2, replica: r1 };
  const entry = { label: label(5), leadership: second, timeline: 1, fork: 200, nextXid: '7', resumes: true };
  const shipped = { label: label(6), leadership: second, timeline: 1, start: 200, end, commits: [] };
  return [
    ...founded,
    ...range(3, 100, 200),
    ship(4, 200, 260),
    told(r1, { name: 'Depose', leadership, reason: '' }),
    told(r1, { name: 'CheckPrefix', outcome: 'undecided', slot: 3, timeline: 1, position: 240 }),
    { kind: 'elected', replica: r1, leadership: second, startSlot: 4 },
    chosen(4, 'start:2.r1'),
    told(r1, { name: 'Resume', leadership: second, timeline: 1, position: 240 }),
    told(r1, { name: 'ProposeLeadership', ...entry }),
    chosen(5, label(5)),
    told(r1, { name: 'BeginLeadership', slot: 5, role: 'primary', ...entry }),
    told(r1, { name: 'Ship', ...shipped }),
    chosen(6, label(6)),
    told(r1, { name: 'Release', slot: 6, start: 200, position: end, commits: [] }),
    told(r1, { name: 'Open', leadership: second, slot: 6, position: end }),
    told(r1, { name: 'Depose', leadership: second, reason: '' }),
    told(r1, { name: 'CheckPrefix', outcome: 'standby', slot: 6, timeline: 1, position: end }),
  ];
}

it('what a leader that goes on writes over part of a record is shipped like the rest', async () => {
  expect(await verdictOn(resumed())).toBe('accepted');
});

it('a directory that has not said that slot does not', async () => {
  const unsaid = ended.filter((item) => item.kind !== 'event' || item.event.name !== 'FlushStandby');
  expect(await verdictOn([...unsaid, checked(4), up(4, 260)])).toBe('rejected at CheckPrefix');
  expect(await verdictOn([...unsaid, checked(3), up(3, 200)])).toBe('accepted');
});
