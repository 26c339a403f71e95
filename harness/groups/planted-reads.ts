/** Planted bugs of reads at followers: each is a rule of FollowerReads.tla that a model drops, too. That a leader answers under its lease hardly shows: who follows another one has no question for it. */
import type { PlantedBug } from './planted-bug.ts';

const followerReads = true;
const reads = 'replica/serving/follower-reads.ts';
const assembled = 'main/assemble-replica.ts';
const stale = /a follower's read at \w+ (?:found|did not show)/;
const behind = /a leader's read found \d+ values/;

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
  {
    name: 'toldAtOnce',
    sentence: 'what a linearizable read has found at a follower is told before the leader shows it',
    mutations: [
      {
        file: reads,
        find: 'return this.isOpen && life === this.life && this.options.shown.isShown();',
        replace: 'return this.isOpen && life === this.life;',
      },
    ],
    strain: { only: [], followerReads },
    seed: 1,
    expected: behind,
  },
  {
    name: 'shownByEnd',
    sentence: 'a leader takes each transaction below the end of its snapshot for one that it shows',
    mutations: [
      {
        file: 'replica/serving/shown-answers.ts',
        find: 'const running = [...view.running].map(String);',
        replace: 'const running: string[] = [];',
      },
    ],
    strain: { only: [], followerReads },
    seed: 1,
    expected: behind,
  },
];
