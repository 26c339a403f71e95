/** Several want to lead at the same moment: each in a ballot of its own, and ballots are never equal. */
import type { Ballot } from '../../../../server/src/multipaxos/types/names.ts';
import { compareBallots, formatBallot } from '../../model/cluster-view.ts';
import { replicaOf } from '../../model/incarnation.ts';
import { rolesIn, successorIn } from '../roles.ts';
import type { Scenario, Told } from '../scenario.ts';
import { eventsIn, leaderIn, replicaIn, type Seen } from '../seen.ts';
import { ballotOf, listed } from '../words.ts';

/** Longer than anybody waits before standing. */
const frozenMs = 3_500;
/** Each has stood before it hears of the others. */
const delayMs = 150;

const elections = ({ start, now }: Told) => eventsIn(now, 'StartElection', { afterMs: start.atMs });
const standing = (told: Told): readonly string[] => [
  ...new Set(elections(told).map(({ replica }) => replicaOf(replica))),
];

function isFrozen(now: Seen, id: string): boolean {
  const replica = replicaIn(now, id);
  return replica?.process === 'paused' && (replica.ageMs ?? 0) >= frozenMs;
}

export const duel: Scenario = {
  id: 'duel',
  name: 'Duelling candidates',
  promise: 'Without a leader, all others wake at the same moment, and each of them wants to lead.',
  plays: 'simulated',
  replicas: { least: 3, most: 7 },
  needsWrites: false,

  question(start) {
    const { leader, others } = rolesIn(start);
    return {
      text: `${leader} dies while ${listed(others)} sleep. They wake at the same moment, and each asks the others for their promise. Who will lead?`,
      choices: [
        { id: 'low', text: `${others[0]!}, which has the lowest name` },
        { id: 'high', text: `${others.at(-1)!}, which has the highest name` },
        ...(others.length > 2 ? [{ id: 'middle', text: 'One of those between' }] : []),
        { id: 'nobody', text: 'Nobody: they take each other’s promises for ever' },
      ],
    };
  },

  chapters: [
    {
      title: 'The leader dies while the others sleep',
      acts({ start }) {
        const { leader, others } = rolesIn(start);
        const links = others.flatMap((from) =>
          others.filter((to) => to !== from).map((to) => ({ from, to })),
        );
        return [
          ...links.map(({ from, to }) => ({ action: 'delay' as const, from, to, amount: delayMs })),
          ...others.map((replica) => ({ action: 'pause' as const, replica })),
          { action: 'crash', replica: leader },
        ];
      },
      awaits: ({ start }) =>
        `${listed(rolesIn(start).others)} have slept longer than anybody waits for a leader`,
      hasComeAbout: ({ start, now }) => rolesIn(start).others.every((id) => isFrozen(now, id)),
      withinMs: 20_000,
      caption({ start }) {
        const { leader, others } = rolesIn(start);
        return `${leader} is gone, and ${listed(others)} are frozen. The words that they gave ${leader} in ballot ${ballotOf(leaderIn(start))} have run out in their sleep: when they wake, each has waited long enough to stand. And a message needs ${delayMs} ms from one to another, so none will have heard of the others by then.`;
      },
      ifMissed: 'Wait longer: their last words are not old enough.',
      rule: { module: 'MultiPaxos', name: 'StartElection' },
      marks: ({ start }) => ({ replicas: rolesIn(start).others }),
    },
    {
      title: 'They wake, and ask each other',
      acts: ({ start }) => rolesIn(start).others.map((replica) => ({ action: 'resume' as const, replica })),
      awaits: () => 'at least two of them stand for election, each in its own ballot',
      hasComeAbout: (told) => standing(told).length > 1,
      withinMs: 60_000,
      caption(told) {
        const ballots = elections(told).map(({ state }) => formatBallot(state.ballot));
        return `${listed(standing(told))} stand at once, in ballots ${listed(ballots)}. Two ballots are never equal: where the rounds are, the replica’s name decides. Whoever has promised itself to its own ballot refuses a lower one, and promises itself to a higher one all the same, though that ends its own attempt.`;
      },
      ifMissed:
        'One was heard before another had stood: there was no duel this time. Begin again with another seed.',
      rule: { module: 'MultiPaxos', name: 'Less' },
      marks: (told) => ({ replicas: standing(told) }),
    },
    {
      title: 'One of them gets through',
      acts: () => [],
      awaits: () => 'one of them leads and serves clients',
      hasComeAbout: (told) => successorIn(told) !== null,
      withinMs: 60_000,
      caption(told) {
        const next = leaderIn(told.now)!;
        const vain = elections(told).filter(({ state }) => compareBallots(state.ballot, next.ballot) !== 0);
        const givenUp = [...new Set(vain.map(({ replica }) => replicaOf(replica)))].filter(
          (id) => id !== next.id,
        );
        return `${next.id} leads in ballot ${formatBallot(next.ballot)}; in vain: ${listed(vain.map(({ state }) => formatBallot(state.ballot)))}. ${givenUp.length === 0 ? 'Nobody else' : listed(givenUp)} met a promise for a higher ballot and gave up. Had nobody had a majority, each would have waited for a while of its own and asked again, higher: that is how a duel ends.`;
      },
      ifMissed: 'Each waits for a while by chance, then asks again: wait longer.',
      rule: { module: 'MultiPaxos', name: 'HandleReject' },
      marks: (told) => ({ replicas: [successorIn(told)].filter((id) => id !== null) }),
    },
  ],

  answer(told) {
    const { others } = rolesIn(told.start);
    const next = leaderIn(told.ends.at(-1)!)!;
    const ballots = elections(told).map(({ state }) => state.ballot);
    const highest = ballots.toSorted(compareBallots).at(-1) ?? next.ballot;
    const isFirstRound = ballots.every(({ round }) => round === next.ballot.round);
    const choice = next.id === others[0] ? 'low' : next.id === others.at(-1) ? 'high' : 'middle';
    return {
      choice,
      happened: `${next.id} leads, after ${elections(told).length} attempts.`,
      why: `${whyOf(next.ballot, highest, isFirstRound)} A duel costs time, and never agreement.`,
      rule: { module: 'MultiPaxos', name: 'MayVote' },
    };
  },
};

/** `highest`: of all ballots in which anybody stood. */
function whyOf(won: Ballot, highest: Ballot, isFirstRound: boolean): string {
  const hasHighest = compareBallots(won, highest) === 0;
  if (!hasHighest)
    return `The highest ballot in which anybody stood is ${formatBallot(highest)}, and yet ${formatBallot(won)} had a majority: those whose promises it needed had not heard of a higher one.`;
  return isFirstRound
    ? `All stood in round ${won.round}, where the name decides: of those who stood, ${replicaOf(won.replica)} has the highest, so the others could promise themselves to its ballot, and it to none of theirs.`
    : `Not all stood in the same round: ${formatBallot(won)} is the highest ballot in which anybody stood, whatever its name, and no promise stood in its way.`;
}
