/** Runs that are written down here, of a timeline that begins behind a switch of segments of whose empty rest only a part is chosen: what TraceOrderedApply makes of them. */
import { expect, it } from 'vitest';
import { segmentBytes } from '../../../server/src/wal/lsn.ts';
import type { ApplyItem } from './apply-event.ts';
import { chosen, founded, label, r1, r2, range, ship, told, verdictOn } from './testing/founded-group.ts';

const end = segmentBytes;
const second = { round: 2, replica: r2 };
const entry = {
  label: 'r2/5',
  leadership: second,
  timeline: 2,
  fork: end,
  nextXid: '7',
  resumes: false,
};

interface Told {
  /** What the second leader has told of its standby before it proposes. */
  readonly replay?: object;
  readonly propose?: object;
  /** How much of it the first leader gets chosen; it ships to 300. */
  readonly commits?: readonly string[];
  readonly save?: object;
  /** What happens before the second leader is elected. */
  readonly before?: readonly ApplyItem[];
}

const standby = (replica: typeof r1, slot: number, position: number, timeline: number): ApplyItem =>
  told(replica, { name: 'DatabaseUp', role: 'standby', slot, position, timeline });

/** r1 switches segments below 200 and dies, when the WAL up to 200 is chosen; r2 has replayed the switch, and marks its directory. */
function marked({
  replay = {},
  propose = {},
  commits = [],
  save = {},
  before = [],
}: Told = {}): readonly ApplyItem[] {
  const [shipped, ...answered] = range(3, 100, 200) as [ApplyItem, ...ApplyItem[]];
  const lost = ship(4, 200, 300);
  return [
    ...founded,
    { kind: 'begins', replica: r2 },
    told(r2, { name: 'BeginCopy', source: 'r1' }),
    told(r2, { name: 'EndCopy', source: 'r1', slot: 2, position: 100, timeline: 1 }),
    standby(r2, 2, 100, 1),
    shipped,
    ...answered,
    told(r1, { name: 'FlushStandby', from: 0, slot: 3, position: 200 }),
    lost.kind === 'event' ? { ...lost, event: { ...lost.event, commits } as typeof lost.event } : lost,
    told(r2, {
      name: 'Feed',
      slot: 3,
      label: label(3),
      leadership: { round: 1, replica: r1 },
      timeline: 1,
      start: 100,
      end: 200,
    }),
    ...before,
    { kind: 'elected', replica: r2, leadership: second, startSlot: 4 },
    chosen(4, 'start:2.r2'),
    told(r2, { name: 'Replay', flushed: 200, replayed: end, durable: 4, applied: 4, ...replay }),
    told(r2, { name: 'ProposeLeadership', ...entry, ...propose }),
    chosen(5, 'r2/5'),
    told(r2, { name: 'BeginLeadership', slot: 5, role: 'promoting', ...entry, ...propose }),
    told(r2, { name: 'FlushStandby', from: 2, slot: 5, position: end, ...save }),
  ];
}

/** Ranges of the second leader, which serves. */
const served: readonly ApplyItem[] = [
  told(r2, { name: 'Promote', leadership: second, timeline: 2, fork: end }),
  told(r2, { name: 'Open', leadership: second, slot: 5, position: end }),
  told(r2, {
    name: 'Ship',
    label: 'r2/6',
    leadership: second,
    timeline: 2,
    start: end,
    end: end + 100,
    commits: [],
  }),
  chosen(6, 'r2/6'),
  told(r2, { name: 'Release', slot: 6, start: end, position: end + 100, commits: [] }),
];

/** The first leader's directory is found to be a standby's. */
function found(check: object = {}): readonly ApplyItem[] {
  const { slot, position } = { slot: 5, position: end, ...check };
  return [
    { kind: 'begins', replica: r1 },
    told(r1, { name: 'BeginLeadership', slot: 5, role: 'primary', ...entry }),
    told(r1, { name: 'CheckPrefix', outcome: 'standby', timeline: 1, slot, position }),
  ];
}
const goesOn: readonly ApplyItem[] = [
  standby(r1, 5, end, 2),
  told(r1, {
    name: 'Feed',
    slot: 6,
    label: 'r2/6',
    leadership: second,
    timeline: 2,
    start: end,
    end: end + 100,
  }),
  told(r1, { name: 'Replay', flushed: end + 100, replayed: end + 100, durable: 6, applied: 6 }),
];

it('a leader that has replayed a switch says the end of the segment, though it lacks some of the empty rest', async () => {
  expect(await verdictOn([...marked(), ...served])).toBe('accepted');
});

it('the old leader goes on from there, though it has not flushed all of the rest', async () => {
  expect(await verdictOn([...marked(), ...served, ...found(), ...goesOn])).toBe('accepted');
});

it('one that is not promoted goes on from there as a standby', async () => {
  const ended: readonly ApplyItem[] = [
    { kind: 'resigned', replica: r2, leadership: second },
    told(r2, { name: 'DatabaseDown', reason: '' }),
  ];
  const check = told(r2, { name: 'CheckPrefix', outcome: 'standby', slot: 5, timeline: 1, position: end });
  expect(await verdictOn([...marked(), ...ended, check, standby(r2, 5, end, 2)])).toBe('accepted');
});

it('so it is where the check has forgotten all that was chosen before', async () => {
  const asked = { xid: '3', leadership: { round: 1, replica: r1 } };
  const before = [
    told(r2, { name: 'Replay', flushed: 200, replayed: 200, durable: 3, applied: 3 }),
    told(r2, { name: 'FlushStandby', from: 2, slot: 3, position: 200 }),
    ...Array.from({ length: 100 }, (_, i) => [
      told(r2, { name: 'AskOutcome', ...asked, question: i + 1, open: 0 }),
      told(r2, { name: 'TellOutcome', ...asked, question: i + 1, outcome: 'unknown' }),
    ]).flat(),
  ];
  const group = marked({ before, save: { from: 3 } });
  expect(await verdictOn([...group, ...served, ...found(), ...goesOn])).toBe('accepted');
});

it('what is chosen must be flushed, and the switch replayed', async () => {
  expect(await verdictOn(marked({ replay: { flushed: 190, durable: 2 } }))).toBe('rejected at FlushStandby');
  expect(await verdictOn(marked({ replay: { replayed: 200 } }))).toBe('rejected at FlushStandby');
  expect(await verdictOn(marked({ save: { position: end - 8 } }))).toBe('rejected at FlushStandby');
});

it('only at the end of a segment a timeline begins above what is chosen', async () => {
  const below = { fork: end - 8 };
  expect(await verdictOn(marked({ propose: below }))).toBe('rejected at ProposeLeadership');
});

it('a rest in which a transaction commits is not empty', async () => {
  expect(await verdictOn(marked({ commits: ['7'] }))).toBe('rejected at ProposeLeadership');
});

it('a directory that ends below the end of the segment does not go on from there', async () => {
  const group = [...marked(), ...served];
  expect(await verdictOn([...group, ...found({ position: 300 })])).toBe('rejected at CheckPrefix');
  expect(await verdictOn([...group, ...found({ slot: 6 })])).toBe('rejected at CheckPrefix');
  const [begins, begun, check] = found() as [ApplyItem, ApplyItem, ApplyItem];
  const sooner = (position: number): ApplyItem =>
    told(r1, { name: 'CheckPrefix', outcome: 'undecided', slot: 3, timeline: 1, position });
  expect(await verdictOn([...group, begins, sooner(end), begun, check])).toBe('accepted');
  expect(await verdictOn([...group, begins, sooner(300), begun, check])).toBe('rejected at CheckPrefix');
});
