import { expect, it } from 'vitest';
import type { ReplicaId, Role, StepDownReason } from '../../multipaxos/types/names.ts';
import { ElectionTally } from './election-tally.ts';

function tallyOf(...told: readonly (readonly [Role, number, StepDownReason?])[]) {
  const tally = new ElectionTally();
  for (const [role, round, reason = null] of told)
    tally.take({ role, ballot: { round, replica: 'r1' as ReplicaId }, reason });
  return tally.counts;
}

it('an election that is won counts once, however often the leader is told of', () => {
  const { started, won, lost } = tallyOf(['follower', 1], ['candidate', 2], ['leader', 2], ['leader', 2]);
  expect([started, won]).toEqual([1, 1]);
  expect(Object.values(lost).every((count) => count === 0)).toBe(true);
});

it('a candidate that stands again has lost because nobody has won in time', () => {
  const { started, won, lost } = tallyOf(['candidate', 2], ['candidate', 3], ['leader', 3]);
  expect([started, won, lost.timedOut]).toEqual([2, 1, 1]);
});

it('a candidate that follows has lost for the reason that it gives', () => {
  const { started, won, lost } = tallyOf(
    ['candidate', 2],
    ['follower', 5, 'higherBallot'],
    ['follower', 6, 'higherBallot'],
    ['candidate', 7],
    ['follower', 7, 'requested'],
  );
  expect([started, won, lost.higherBallot, lost.requested, lost.timedOut]).toEqual([2, 0, 1, 1, 0]);
});

it('leaderships end for reasons, too', () => {
  const { leadershipsEnded, lost } = tallyOf(
    ['candidate', 2],
    ['leader', 2],
    ['follower', 2, 'quorumLost'],
    ['candidate', 3],
    ['leader', 3],
    ['follower', 3, 'handedOver'],
  );
  expect(leadershipsEnded).toMatchObject({ quorumLost: 1, handedOver: 1, higherBallot: 0 });
  expect(Object.values(lost).every((count) => count === 0)).toBe(true);
});
