import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { KeptBackup } from '../../ports/backup-store.ts';
import type { Lsn } from '../../wal/lsn.ts';
import { dueAtMs, goodOnes, superfluous, type TurnFacts } from './backup-rules.ts';

const hourMs = 3_600_000;
const facts: TurnFacts = {
  nowMs: 100 * hourMs,
  everyMs: 24 * hourMs,
  newestMs: 90 * hourMs,
  sinceMs: 99 * hourMs,
  leavesItToOthers: false,
};

function backup(name: string, slot: number, takenAtMs = slot, ok: boolean | null = null): KeptBackup {
  const test = ok === null ? null : { ok, at: '', message: '' };
  return { name, path: name, takenAtMs, slot: slot as Slot, end: slot as Lsn, bytes: 1, test };
}
const names = (backups: readonly KeptBackup[]): string[] => backups.map(({ name }) => name);

describe('a backup is due', () => {
  it('so long after the newest, at once if there is none, and at once if one was missed', () => {
    expect(dueAtMs(facts)).toBe(114 * hourMs);
    expect(dueAtMs({ ...facts, newestMs: null })).toBe(99 * hourMs);
    expect(dueAtMs({ ...facts, newestMs: 10 * hourMs })).toBeLessThan(facts.nowMs);
  });

  it('to a leader later than to the others, and in the end to it, too', () => {
    const leader = { ...facts, leavesItToOthers: true };
    expect(dueAtMs(leader) - dueAtMs(facts)).toBe(15 * 60_000);
    expect(dueAtMs({ ...leader, everyMs: 4 * 60_000 }) - dueAtMs({ ...facts, everyMs: 4 * 60_000 })).toBe(
      60_000,
    );
    expect(dueAtMs({ ...leader, newestMs: null })).toBe(99 * hourMs + 15 * 60_000);
  });

  it('at once if the newest is from a time that is further away than the next one could be', () => {
    expect(dueAtMs({ ...facts, newestMs: 125 * hourMs })).toBe(facts.nowMs);
    expect(dueAtMs({ ...facts, newestMs: 101 * hourMs })).toBe(125 * hourMs);
  });
});

describe('what may go', () => {
  it('is older than the newest that are kept; which is newer the slot says, not a clock', () => {
    const all = [backup('b', 20, 900), backup('a', 10, 5000), backup('d', 40, 1000), backup('c', 30, 950)];
    expect(names(superfluous(all, 2))).toEqual(['b', 'a']);
    expect(names(superfluous(all, 4))).toEqual([]);
    expect(names(superfluous([], 1))).toEqual([]);
  });

  it('is not the last good one, whatever is newer and was found bad', () => {
    const all = [backup('old', 10), backup('bad', 20, 20, false), backup('worse', 30, 30, false)];
    expect(names(goodOnes(all))).toEqual(['old']);
    expect(names(superfluous(all, 1))).toEqual(['bad']);
    expect(names(superfluous([...all, backup('new', 40)], 1))).toEqual(['worse', 'bad', 'old']);
    expect(names(superfluous([...all, backup('new', 40)], 2))).toEqual([]);
  });

  it('is, of those that a test has refused, all but so many, whatever else there is', () => {
    const bad = [1, 2, 3, 4].map((n) => backup(`bad${n}`, n * 10, n * 10, false));
    expect(names(superfluous(bad, 2))).toEqual(['bad2', 'bad1']);
    expect(names(superfluous([backup('good', 5), ...bad], 2))).toEqual(['bad2', 'bad1']);
  });

  it('is not the newest that was restored in a test, however old it is', () => {
    const all = [
      backup('proven', 10, 10, true),
      backup('earlier', 5, 5, true),
      backup('b', 20),
      backup('c', 30),
    ];
    expect(names(superfluous(all, 1))).toEqual(['b', 'earlier']);
    expect(names(superfluous([...all, backup('d', 40, 40, true)], 1))).toEqual([
      'c',
      'b',
      'proven',
      'earlier',
    ]);
  });

  it('never leaves fewer good ones than are to be kept, if there were as many', () => {
    const some = fc.array(
      fc.record({ slot: fc.nat(20), at: fc.nat(20), ok: fc.constantFrom(true, false, null) }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(some, fc.integer({ min: 1, max: 5 }), (drawn, keep) => {
        const all = drawn.map(({ slot, at, ok }, index) => backup(`b${index}`, slot, at, ok));
        const gone = superfluous(all, keep);
        const left = all.filter((each) => !gone.includes(each));
        expect(goodOnes(left).length).toBeGreaterThanOrEqual(Math.min(keep, goodOnes(all).length));
        expect(goodOnes(left).length).toBeLessThanOrEqual(
          Math.max(keep + 1, Math.min(keep, goodOnes(all).length)),
        );
        const proven = (some: readonly KeptBackup[]): boolean => some.some(({ test }) => test?.ok === true);
        expect(proven(left)).toBe(proven(all));
      }),
    );
  });
});
