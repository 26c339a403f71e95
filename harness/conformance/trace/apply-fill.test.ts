/** What is put in where no event tells of it. */
import { expect, it } from 'vitest';
import type { EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent, ApplyItem } from './apply-event.ts';
import { applySteps } from './apply-steps.ts';

interface Unit {
  readonly c: readonly number[];
}

const replica = 'r1' as ReplicaId;
const first = { round: 1, replica };
const second = { round: 2, replica };

function told(event: object): ApplyItem {
  const common = { layer: 'apply', replica, run: 'a', seq: 1, atUs: 1 };
  return { kind: 'event', replica, event: { ...common, ...event } as unknown as ApplyEvent };
}

const led = [
  { kind: 'begins', replica },
  told({ name: 'DatabaseUp', role: 'founder', slot: 1, position: 100, timeline: 1 }),
  { kind: 'elected', replica, leadership: first, startSlot: 1 },
] as const satisfies readonly ApplyItem[];

/** It leads again with what its directory has up to there, ships what is in that, and is asked for a transaction of before. */
const goesOnFrom = (position: number): readonly ApplyItem[] => [
  { kind: 'elected', replica, leadership: second, startSlot: 2 },
  told({ name: 'Resume', leadership: second, timeline: 1, position }),
  told({
    name: 'Ship',
    label: 'r1/1',
    leadership: second,
    timeline: 1,
    start: 100,
    end: 220,
    commits: ['7'],
  }),
  told({ name: 'AskOutcome', question: 1, open: 0, xid: '7', leadership: first }),
];

const unitsIn = (steps: ReturnType<typeof applySteps>['steps']): readonly Unit[] =>
  steps
    .filter(({ action }) => action === 'Write')
    .flatMap(({ fields }) => fields['units'] as readonly Unit[]);

it('transactions count as written with what a machine that failed later has kept', () => {
  const looks = [240, 180].map((position) =>
    told({ name: 'CheckPrefix', outcome: 'undecided', slot: 1, timeline: 1, position }),
  );
  const { steps, facts } = applySteps([
    ...led,
    told({ name: 'Depose', leadership: first, reason: '' }),
    looks[0]!,
    { kind: 'begins', replica },
    looks[1]!,
    ...goesOnFrom(180),
  ]);
  const written = unitsIn(steps);
  expect(written.findIndex(({ c }) => c.includes(facts.xidRank('7')))).toBe(
    facts.unitEnds(0, 180).length - 1,
  );
});

it('transactions that a leadership left in its directory are its own, though the next one names them as it ships', () => {
  const { steps, facts } = applySteps([
    ...led,
    told({ name: 'Depose', leadership: first, reason: '' }),
    told({ name: 'CheckPrefix', outcome: 'undecided', slot: 1, timeline: 1, position: 200 }),
    ...goesOnFrom(220),
  ]);
  const written = unitsIn(steps);
  expect(written.flatMap(({ c }) => c)).toEqual([facts.xidRank('7')]);
});

/** A standby up to slot 2, whose process is killed when its directory says more. */
const standby = [
  ...led,
  told({ name: 'Ship', label: 'r1/1', leadership: first, timeline: 1, start: 100, end: 200, commits: [] }),
  ...(['r1/1', 'r1/2'] as const).map(
    (label, index) => ({ kind: 'chosen', slot: index + 2, label: label as EntryLabel }) as const,
  ),
] as const satisfies readonly ApplyItem[];

const putIn = (items: readonly ApplyItem[]): readonly string[] =>
  applySteps(items)
    .steps.filter(({ event }) => event === null)
    .map(({ action, fields }) => (typeof fields['s'] === 'number' ? `${action} ${fields['s']}` : action));

const asked = told({ name: 'AskOutcome', question: 1, open: 0, xid: '7', leadership: first });
const upAgain = told({ name: 'DatabaseUp', role: 'standby', slot: 2, position: 200, timeline: 1 });
const begunOf = (leadership: typeof first) => ({
  name: 'BeginLeadership',
  label: 'r1/0',
  slot: 1,
  leadership,
  timeline: 1,
  fork: 100,
  nextXid: '7',
  resumes: false,
  role: 'primary',
});
const begun = told(begunOf(first));
const released = told({
  name: 'Release',
  slot: 2,
  start: 100,
  position: 200,
  commits: [],
});

it('a slot that a killed process saved is found behind questions that the next one is asked first', () => {
  const fed = told({
    name: 'Feed',
    label: 'r1/1',
    slot: 2,
    leadership: first,
    timeline: 1,
    start: 100,
    end: 200,
  });
  const items = [...standby, upAgain, fed, { kind: 'begins', replica } as const, asked, upAgain];
  expect(putIn(items)).toContain('Save 2');
});

it('a directory that was found to be a standby just before its process was killed was checked', () => {
  const ended = [...standby.slice(0, 3), begun, ...standby.slice(3), released];
  const depose = told({ name: 'Depose', leadership: first, reason: '' });
  const began = { kind: 'begins', replica } as const;
  expect(putIn([...ended, depose, began, upAgain])).toContain('Checked 2');
  const resumed = told({ name: 'Resume', leadership: second, timeline: 1, position: 200 });
  expect(putIn([...ended, depose, began, resumed, upAgain])).not.toContain('Checked 2');
  expect(putIn([...ended, began, upAgain])).not.toContain('Checked 2');
});

it('a leader that was killed when it was promoted has been promoted, and leads no more', () => {
  const newer = { ...begunOf(second), timeline: 2, role: 'promoting' };
  const items = [
    ...standby,
    { kind: 'begins', replica },
    { kind: 'elected', replica, leadership: second, startSlot: 4 },
    upAgain,
    told(newer),
    { kind: 'resigned', replica, leadership: second },
    { kind: 'begins', replica },
    told({ name: 'CheckPrefix', outcome: 'undecided', slot: 5, timeline: 2, position: 240 }),
  ] as const;
  const steps = putIn(items).map((step) => step.split(' ')[0]);
  expect(steps.slice(steps.indexOf('Promote'))).toEqual([
    'Promote',
    'Write',
    'Depose',
    'CrashNode',
    'Restart',
  ]);
});

it('a leader that resigned while its directory was being marked began before it was deposed', () => {
  const elected = { kind: 'elected', replica, leadership: second, startSlot: 4 } as const;
  const resigned = { kind: 'resigned', replica, leadership: second } as const;
  const promoting = told({ ...begunOf(second), timeline: 2, role: 'promoting' });
  const took = (...items: readonly ApplyItem[]): readonly string[] =>
    applySteps([...standby, { kind: 'begins', replica }, upAgain, elected, resigned, ...items])
      .steps.map(({ action }) => action)
      .filter((action) => action === 'BeginLeadership' || action === 'Depose');
  expect(took(promoting)).toEqual(['BeginLeadership', 'Depose']);
  expect(took(told({ ...begunOf(second), timeline: 2, role: 'standby' }))).toEqual([
    'Depose',
    'BeginLeadership',
  ]);
});

it('a leadership that was not chosen has not begun, though a later one with its timeline is found', () => {
  const proposed = (leadership: typeof first, label: string): ApplyItem => {
    const { slot: _, role: __, ...entry } = begunOf(leadership);
    return told({ ...entry, name: 'ProposeLeadership', label, timeline: 2, fork: 200 });
  };
  const third = { round: 3, replica };
  const items = [
    ...standby,
    { kind: 'begins', replica },
    upAgain,
    { kind: 'elected', replica, leadership: second, startSlot: 4 },
    proposed(second, 'r1/3'),
    { kind: 'resigned', replica, leadership: second },
    { kind: 'elected', replica, leadership: third, startSlot: 5 },
    proposed(third, 'r1/4'),
    { kind: 'chosen', slot: 6, label: 'r1/4' as EntryLabel },
    told({ ...begunOf(third), label: 'r1/4', slot: 6, timeline: 2, fork: 200, role: 'promoting' }),
    told({ name: 'Promote', leadership: third, timeline: 2, fork: 200 }),
    { kind: 'resigned', replica, leadership: third },
    told({ name: 'Depose', leadership: third, reason: '' }),
    told({ name: 'CheckPrefix', outcome: 'undecided', slot: 6, timeline: 2, position: 240 }),
  ] as const;
  expect(putIn(items)).not.toContain('BeginLeadership 0');
});

it('a copy that was whole when its process was killed is found to be a database', () => {
  const source = 'r2';
  const began = { kind: 'begins', replica } as const;
  const items = [...standby, upAgain, told({ name: 'BeginCopy', source }), began] as const;
  expect(putIn([...items, upAgain])).toContain('Copied 2');
  const ended = told({ name: 'EndCopy', source, slot: 2, position: 200, timeline: 1 });
  expect(putIn([...items, ended, upAgain])).not.toContain('Copied 2');
});

it('a primary that was one again when its process was killed is found to have more than was found before', () => {
  const look = (position: number): ApplyItem =>
    told({ name: 'CheckPrefix', outcome: 'undecided', slot: 2, timeline: 1, position });
  const back = [{ kind: 'elected', replica, leadership: second, startSlot: 4 }] as const;
  const before = [...standby.slice(0, 3), begun, ...standby.slice(3), released] as const;
  const depose = told({ name: 'Depose', leadership: first, reason: '' });
  const killed = (found: number): readonly string[] =>
    putIn([...before, depose, look(240), ...back, { kind: 'begins', replica }, look(found)]).map(
      (step) => step.split(' ')[0]!,
    );
  expect(killed(300)).toEqual(expect.arrayContaining(['Resume']));
  expect(killed(240)).not.toContain('Resume');
});
