import { describe, expect, test } from 'vitest';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { consensus, ballot, other, vote } from './testing.ts';
import { emptyTrace, eventsMax, foldEvents, linkKey } from './trace-model.ts';

const ship = (seq: number, label: string) =>
  other({ seq }, { layer: 'apply', name: 'Ship', label, timeline: 1, start: seq * 100, end: seq * 100 + 50 });

const running = { pid: 1, xid: 800, state: 'waiting', user: 'u', database: 'd', sql: 'COMMIT', sinceMs: 1 };

describe('the trace model', () => {
  test('is the same whether events come together or one by one', () => {
    const events = [
      ship(1, 'c/1'),
      other(
        { seq: 9, replica: 'r3' },
        { layer: 'operation', name: 'RunningTransactions', transactions: [running], more: 0 },
      ),
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
    expect(together.notes.get('c/1')).toMatchObject({ kind: 'range', start: 100, end: 150 });
    expect(together.running.samples.get('r3')?.sessions.get(1)?.transaction).toEqual(running);
  });

  test('keeps the latest events up to its bound, each under the same index for ever', () => {
    const batch = (from: number) =>
      Array.from({ length: eventsMax }, (_, index) => ship(from + index, 'c/1'));
    const model = foldEvents(foldEvents(emptyTrace, batch(1)), batch(eventsMax + 1).slice(0, 7));
    expect(model.events).toHaveLength(eventsMax);
    expect(model.firstIndex).toBe(7);
    expect(model.events[0]!.seq).toBe(8);
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

  test('sees heartbeats that change nothing by what they do to the lease', () => {
    const heard = { layer: 'lease', name: 'HandleHeartbeat', ballot: ballot(3, 'r2.2') };
    const answered = { layer: 'lease', name: 'HandleHeartbeatAck', from: 'r3' };
    const model = foldEvents(emptyTrace, [
      other({ seq: 1, replica: 'r3' }, heard),
      other({ seq: 2, replica: 'r2.2' }, answered),
    ]);
    expect([...model.lastMessageUs]).toEqual([
      [linkKey('r2', 'r3'), 1000],
      [linkKey('r3', 'r2'), 2000],
    ]);
  });

  test('takes no event twice when a page that connects again is shown the past again', () => {
    const events = [1, 2, 3].map((seq) => ship(seq, `c/${seq}`));
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
