/**
 * The rules that can be taken out, each with a run in which it is missed: a seed, acts, what happens when, and why the rule prevents it.
 *
 * Invariants, held by tests: the world without the rule comes to harm in that run, and the world as it is does not; the rule is in its specification under that name.
 */
import type { LoadFinding } from '../../../server/src/api/load.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { Act } from '../run/simulated/acts.ts';
import type { RunSetup } from '../run/simulated/run-address.ts';
import type { Rule } from '../scenarios/rules.ts';

export type VariantId = 'wiped' | 'unchosen' | 'barrier';

/** Something that is done, and what people are told of it. */
export interface Beat {
  readonly atMs: number;
  readonly text: string;
}

export interface Variant {
  readonly id: VariantId;
  /** In harness/groups: what is planted. */
  readonly bug: string;
  readonly title: string;
  /** Of the world that lacks the rule, and of the one that has it. */
  readonly without: string;
  readonly with: string;
  readonly setup: RunSetup;
  /** Where it begins to be shown. */
  readonly fromMs: number;
  readonly beats: readonly Beat[];
  /** By when a lost write is found, on the run's clock. */
  readonly foundByMs: number;
  /** Before anything else is. */
  readonly foundFirst: Pick<LoadFinding, 'kind' | 'replica'>;
  readonly happened: string;
  readonly prevented: string;
  readonly rule: Rule;
}

const [r1, r2, r3, r4, r5] = ['r1', 'r2', 'r3', 'r4', 'r5'] as [
  ReplicaId,
  ReplicaId,
  ReplicaId,
  ReplicaId,
  ReplicaId,
];

const cutBetween = (atMs: number, one: ReplicaId, other: ReplicaId): readonly Act[] => [
  [atMs, { action: 'cut', from: one, to: other }],
  [atMs, { action: 'cut', from: other, to: one }],
];

const mendBetween = (atMs: number, one: ReplicaId, other: ReplicaId): readonly Act[] => [
  [atMs, { action: 'cut', from: one, to: other, amount: 0 }],
  [atMs, { action: 'cut', from: other, to: one, amount: 0 }],
];

const wiped: Variant = {
  id: 'wiped',
  bug: 'wipedVotesUnasked',
  title: 'Votes at once after a wipe',
  without: 'A wiped replica comes back under its old name, and votes at once',
  with: 'A wiped replica comes back as another incarnation, and first learns',
  setup: {
    seed: 2,
    replicas: 3,
    clients: 4,
    acts: [
      ...cutBetween(9_000, r1, r3),
      [12_000, { action: 'crash', replica: r1 }],
      [12_200, { action: 'wipe', replica: r2, what: 'both' }],
      [20_000, { action: 'heal' }],
      [20_000, { action: 'restart', replica: r1 }],
    ],
  },
  fromMs: 7_500,
  beats: [
    { atMs: 9_000, text: 'r1 and r3 are cut off from each other: r1 and r2 choose without r3' },
    { atMs: 12_000, text: 'r1 crashes' },
    { atMs: 12_200, text: 'The disk of r2 is lost, and r2 starts again with nothing' },
    { atMs: 20_000, text: 'r1 is back, and all links are whole' },
  ],
  foundByMs: 24_000,
  foundFirst: { kind: 'stale', replica: 'r3' },
  happened:
    'r1 and r2 had chosen these writes, and their clients were told so. r2 forgot its votes with its disk, promised r3 all the same, and r3 became leader of a majority of which nobody knew them.',
  prevented:
    'As it is, r2 comes back as another incarnation, which votes only when a majority has admitted it and it has learnt what was chosen. So nobody leads until r1, who remembers, is back.',
  rule: { module: 'Recovery', name: 'RoleOfNewLife' },
};

const unchosen: Variant = {
  id: 'unchosen',
  bug: 'feedsBeforeChoice',
  title: 'Feeds what is not chosen',
  without: 'A follower feeds its PostgreSQL with whatever it is asked to vote for',
  with: 'A follower feeds its PostgreSQL with what is chosen, and nothing else',
  setup: {
    seed: 3,
    replicas: 5,
    clients: 4,
    acts: [
      ...[r1, r2].flatMap((one) => [r3, r4, r5].flatMap((other) => cutBetween(9_000, one, other))),
      [15_000, { action: 'heal' }],
    ],
  },
  fromMs: 7_500,
  beats: [
    { atMs: 9_000, text: 'r1 and r2 are parted from the others: r1 leads on, and nothing of it is chosen' },
    { atMs: 15_000, text: 'All links are whole: r1 and r2 hear what the others have chosen meanwhile' },
  ],
  foundByMs: 18_000,
  foundFirst: { kind: 'lost', replica: 'r2' },
  happened:
    'On the smaller side r2 fed its PostgreSQL with WAL for which only r1 and r2 had voted. The others chose other WAL for the same slots, which does not fit behind it: whatever was acknowledged since is missing there for good.',
  prevented:
    'As it is, r2 votes for that WAL and keeps it in its log alone. When the others have chosen something else for those slots, its PostgreSQL has nothing to take back, and goes on with what is chosen.',
  rule: { module: 'OrderedApply', name: 'WalToFeed' },
};

const barrier: Variant = {
  id: 'barrier',
  bug: 'servesWhenElected',
  title: 'Serves before the barrier',
  without: 'A new leader serves as soon as it is elected, with what its PostgreSQL has',
  with: 'A new leader serves when its own start is chosen, and all before it replayed',
  setup: {
    seed: 6,
    replicas: 3,
    clients: 4,
    acts: [
      [9_000, { action: 'isolate', replica: r2 }],
      [13_000, { action: 'crash', replica: r1 }],
      ...mendBetween(13_400, r2, r3),
      [20_000, { action: 'heal' }],
      [20_000, { action: 'restart', replica: r1 }],
    ],
  },
  fromMs: 7_500,
  beats: [
    { atMs: 9_000, text: 'r2 is cut off: r1 and r3 choose without it' },
    { atMs: 13_000, text: 'r1 crashes' },
    {
      atMs: 13_400,
      text: 'r2 and r3 hear each other again: r2, which has missed four seconds, is about to lead',
    },
    { atMs: 20_000, text: 'r1 is back, and all links are whole' },
  ],
  foundByMs: 15_500,
  foundFirst: { kind: 'stale', replica: 'r2' },
  happened:
    'r1 and r3 had chosen these writes. r2 heard of that with the promise of r3, and did not wait to learn them: it promoted its PostgreSQL with what that had. Reads missed them at once, and the new timeline leaves them out for good.',
  prevented:
    'As it is, r2 is elected just the same, and serves nobody yet: it learns from r3 all that was chosen before, has its own first entry chosen, and waits until its PostgreSQL has replayed all of that.',
  rule: { module: 'OrderedApply', name: 'HasOwnStart' },
};

export const variants: readonly Variant[] = [wiped, unchosen, barrier];
