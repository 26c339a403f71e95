/** Planted bugs of the protocol core: who the members are, and whose votes count. */
import type { PlantedBug } from './planted-bug.ts';

export const ofMembers: readonly PlantedBug[] = [
  {
    name: 'wipedVotesAtOnce',
    sentence: 'a replica that has lost its log comes back under its old name, and votes at once',
    mutations: [
      {
        file: 'multipaxos/configuration.ts',
        find: `before.incarnation === 0 ? first : before.incarnation + 1;
  return { replica, incarnation, role: 'learner', nonce, address };`,
        replace: `before.incarnation === 0 ? first : before.incarnation;
  return { replica, incarnation, role: before.role, nonce, address };`,
      },
    ],
    strain: { only: ['loses its log'] },
    seed: 1,
    expected: /^(OneLifePerIncarnation|RestartKnowsAll)/,
  },
  {
    name: 'wipedVotesUnasked',
    sentence:
      'a replica that has lost its log is taken back by whomever it asks, as the voter that it was: no other incarnation, and no change of the members that a majority chooses',
    mutations: [
      {
        file: 'replica/members/membership.ts',
        find: `const expected = this.known.members.some((member) => member.replica === replica);`,
        replace: `const expected = this.known.members.some((member) => member.replica === replica);
    const before = this.known.members.find((one) => one.replica === replica && one.role === 'voter');
    if (before !== undefined) {
      this.reply(replica, nonce, 'admitted', '', {
        cluster: this.options.cluster,
        member: nameOf(before),
        configuration: this.known,
        purgedTo: this.options.purgedTo(),
        isNew: false,
      });
      return;
    }`,
      },
    ],
    strain: { only: ['loses its log'] },
    seed: 1,
    expected: /^(OneLifePerIncarnation|RestartKnowsAll)/,
  },
  {
    name: 'wipedVotesOnceCaughtUp',
    sentence:
      'a replica that has lost its log comes back under its old name, and votes as soon as it has caught up',
    mutations: [
      {
        file: 'multipaxos/configuration.ts',
        find: 'before.incarnation === 0 ? first : before.incarnation + 1;',
        replace: 'before.incarnation === 0 ? first : before.incarnation;',
      },
    ],
    strain: { only: ['loses its log'] },
    seed: 1,
    expected: /^(OneLifePerIncarnation|RestartKnowsAll)/,
  },
  {
    name: 'countsByProposedMembers',
    sentence: 'a leader counts by the configuration that it has only proposed',
    mutations: [
      {
        file: 'multipaxos/roster.ts',
        find: 'const voters = votersOf(configuration);',
        replace: 'const voters = votersOf(proposed === null ? configuration : { members: proposed });',
      },
    ],
    strain: { only: ['loses its log', 'its disk is slow', 'is added', 'is removed'], mix: 'losses' },
    seed: 14,
    expected: /^OnlyChosenIsTaken/,
  },
  {
    name: 'changesTwoAtOnce',
    sentence: 'all learners become voters together with the first of them',
    mutations: [
      {
        file: 'multipaxos/configuration.ts',
        find: "sorted([...others, { ...member, role: 'voter' }]);",
        replace:
          "members.map((one) => (one.incarnation === 0 ? one : ({ ...one, role: 'voter' } as Member)));",
      },
      {
        file: 'multipaxos/chain.ts',
        find: 'if (votersDiffering(configuration.members, members) > 1) {',
        replace: 'if (votersDiffering(configuration.members, members) > 9) {',
      },
    ],
    strain: { only: ['loses its log'] },
    seed: 1,
    expected: /^ConfigurationsFormAChain: version \d+ changes more/,
  },
  {
    name: 'ignoresFoundMembers',
    sentence: 'a candidate is content with a majority of the configuration that it knows',
    mutations: [
      {
        file: 'multipaxos/phase-1.ts',
        find: 'foundAbove(state, candidacy).every((found) => hasMajority(votersOf(found), promises))',
        replace: 'foundAbove(state, candidacy).length >= 0',
      },
    ],
    strain: { only: ['the leader dies while it removes another'], mix: 'losses' },
    seed: 9,
    expected: /^(ElectedByMajority|Agreement)/,
  },
  {
    name: 'countsLearners',
    sentence: 'votes of learners count',
    mutations: [
      {
        file: 'multipaxos/leader.ts',
        find: 'if (countMembers(held.votes & state.roster.voterMask) < state.roster.quorum) break;',
        replace: 'if (countMembers(held.votes) < state.roster.quorum) break;',
      },
    ],
    strain: { only: ['loses its log', 'its disk is slow'] },
    seed: 1,
    expected: /^OnlyChosenIsTaken/,
  },
];
