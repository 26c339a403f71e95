import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ballotLabel, ballotNone, compareBallots, higherBallot, sameBallot } from './ballot.ts';
import type { Ballot, ReplicaId } from './types/names.ts';

const anyBallot = fc.record({
  round: fc.integer({ min: 1, max: 4 }),
  replica: fc.constantFrom('r1', 'r2', 'r10', 'ä').map((id) => id as ReplicaId),
});

describe('ballots', () => {
  it('are ordered by round, then by replica', () => {
    const ballots: Ballot[] = [
      { round: 2, replica: 'a' as ReplicaId },
      { round: 1, replica: 'b' as ReplicaId },
      { round: 1, replica: 'a' as ReplicaId },
    ];
    expect(ballots.sort(compareBallots).map(ballotLabel)).toEqual(['1.a', '1.b', '2.a']);
  });

  it('are totally ordered, and only the same ballot compares as equal', () => {
    fc.assert(
      fc.property(anyBallot, anyBallot, anyBallot, (a, b, c) => {
        expect(compareBallots(a, b) < 0).toBe(compareBallots(b, a) > 0);
        expect(compareBallots(a, b) === 0).toBe(sameBallot(a, b));
        const [low, middle, high] = [a, b, c].sort(compareBallots) as [Ballot, Ballot, Ballot];
        expect(compareBallots(low, middle)).toBeLessThanOrEqual(0);
        expect(compareBallots(middle, high)).toBeLessThanOrEqual(0);
        expect(compareBallots(low, high)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it('have a higher one of any two', () => {
    const [low, high] = [ballotNone, { round: 1, replica: 'a' as ReplicaId }];
    expect([higherBallot(low, high), higherBallot(high, low)]).toEqual([high, high]);
  });

  it('are all above the ballot of an acceptor that has promised nothing', () => {
    fc.assert(fc.property(anyBallot, (any) => compareBallots(any, ballotNone) > 0));
  });
});
