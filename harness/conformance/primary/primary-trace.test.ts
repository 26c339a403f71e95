import { describe, expect, it } from 'vitest';
import type { Slot } from '../../../server/src/multipaxos/types/names.ts';
import { type RecordedEvent, SimulatedGroup } from '../../../server/src/primary/testing/simulated-group.ts';
import { refusedEvent } from './primary-trace.ts';

const levels = ['async', 'majority', 'semi', 'sync'] as const;

/** By turns: copies of databases; databases that begin anew, where nothing is purged; and a log that is large before it is long. */
const kinds = [
  { keepSlots: 8, keepBytesMax: 100_000, beginsAnew: 0 },
  { keepSlots: 1000, keepBytesMax: 100_000, beginsAnew: 0.2 },
  { keepSlots: 30, keepBytesMax: 200, beginsAnew: 0 },
] as const;
const kindOf = (seed: number): (typeof kinds)[number] => kinds[seed % kinds.length]!;

function recorded(seed: number, replicas: number, operations = 40, turns = 600): readonly RecordedEvent[] {
  const { beginsAnew, ...config } = kindOf(seed);
  const group = new SimulatedGroup({ seed, replicas, levels, operations, beginsAnew, config });
  group.run(turns);
  return group.events;
}

/** In the last one a database begins anew. */
const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13];
const seen = new Set<string>();

describe.each([2, 3, 5])('what a group of %s does', (replicas) => {
  it('is what PrimaryCopies allows, step by step', async () => {
    for (const seed of seeds) {
      const events = recorded(seed, replicas);
      for (const { name, isLarge } of events) seen.add(isLarge === true ? `${name}, large` : name);
      const { keepSlots } = kindOf(seed);
      expect({ seed, refused: await refusedEvent(events, replicas, { keepSlots }) }).toEqual({
        seed,
        refused: null,
      });
    }
  });
});

describe('how groups begin', () => {
  it('is what PrimaryCopies allows, whoever hears of the first primary before it has given its word', async () => {
    for (let seed = 20; seed < 420; seed += 1) {
      const events = recorded(seed, 3, 12, 150);
      const { keepSlots } = kindOf(seed);
      expect({ seed, refused: await refusedEvent(events, 3, { keepSlots }) }).toEqual({
        seed,
        refused: null,
      });
    }
  });
});

describe('the runs', () => {
  it('have every action in them', () => {
    expect([...seen].sort()).toEqual([
      'Acknowledge',
      'AdvanceSettled',
      'BeginAnew',
      'Crash',
      'Fsync',
      'GiveWord',
      'LogOperation',
      'PausePrimary',
      'Purge',
      'Purge, large',
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
  seed: number,
  replicas: number,
): readonly RecordedEvent[] {
  const events = recorded(seed, replicas);
  const index = events.findLastIndex((event) => event.name === name);
  if (index < 0) throw new Error(`no ${name} is recorded`);
  const other = alter(events[index]!);
  return [...events.slice(0, index), ...(other === null ? [] : [other]), ...events.slice(index + 1)];
}

const [usualSeed, anewSeed, largeSeed] = [3, 13, 2];
const plus = (slot: Slot | undefined, more: number): Slot => ((slot ?? 0) + more) as Slot;

describe('a run is refused', () => {
  it.each<[string, RecordedEvent['name'], (event: RecordedEvent) => RecordedEvent | null, seed?: number]>([
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
    [
      'in which what copies may want is purged',
      'Purge',
      (event) => ({ ...event, isLarge: false }),
      largeSeed,
    ],
    ['in which a database is empty all at once', 'BeginAnew', () => null, anewSeed],
  ])('%s', async (_, name, alter, seed = usualSeed) => {
    const { keepSlots } = kindOf(seed);
    const replicas = seed === anewSeed ? 5 : 3;
    expect(await refusedEvent(altered(name, alter, seed, replicas), replicas, { keepSlots })).not.toBeNull();
  });
});
