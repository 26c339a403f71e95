import { describe, expect, test } from 'vitest';
import type { ReplicaId } from '../../../server/src/multipaxos/types.ts';
import { consensus, ballot, other, vote } from './testing.ts';
import { emptyTrace, eventsMax, foldEvents, linkKey, statementsMax } from './trace-model.ts';

const harvest = (seq: number, label: string, sql: readonly string[]) =>
  other({ seq }, { layer: 'apply', name: 'Harvest', label, sql });

describe('the trace model', () => {
  test('is the same whether events come together or one by one', () => {
    const events = [
      harvest(1, 'c/1', ['SELECT 1']),
      consensus(
        { seq: 2 },
        {
          name: 'Propose',
          votes: [vote(1, ballot(1, 'r1'), 'c/1')],
          sent: [{ to: 'r2' as ReplicaId, message: { kind: 'Accept', ballot: ballot(1, 'r1') } }],
        },
      ),
      consensus(
        { seq: 1, replica: 'r2' },
        { name: 'HandleAccept', votes: [vote(1, ballot(1, 'r1'), 'c/1')] },
      ),
    ];
    const together = foldEvents(emptyTrace, events);
    const apart = events.reduce((model, event) => foldEvents(model, [event]), emptyTrace);
    expect(apart).toEqual(together);
  });

  test('keeps the latest events up to its bound, each under the same index for ever', () => {
    const batch = (from: number) =>
      Array.from({ length: eventsMax }, (_, index) => harvest(from + index, 'c/1', []));
    const model = foldEvents(foldEvents(emptyTrace, batch(1)), batch(eventsMax + 1).slice(0, 7));
    expect(model.events).toHaveLength(eventsMax);
    expect(model.firstIndex).toBe(7);
    expect(model.events[0]!.seq).toBe(8);
  });

  test('finds the SQL of an entry on the leader, and on a follower only if its batch held one entry', () => {
    const batch = (seq: number, labels: readonly string[]) =>
      other(
        { seq, replica: 'r2' },
        {
          layer: 'apply',
          name: 'ApplyBatch',
          fromSlot: 1,
          toSlot: 2,
          applied: labels.map((label, at) => [at, label]),
          sql: ['A', 'B'],
        },
      );
    const model = foldEvents(emptyTrace, [
      harvest(1, 'c/1', ['UPDATE t']),
      batch(1, ['c/2', 'c/3']),
      batch(2, ['c/4']),
    ]);
    expect(Object.fromEntries(model.statements)).toEqual({ 'c/1': ['UPDATE t'], 'c/4': ['A', 'B'] });
  });

  test('bounds the statements that it remembers', () => {
    const events = Array.from({ length: statementsMax + 5 }, (_, index) =>
      harvest(index + 1, `c/${index}`, ['X']),
    );
    const model = foldEvents(emptyTrace, events);
    expect(model.statements.size).toBe(statementsMax);
    expect(model.statements.has('c/4')).toBe(false);
    expect(model.statements.has('c/5')).toBe(true);
  });

  test('knows when a message was last seen on each directed link, leaving or arriving', () => {
    const send = (seq: number, replica: string, to: string) =>
      consensus(
        { seq, replica },
        {
          name: 'Propose',
          sent: [{ to: to as ReplicaId, message: { kind: 'Accept', ballot: ballot(1, 'r1') } }],
        },
      );
    const model = foldEvents(emptyTrace, [send(1, 'r1', 'r2'), send(5, 'r1', 'r2'), send(3, 'r2', 'r1')]);
    expect(model.lastMessageUs.get(linkKey('r1', 'r2'))).toBe(5000);
    expect(model.lastMessageUs.get(linkKey('r2', 'r1'))).toBe(3000);
    expect(model.lastMessageUs.has(linkKey('r2', 'r3'))).toBe(false);
    expect(model.lastAtUs).toBe(5000);
    const heard = consensus({ seq: 7, replica: 'r3' }, { name: 'HandleHeartbeat', from: 'r2' as ReplicaId });
    expect(foldEvents(model, [heard]).lastMessageUs.get(linkKey('r2', 'r3'))).toBe(7000);
  });

  test('takes no event twice when a page that connects again is shown the past again', () => {
    const events = [1, 2, 3].map((seq) => harvest(seq, `c/${seq}`, ['X']));
    const first = foldEvents(emptyTrace, events.slice(0, 2));
    const again = foldEvents(first, events);
    expect(again.events.map((event) => event.seq)).toEqual([1, 2, 3]);
    expect(again.logs.get('r1')?.missed).toBe(0);
    const restarted = foldEvents(again, [
      other({ seq: 1, run: 'next' }, { layer: 'operation', name: 'ReplicaStarted', pid: 1 }),
    ]);
    expect(restarted.events).toHaveLength(4);
  });

  test('changes nothing for an empty batch', () => {
    expect(foldEvents(emptyTrace, [])).toBe(emptyTrace);
  });
});

describe('incarnations', () => {
  const by = (replica: string, seq: number, slot: number) =>
    consensus({ seq, replica }, { name: 'HandleAccept', votes: [vote(slot, ballot(1, 'r1'), `c/${slot}`)] });

  test('belong to one replica: its log is that of the latest, which has none of the votes of those before', () => {
    const model = foldEvents(emptyTrace, [by('r2', 1, 5), by('r2.2', 2, 6)]);
    expect([...model.logs.keys()]).toEqual(['r2']);
    expect([...(model.logs.get('r2')?.votes.keys() ?? [])]).toEqual([6]);
    expect(model.logs.get('r2')?.missed).toBe(0);
  });

  test('share the links of their replica', () => {
    const sent = [{ to: 'r3.2' as ReplicaId, message: { kind: 'Accept' as const, ballot: ballot(1, 'r1') } }];
    const model = foldEvents(emptyTrace, [
      consensus({ seq: 1, replica: 'r2.2' }, { name: 'HandleAccept', from: 'r1.4' as ReplicaId, sent }),
    ]);
    expect([...model.lastMessageUs.keys()].toSorted()).toEqual([linkKey('r1', 'r2'), linkKey('r2', 'r3')]);
  });
});
