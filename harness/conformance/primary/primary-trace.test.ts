import { describe, expect, it } from 'vitest';
import type { Slot } from '../../../server/src/multipaxos/types/names.ts';
import { type RecordedEvent, SimulatedGroup } from '../../../server/src/primary/testing/simulated-group.ts';
import { refusedEvent } from './primary-trace.ts';

const levels = ['async', 'majority', 'semi', 'sync'] as const;

function recorded(seed: number, replicas: number): readonly RecordedEvent[] {
  const group = new SimulatedGroup({ seed, replicas, levels, operations: 40 });
  group.run(600);
  return group.events;
}

const seen = new Set<string>();

describe.each([2, 3, 5])('what a group of %s does', (replicas) => {
  it('is what PrimaryCopies allows, step by step', async () => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const events = recorded(seed, replicas);
      for (const { name } of events) seen.add(name);
      expect({ seed, refused: await refusedEvent(events, replicas) }).toEqual({ seed, refused: null });
    }
  }, 120_000);
});

describe('the runs', () => {
  it('have every action in them', () => {
    expect([...seen].sort()).toEqual([
      'Acknowledge',
      'AdvanceSettled',
      'Crash',
      'Fsync',
      'GiveWord',
      'LogOperation',
      'PausePrimary',
      'Purge',
      'PushToDatabase',
      'ReceiveOperations',
      'RejoinAsStandby',
      'Restart',
      'StepBack',
      'SuspectPrimary',
      'TakeOver',
      'TellReceived',
      'TransferState',
    ]);
  });
});

/** A run in which one event is another. */
function altered(
  name: RecordedEvent['name'],
  alter: (event: RecordedEvent) => RecordedEvent | null,
): readonly RecordedEvent[] {
  const events = recorded(2, 3);
  const index = events.findLastIndex((event) => event.name === name);
  if (index < 0) throw new Error(`no ${name} is recorded`);
  const other = alter(events[index]!);
  return [...events.slice(0, index), ...(other === null ? [] : [other]), ...events.slice(index + 1)];
}

const plus = (slot: Slot | undefined, more: number): Slot => ((slot ?? 0) + more) as Slot;

describe('a run is refused', () => {
  it.each<[string, RecordedEvent['name'], (event: RecordedEvent) => RecordedEvent | null]>([
    [
      'in which something is acknowledged that was not ordered',
      'Acknowledge',
      (event) => ({ ...event, slot: plus(event.slot, 20) }),
    ],
    [
      'in which a copy tells of more than it has',
      'TellReceived',
      (event) => ({ ...event, slot: plus(event.slot, 1) }),
    ],
    [
      'in which a copy has executed more than it says to have',
      'TellReceived',
      (event) => ({ ...event, toSlot: plus(event.slot, 1) }),
    ],
    [
      'in which a copy takes what does not follow',
      'ReceiveOperations',
      (event) => ({ ...event, slot: plus(event.toSlot, 0), toSlot: plus(event.toSlot, 1) }),
    ],
    ['in which a flush is left out', 'Fsync', () => null],
    ['in which an operation is left out', 'LogOperation', () => null],
    [
      'in which an entry is executed twice',
      'PushToDatabase',
      (event) => ({ ...event, state: { ...event.state, pushedTo: plus(event.state.pushedTo, -1) } }),
    ],
    [
      'in which a log ends elsewhere',
      'ReceiveOperations',
      (event) => ({ ...event, state: { ...event.state, lastSlot: plus(event.state.lastSlot, 1) } }),
    ],
    ['in which nobody stood', 'SuspectPrimary', () => null],
    ['in which a word is missing', 'GiveWord', () => null],
    [
      'in which what is not settled is purged',
      'Purge',
      (event) => ({ ...event, slot: plus(event.slot, 50) }),
    ],
  ])('%s', async (_, name, alter) => {
    expect(await refusedEvent(altered(name, alter), 3)).not.toBeNull();
  });
});
