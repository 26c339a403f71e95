/** Planted bugs of what a database may become that single faults did not find: each shows in a story (database-stories.ts). */
import type { Mutation } from '../nemesis/mutate.ts';
import type { PlantedBug } from './planted-bug.ts';

const onlyOldLeaderIsLeft = { only: ['only a leader of before is left to lead'] } as const;
const goesOn = /goes on as a primary .* led last$/;

/** Else the timeline on which it comes up would tell. */
const onAnyTimeline: Mutation = {
  file: 'payload/wal/life/written-phase.ts',
  find: 'if (primary.timeline !== timeline || primary.system !== system) {',
  replace: 'if (primary.system !== system) {',
};

export const inDatabaseStories: readonly PlantedBug[] = [
  {
    name: 'resumesAfterAnother',
    sentence: 'an old primary goes on as one, though another has led since',
    mutations: [
      onAnyTimeline,
      {
        file: 'payload/wal/judge-directory.ts',
        find: 'return leadership.replica === member && slot >= commitPoint;',
        replace: 'return (leadership.replica as string) !== `not ${member}` && slot >= commitPoint;',
      },
      {
        file: 'payload/wal/judge-directory.ts',
        find: "return ownEnd <= left ? { kind: 'prefix' } : { kind: 'parted', at: left };",
        replace: "return ownEnd <= left ? { kind: 'prefix' } : { kind: 'own' };",
      },
    ],
    strain: onlyOldLeaderIsLeft,
    seed: 1,
    expected: goesOn,
  },
  {
    name: 'resumesBeforeAllIsKnown',
    sentence:
      'an old primary goes on by what it knew when it led, before it has looked at what was chosen since',
    mutations: [
      onAnyTimeline,
      {
        file: 'payload/wal/judge-directory.ts',
        find: 'return leadership.replica === member && slot >= commitPoint;',
        replace: 'return leadership.replica === member && slot >= 0 * commitPoint;',
      },
      {
        file: 'payload/wal/life/written-phase.ts',
        find: 'const judgement = judgeDirectory(written, wal.position);',
        replace: 'const judgement = judgeDirectory(written, state.position);',
      },
      {
        file: 'payload/wal/life/written-phase.ts',
        find: 'mayResume({ member: host.member, commitPoint: host.commitPoint() }, wal.position)',
        replace: 'mayResume({ member: host.member, commitPoint: host.commitPoint() }, state.position)',
      },
    ],
    strain: onlyOldLeaderIsLeft,
    seed: 1,
    expected: goesOn,
  },
  {
    name: 'endsUnchosen',
    sentence: 'a primary that ends in order leaves its WAL to a standby, chosen or not',
    mutations: [
      {
        file: 'payload/wal/life/clean-end.ts',
        find: 'const isClean = end >= ownEnd;',
        replace: 'const isClean = end >= 0;',
      },
    ],
    strain: { only: ['the leader ends in order, and alone'] },
    seed: 1,
    expected: /has replayed .* is chosen|leaves the history of this standby/,
  },
];
