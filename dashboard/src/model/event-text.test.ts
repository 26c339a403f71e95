import { describe, expect, test } from 'vitest';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import { matches, newestFirst, noFilter, toggled } from './event-filter.ts';
import { describeEvent, formatSlots, isRoutine, slotsOf, weightOf } from './event-text.ts';
import { ballot, consensus, other, vote } from './testing.ts';

const b1 = ballot(1, 'r1');
const heartbeat = consensus({ seq: 1 }, { name: 'HandleHeartbeat', from: 'r2' as ReplicaId });
const accept = consensus(
  { seq: 2, replica: 'r2' },
  {
    name: 'HandleAccept',
    from: 'r1' as ReplicaId,
    votes: [vote(5, b1, 'c/2'), vote(4, b1, 'c/1'), vote(6, b1, 'c/3')],
  },
);
const crash = other({ seq: 3, replica: 'r3' }, { layer: 'apply', name: 'DatabaseDown', reason: 'signal 9' });
const link = other({ seq: 4 }, { layer: 'operation', name: 'FaultChanged', description: 'r1 → r2 cut' });

describe('an event', () => {
  test('names the slots that it is about', () => {
    expect(slotsOf(accept)).toEqual({ from: 4, to: 6 });
    expect(slotsOf(heartbeat)).toBeNull();
    expect(slotsOf(other({ seq: 1 }, { layer: 'apply', name: 'Release', slot: 9, position: 100 }))).toEqual({
      from: 9,
      to: 9,
    });
    const message = { kind: 'Accept', ballot: b1, firstSlot: 7 as Slot, labels: ['a', 'b'] } as const;
    expect(
      slotsOf(consensus({ seq: 1 }, { name: 'Propose', sent: [{ to: 'r2' as ReplicaId, message }] })),
    ).toEqual({ from: 7, to: 8 });
    expect(formatSlots({ from: 7, to: 8 })).toBe('slots 7–8');
    expect(formatSlots({ from: 7, to: 7 })).toBe('slot 7');
  });

  test('reads as one line, whatever its layer', () => {
    expect(describeEvent(accept)).toBe('from r1 · slots 4–6');
    expect(describeEvent(crash)).toBe('signal 9');
    expect(describeEvent(link)).toBe('r1 → r2 cut');
  });

  test('stands out when something broke or changed hands', () => {
    expect([crash, link, accept].map(weightOf)).toEqual(['alarming', 'alarming', 'plain']);
    expect(weightOf(consensus({ seq: 1 }, { name: 'BecomeLeader' }))).toBe('notable');
  });
});

describe('the filter', () => {
  test('lets everything through but routine, unless told', () => {
    expect([heartbeat, accept, crash, link].map((event) => matches(noFilter, event))).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(isRoutine(heartbeat)).toBe(true);
    expect(matches({ ...noFilter, routine: true }, heartbeat)).toBe(true);
  });

  test('picks by replica, by layer and by text', () => {
    const pick = (changes: Partial<typeof noFilter>) =>
      [accept, crash, link].filter((event) => matches({ ...noFilter, ...changes }, event));
    expect(pick({ replicas: new Set(['r2', 'r3']) })).toEqual([accept, crash]);
    expect(pick({ layers: new Set(['operation'] as const) })).toEqual([link]);
    expect(pick({ text: ' SIGNAL ' })).toEqual([crash]);
    expect(pick({ text: 'handleaccept' })).toEqual([accept]);
  });

  test('puts the newest first by the clock, whatever the order of arrival', () => {
    const same = other(
      { seq: 5, replica: 'r2' },
      { layer: 'operation', name: 'PeerLost', peer: 'r1', atUs: 4000 },
    );
    const next = other(
      { seq: 6, replica: 'r2' },
      { layer: 'operation', name: 'PeerLost', peer: 'r3', atUs: 4000 },
    );
    expect(newestFirst([crash, same, next, accept])).toEqual([next, same, crash, accept]);
  });

  test('toggles without changing the set that it was given', () => {
    const set: ReadonlySet<string> = new Set(['r1']);
    expect([...toggled(set, 'r2')]).toEqual(['r1', 'r2']);
    expect([...toggled(set, 'r1')]).toEqual([]);
    expect([...set]).toEqual(['r1']);
  });
});

describe('recovery, comparisons and members in words', () => {
  const told = (body: Readonly<Record<string, unknown>>) =>
    describeEvent(other({ seq: 1, replica: 'r2.2' }, { layer: 'operation', ...body }));
  const progress = { phase: 'copying', cause: 'bothLost', source: 'r3', attempts: 2, percent: null };

  test('a recovery says what it does and why', () => {
    expect(told({ name: 'RecoveryPhase', progress })).toBe(
      'copies PostgreSQL of r3: its disk was lost · attempt 2',
    );
    expect(told({ name: 'RecoveryPhase', progress: { ...progress, phase: 'joining', attempts: 0 } })).toBe(
      'asks the others to let it in: its disk was lost',
    );
    expect(told({ name: 'RecoveryPhase', progress: null })).toBe('recovered');
  });

  const result = (...outcomes: readonly string[]) => ({
    slot: 12,
    replicas: outcomes.map((outcome, index) => ({ replica: `r${index + 1}`, outcome, detail: [] })),
  });
  test('a comparison names who differs, and is alarming then', () => {
    const equal = { layer: 'operation', name: 'VerifyDone', result: result('equal', 'equal') };
    const differs = { ...equal, result: result('equal', 'differs', 'noReport') };
    expect(told(equal)).toBe('data as of slot 12: all replicas equal');
    expect(told(differs)).toBe('data as of slot 12: r2 differs · no report of r3');
    expect([equal, differs].map((body) => weightOf(other({ seq: 1 }, body)))).toEqual([
      'notable',
      'alarming',
    ]);
  });

  test('a change of the members says who votes from then on', () => {
    const configurations = [{ version: 4, slot: 0, voters: ['r1', 'r3'], learners: ['r2.2'] }];
    const change = consensus({ seq: 1 }, { name: 'Reconfigure', configurations } as never);
    expect(describeEvent(change)).toContain('members 4: voting r1, r3, learning r2.2');
    expect(weightOf(change)).toBe('notable');
  });
});
