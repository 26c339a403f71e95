import { describe, expect, it } from 'vitest';
import { checkRevealed, checkState, InvariantViolation, type InvariantName } from './invariants.ts';
import type { State } from './state.ts';
import {
  ballot,
  configuration,
  group,
  newCandidate,
  newFollower,
  newServingLeader,
  promise,
  r1,
  r2,
  slot,
  vote,
} from './testing/one-core.ts';
import type { Message } from './types/messages.ts';

const first = ballot(1, r2);
const follower = (): State =>
  newFollower({}, { promised: first, tail: [1, 2].map((at) => vote(at, first, `c${at}`)) }).state;
const candidate = (): State => newCandidate().state;
const leader = (): State => newServingLeader().state;

/** Leads, and its first entry is not chosen yet. */
function beginner(): State {
  const core = newCandidate();
  promise(core, r2);
  return core.state;
}

const unchanged = ({
  promised,
  commitPoint,
  configuration: { version },
}: State): Parameters<typeof checkState>[1] => ({
  promised,
  commitPoint,
  version,
});

function brokenBy(check: () => void): InvariantName | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof InvariantViolation) return error.invariant;
    throw error;
  }
}

type Breaking = readonly [
  rule: InvariantName,
  how: string,
  make: () => State,
  change: (state: State) => Partial<State>,
];

const pendingAt = (at: number, nextSlot: number) => (state: State) => ({
  leadership: {
    ...state.leadership!,
    nextSlot: slot(nextSlot),
    pending: { slot: slot(at), version: 2, members: configuration([r1, r2]).members },
  },
});

const breakings: readonly Breaking[] = [
  ['PromiseNeverLowered', 'is durable above itself', follower, () => ({ durablePromised: ballot(2, r2) })],
  ['TypeOK', 'gives out what is not chosen', follower, () => ({ reported: slot(1) })],
  [
    'NoHoleBelowCommitPoint',
    'takes for chosen what it has not',
    follower,
    () => ({ commitPoint: slot(3), reported: slot(3) }),
  ],
  ['TypeOK', 'leads without a leadership', candidate, () => ({ role: 'leader', candidacy: null })],
  ['TypeOK', 'follows with a leadership', leader, () => ({ role: 'follower' })],
  ['TypeOK', 'campaigns without a candidacy', candidate, () => ({ candidacy: null })],
  ['TypeOK', 'follows with a candidacy', candidate, () => ({ role: 'follower' })],
  [
    'LeaderHoldsItsPromise',
    'campaigns in the ballot of another',
    candidate,
    () => ({ promised: ballot(9, r2) }),
  ],
  [
    'LeaderHoldsItsPromise',
    'leads in an earlier ballot of its own',
    leader,
    () => ({ promised: ballot(9, r1) }),
  ],
  [
    'ServesOnlyWhatIsChosen',
    'serves too early',
    beginner,
    ({ leadership }) => ({ leadership: { ...leadership!, serving: true } }),
  ],
  ['OneChangeAtATime', 'changes members above what is open', leader, pendingAt(3, 4)],
  ['OneChangeAtATime', 'proposes above a change', leader, pendingAt(2, 4)],
];

describe('a replica stops that', () => {
  it.each(breakings)('breaks %s: it %s', (rule, _how, make, change) => {
    const state = make();
    expect(brokenBy(() => checkState(state, unchanged(state)))).toBeNull();
    const broken = { ...state, ...change(state) };
    expect(brokenBy(() => checkState(broken, unchanged(broken)))).toBe(rule);
  });

  it('lowers its promise, its commit point or its configuration', () => {
    const state = follower();
    const before = unchanged(state);
    const brokenFrom = (higher: Partial<typeof before>): InvariantName | null =>
      brokenBy(() => checkState(state, { ...before, ...higher }));
    expect(brokenFrom({ promised: ballot(2, r2) })).toBe('PromiseNeverLowered');
    expect(brokenFrom({ commitPoint: 1 })).toBe('CommitPointNeverRegresses');
    expect(brokenFrom({ version: 2 })).toBe('ConfigurationsFormAChain');
  });

  it('tells of a promise or a vote before it is durable, and no other message', () => {
    const state = follower();
    const tells = (kind: Message['kind'], round: number): InvariantName | null =>
      brokenBy(() => checkRevealed(state, { kind, group, ballot: ballot(round, r2) } as Message));
    expect(
      ['Promise', 'Accepted', 'Reject', 'Heartbeat'].map((kind) => tells(kind as Message['kind'], 2)),
    ).toEqual(['DurableBeforeRevealed', 'DurableBeforeRevealed', null, null]);
    expect([tells('Promise', 1), tells('Accepted', 1)]).toEqual([null, null]);
  });
});

describe('a replica goes on that', () => {
  it('holds the same promise as before, made anew', () => {
    const state = { ...follower(), promised: ballot(1, r2), durablePromised: ballot(1, r2) };
    expect(brokenBy(() => checkState(state, { ...unchanged(state), promised: ballot(1, r2) }))).toBeNull();
  });

  it('has one change under way, next to its commit point and with nothing above', () => {
    const state = leader();
    const changing = { ...state, ...pendingAt(2, 3)(state) };
    expect(brokenBy(() => checkState(changing, unchanged(changing)))).toBeNull();
  });
});
