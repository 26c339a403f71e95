/** Planted bugs of reads at followers: each is a rule of FollowerReads.tla that a model drops, too. That a leader answers under its lease hardly shows: who follows another one has no question for it. */
import type { PlantedBug } from './planted-bug.ts';

const followerReads = true;
const reads = 'replica/serving/follower-reads.ts';
const assembled = 'main/assemble-replica.ts';
const stale = /a follower's read at \w+ (?:found|did not show)/;

export const ofReads: readonly PlantedBug[] = [
  {
    name: 'indexBeforeAsked',
    sentence: 'a linearizable read has use for an index that was asked for before it was',
    mutations: [
      {
        file: reads,
        find: '? () => this.current !== null && this.current.number > since',
        replace: '? () => this.current !== null && this.current.number > since - 1',
      },
    ],
    strain: { only: [], followerReads },
    seed: 1,
    expected: stale,
  },
  {
    name: 'receivedNotReplayed',
    sentence:
      'a read at a follower waits until what the leader told is chosen there, not until it is replayed',
    mutations: [
      {
        file: assembled,
        find: 'replayed: () => payload.standbySlot,',
        replace: 'replayed: () => payload.position?.slot ?? null,',
      },
    ],
    strain: { only: [], followerReads },
    seed: 1,
    expected: stale,
  },
];
