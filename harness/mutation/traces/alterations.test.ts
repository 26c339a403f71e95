import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { recordGroup } from '../../conformance/fresh/record-group.ts';
import { alteredTrace, traceMutants } from './alterations.ts';
import { oneOfEachClass } from './command.ts';

const events = await recordGroup(10, 'losses');
const consensus = events.filter(({ layer }) => layer === 'consensus');
const mutants = traceMutants(events);

describe('alterations of a trace', () => {
  it('are all different from what was recorded, each in one event', () => {
    for (const mutant of oneOfEachClass(mutants, 1, 60)) {
      const altered = alteredTrace(events, mutant);
      expect(altered).not.toEqual(events);
      const others = altered.filter((event) => !events.includes(event));
      const ofOtherRuns = others.filter(({ run }) => run !== mutant.target.run);
      expect({ name: mutant.name, ofOtherRuns }).toEqual({ name: mutant.name, ofOtherRuns: [] });
    }
  });

  it('close up the numbers of a run', () => {
    for (const how of ['dropped', 'twice']) {
      const mutant = mutants.find(
        ({ className }) => className.endsWith(` ${how}`) && !className.includes('['),
      )!;
      const seqs = alteredTrace(events, mutant)
        .filter(({ run }) => run === mutant.target.run)
        .map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    }
  });

  it('reach every field of every event but when it was recorded', () => {
    const classes = new Set(mutants.map(({ className }) => className));
    const fields = new Set(consensus.flatMap((event) => Object.keys(event)));
    for (const field of fields) {
      const isReached = [...classes].some((name) => name.split(' ')[1]?.split(/[.[]/)[0] === field);
      expect([field, isReached]).toEqual([field, !['atUs', 'seq', 'run', 'layer'].includes(field)]);
    }
    expect(classes).toContain('HandleAccept message.ballot.round one more');
    expect(classes).toContain('HandleAccept votes[] dropped');
    expect(classes).toContain('Fsync sent[].to another');
  });

  it('of what databases do, a position becomes its neighbours too, and a word each other word', () => {
    const common = { run: 'a', replica: 'r1', layer: 'apply' } as const;
    const recorded = [
      { ...common, seq: 1, atUs: 1, name: 'Replay', flushed: 8, replayed: 8 },
      { ...common, seq: 2, atUs: 2, name: 'Barrier', position: 16 },
      {
        ...common,
        seq: 3,
        atUs: 3,
        name: 'CheckPrefix',
        outcome: 'parted',
        slot: 3,
        timeline: 1,
        position: 24,
      },
    ] as unknown as TraceEvent[];
    const made = traceMutants(recorded, 'apply');
    const of = (start: string): readonly string[] =>
      made.flatMap(({ className }) => (className.startsWith(start) ? [className.slice(start.length)] : []));
    expect(of('Barrier position ')).toEqual([
      'gone',
      'one more',
      'one less',
      'the next place',
      'the place before',
    ]);
    expect(of('CheckPrefix outcome ')).toEqual(['gone', 'standby for parted', 'undecided for parted']);
    const next = made.find(({ className }) => className === 'Barrier position the next place')!;
    expect(alteredTrace(recorded, next)[1]).toEqual({ ...recorded[1], position: 24 });
    expect(traceMutants(recorded)).toEqual([]);
  });

  it('of what is told of leases, a clock becomes another by a fifth of a lease, other times by a millisecond', () => {
    const common = { run: 'a', replica: 'r1', layer: 'lease', clockMs: 2000 } as const;
    const grant = { untilMs: 3000, to: null };
    const recorded = [
      { ...common, seq: 1, atUs: 1, name: 'Restart', leaseMs: 1000, clockDriftMax: 0.05, grant },
      { ...common, seq: 2, atUs: 2, name: 'Resign', reason: 'requested' },
    ] as unknown as TraceEvent[];
    const made = traceMutants(recorded, 'lease');
    const changed = (className: string): TraceEvent =>
      alteredTrace(recorded, made.find((mutant) => mutant.className === className)!)[0]!;
    expect(changed('Restart clockMs a fifth of a lease more')).toMatchObject({ clockMs: 2200 });
    expect(changed('Restart grant.untilMs one less')).toMatchObject({ grant: { untilMs: 2999 } });
    expect(changed('Restart grant.to not null')).toMatchObject({ grant: { to: 'r1' } });
    const reasons = made.filter(({ className }) => className.startsWith('Resign reason '));
    expect(reasons.map(({ className }) => className)).toContain('Resign reason removed for requested');
  });

  it('are chosen one of each class, the same for the same seed', () => {
    const chosen = oneOfEachClass(mutants, 1, undefined);
    expect(new Set(chosen.map(({ className }) => className)).size).toBe(chosen.length);
    expect(oneOfEachClass(mutants, 1, 50)).toEqual(oneOfEachClass(mutants, 1, 50));
    expect(oneOfEachClass(mutants, 1, 50)).toHaveLength(50);
  });
});
