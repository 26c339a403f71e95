/** Each scenario, played to its end over simulated groups of real replicas: what it waits for comes about, and the answer is what the run shows. */
import { describe, expect, it } from 'vitest';
import { compareBallots } from '../src/model/cluster-view.ts';
import { replicaOf } from '../src/model/incarnation.ts';
import { scenarios } from '../src/scenarios/all-scenarios.ts';
import type { Play } from '../src/scenarios/play.ts';
import { findRule } from '../src/scenarios/rules.ts';
import { eventsIn, lastStatusIn, leaderIn, statusIn } from '../src/scenarios/seen.ts';
import { specTexts } from '../src/scenarios/spec-texts.ts';
import { playScenario, type PlayedScenario } from './scenario-run.ts';

const run = (id: string, seed: number, replicas = 3): Promise<PlayedScenario> =>
  playScenario({
    scenario: scenarios.find((one) => one.id === id)!,
    setup: { seed, replicas, clients: 4 },
  });

/** A minute of simulated time is as long as all others together. */
const seedsOf = (id: string): readonly number[] => (id === 'long-absence' ? [2] : [1, 2, 3]);

/** What the group itself is like at the end, whatever the play says of it. */
const borneOut: Readonly<Record<string, (play: Play) => string | null>> = {
  'leader-dies': ({ told: { ends } }) => leaderIn(ends[1]!)!.id,
  duel({ told: { now } }) {
    const stood = new Set(eventsIn(now, 'StartElection').map(({ replica }) => replicaOf(replica)));
    expect(stood.size).toBeGreaterThan(1);
    return leaderIn(now)!.id === 'r2' ? 'low' : 'high';
  },
  'one-way-cut'({ told: { start, now } }) {
    const [before, after] = [leaderIn(start)!, leaderIn(now)!];
    return compareBallots(before.ballot, after.ballot) === 0 ? 'goes-on' : 'leads';
  },
  'frozen-leader': ({ told: { start, now } }) =>
    statusIn(now, leaderIn(start)!.id)!.role === 'follower' ? 'gives-up' : null,
  'middle-of-agreement'({ told: { ends, now } }) {
    // Where the new leader proposes what the dead one did.
    const slot = lastStatusIn(ends[1]!, 'r2')!.lastSlot;
    const [became] = eventsIn(now, 'BecomeLeader');
    return became!.votes!.some(([at, , label]) => at === slot && label.startsWith('r1.'))
      ? 'kept'
      : 'dropped';
  },
  'unchosen-wal': ({ told: { start, now } }) =>
    eventsIn(now, 'EndCopy', { of: leaderIn(start)!.id }).length > 0 ? 'rewound' : null,
  'wiped-minority'({ told: { now } }) {
    expect(statusIn(now, 'r2')).toMatchObject({ incarnation: 2, recovery: null, state: 'serving' });
    return 'learner';
  },
  'long-absence': ({ told: { now } }) => (eventsIn(now, 'EndCopy', { of: 'r2' }).length > 0 ? 'copy' : 'log'),
  'wiped-majority': ({ told: { now } }) => (leaderIn(now) === null ? 'nobody' : null),
};

describe('a scenario', () => {
  it.each(scenarios.flatMap(({ id }) => seedsOf(id).map((seed) => [id, seed] as const)))(
    '%s comes to the answer that the group bears out, with seed %i',
    async (id, seed) => {
      const { play, troubles } = await run(id, seed);
      expect(play.stage).toMatchObject({ kind: 'answered' });
      expect(troubles).toEqual([]);
      if (play.stage.kind !== 'answered') return;
      const { choice, rule } = play.stage.answer;
      expect(choice).toBe(borneOut[id]!(play));
      expect(play.question.choices.map((one) => one.id)).toContain(choice);
      expect(findRule(specTexts, rule)).not.toBeNull();
      expect(play.said.map(({ title }) => title)).toEqual(play.scenario.chapters.map(({ title }) => title));
      for (const { caption } of play.said) expect(caption).not.toMatch(/undefined|null|NaN/);
    },
  );

  it('is the same each time, acts and words', async () => {
    const [one, other] = [await run('leader-dies', 5), await run('leader-dies', 5)];
    expect(other.acts).toEqual(one.acts);
    expect(other.play.said).toEqual(one.play.said);
  });

  it('says the questions of as many replicas as it allows in three or four choices, each of its own', async () => {
    const { play } = await run('leader-dies', 1, 5);
    for (const { question } of scenarios) {
      const { choices } = question(play.told.start);
      expect(choices.length).toBeGreaterThanOrEqual(3);
      expect(choices.length).toBeLessThanOrEqual(4);
      expect(new Set(choices.map(({ id }) => id)).size).toBe(choices.length);
    }
  });
});

describe('the answer is the run’s', () => {
  it('whoever leads when the leader has died: it is not always the same one', async () => {
    const answers = new Set<string>();
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const { play } = await run('leader-dies', seed);
      answers.add(leaderIn(play.told.ends[1]!)!.id);
    }
    expect(answers.size).toBeGreaterThan(1);
  });

  it('an entry with two votes of five is kept or dropped, as the promises come', async () => {
    const choices = new Set<string | null>();
    // Which seeds bring which answer changes with the code.
    for (let seed = 1; seed <= 12 && choices.size < 2; seed++) {
      const { play } = await run('middle-of-agreement', seed, 5);
      const choice = play.stage.kind === 'answered' ? play.stage.answer.choice : null;
      expect(choice).toBe(borneOut['middle-of-agreement']!(play));
      choices.add(choice);
    }
    expect(choices).toEqual(new Set(['kept', 'dropped']));
  });

  it('what a majority has lost is on no disk of the others', async () => {
    const { play } = await run('wiped-majority', 6, 5);
    const { now, ends } = play.told;
    const acknowledged = leaderIn(ends[0]!)!.commitPoint;
    for (const { id } of now.cluster.replicas)
      expect(lastStatusIn(now, id)!.lastSlot).toBeLessThan(acknowledged);
  });
});
