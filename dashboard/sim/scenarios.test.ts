/** Each scenario, played to its end over simulated groups of real replicas: what it waits for comes about, and the answer is what the run shows. */
import { describe, expect, it } from 'vitest';
import { compareBallots } from '../src/model/cluster-view.ts';
import { scenarios } from '../src/scenarios/all-scenarios.ts';
import { findRule } from '../src/scenarios/rules.ts';
import { leaderIn } from '../src/scenarios/seen.ts';
import { specTexts } from '../src/scenarios/spec-texts.ts';
import { playScenario, type PlayedScenario } from './scenario-run.ts';

const seeds = [1, 2, 3];

const run = (id: string, seed: number, replicas = 3): Promise<PlayedScenario> =>
  playScenario({
    scenario: scenarios.find((one) => one.id === id)!,
    setup: { seed, replicas, clients: 4 },
  });

describe('a scenario', { timeout: 60_000 }, () => {
  it.each(scenarios.flatMap(({ id }) => seeds.map((seed) => [id, seed] as const)))(
    '%s comes to its answer with seed %i',
    async (id, seed) => {
      const { play, troubles } = await run(id, seed);
      expect(play.stage).toMatchObject({ kind: 'answered' });
      expect(troubles).toEqual([]);
      if (play.stage.kind !== 'answered') return;
      const { choice, rule } = play.stage.answer;
      expect(play.question.choices.map((one) => one.id)).toContain(choice);
      expect(findRule(specTexts, rule)).not.toBeNull();
      expect(play.said.map(({ title }) => title)).toEqual(play.scenario.chapters.map(({ title }) => title));
    },
  );

  it('is the same each time, acts and words', async () => {
    const [one, other] = [await run('leader-dies', 5), await run('leader-dies', 5)];
    expect(other.acts).toEqual(one.acts);
    expect(other.play.said).toEqual(one.play.said);
  });
});

describe('the answer', { timeout: 60_000 }, () => {
  it('of a leader that dies is whoever leads then, in a higher ballot', async () => {
    const answers = new Set<string>();
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const { play } = await run('leader-dies', seed);
      const [before, after] = [leaderIn(play.told.start)!, leaderIn(play.told.ends[1]!)!];
      expect(compareBallots(after.ballot, before.ballot)).toBeGreaterThan(0);
      expect(play.stage).toMatchObject({ answer: { choice: after.id } });
      answers.add(after.id);
    }
    // It is not always the same one.
    expect(answers.size).toBeGreaterThan(1);
  });

  it('of a leader that dies is one of five', async () => {
    const { play } = await run('leader-dies', 1, 5);
    expect(play.stage.kind).toBe('answered');
  });
});
