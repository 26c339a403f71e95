import { describe, expect, test } from 'vitest';
import { other } from '../model/testing.ts';
import { EventClock } from './event-clock.ts';

const at = (seq: number) => other({ seq }, { layer: 'operation', name: 'ReplicaStarted', pid: 1 });

describe('the clock of the events', () => {
  test('goes between what the flushes tell, both ways', () => {
    const clock = new EventClock();
    expect(clock.usAt(5)).toBeNull();
    clock.add(50_000, [at(100), at(90)]);
    clock.add(50_200, [at(200)]);
    expect(clock.usAt(50_000)).toBe(100_000);
    expect(clock.usAt(50_100)).toBe(150_000);
    expect(clock.msAt(150_000)).toBe(50_100);
    expect(clock.usAt(49_990)).toBe(90_000);
  });

  test('runs on behind the last of them for a little, and no further', () => {
    const clock = new EventClock();
    clock.add(1_000, [at(10)]);
    expect(clock.usAt(1_100)).toBe(110_000);
    expect(clock.usAt(99_000)).toBe(clock.usAt(50_000));
  });

  test('never goes back, whatever comes late', () => {
    const clock = new EventClock();
    clock.add(1_000, [at(500)]);
    clock.add(1_100, [at(400)]);
    clock.add(1_200, [at(600)]);
    const times = [900, 1_000, 1_050, 1_100, 1_150, 1_200, 1_300].map((ms) => clock.usAt(ms)!);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });
});
