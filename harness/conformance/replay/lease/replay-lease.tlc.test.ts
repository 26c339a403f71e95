import { beforeAll, describe, expect, it } from 'vitest';
import { loadMutated } from '../../../groups/mutant.ts';
import { ofLeases } from '../../../groups/planted-leases.ts';
import type { TlaState } from '../tla-value.ts';
import { replayAll } from '../replay-command.ts';
import { makeLeaseBehaviours, replayedLeaseActions } from './lease-behaviours.ts';
import { replayLease } from './replay-lease.ts';

let behaviours: TlaState[][] = [];
beforeAll(async () => {
  behaviours = await makeLeaseBehaviours({ behaviours: 60, depth: 100, seed: 1 });
});

/** Of bugs that only a service, a change of the members, an Accept, a group of five or the end of a word shows that came late, a replay of Lease knows nothing. */
const elsewhere = new Set([
  'countsOneLess',
  'votesWithoutWord',
  'countsByOldMembers',
  'answersBeyondLease',
  'answersWithWord',
  'refusesUnderLease',
  'answersOfEarlier',
  'saysItHasResigned',
  'endsAnyWord',
]);
const bugs = ofLeases.filter(({ name }) => !elsewhere.has(name));

describe('behaviours of Lease', () => {
  it('are followed by the core, step by step, every action among them', async () => {
    const { failed, actions } = replayAll(behaviours, replayLease);
    expect(failed).toBeNull();
    expect((await replayedLeaseActions()).filter((name) => !actions.has(name))).toEqual([]);
  });

  it.each(bugs.map(({ name, mutations }) => [name, mutations] as const))(
    'are not followed where the core %s',
    async (name, mutations) => {
      const entry = 'harness/conformance/replay/lease/replay-lease.ts';
      const loaded = await loadMutated<{ replayLease: typeof replayLease }>({
        entry,
        name: `replayed-lease-${name}`,
        mutations,
      });
      const { failed } = replayAll(behaviours, loaded.replayLease);
      expect(failed).not.toBeNull();
    },
  );
});
