import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { applyMutants, applyVariants } from './apply-mutants.ts';
import { checkApplyTraces, type ApplyOutcome } from './apply-trace.ts';
import { readEvents } from './read-trace.ts';

/** A real cluster whose leader's process and, later, whose leader's PostgreSQL were killed with SIGKILL under load. */
const events = readEvents([fileURLToPath(new URL('../fixtures/cluster.ndjson.gz', import.meta.url))]);
/** Of a cluster whose replicas were all killed at once, and its leaders again and again: what they saved, and that they promoted, is told by the directories only. */
const kills = readEvents([fileURLToPath(new URL('../fixtures/kills.ndjson.gz', import.meta.url))]);
const names = [...Object.keys(applyVariants), ...Object.keys(applyMutants)];

describe('a recorded run of a real cluster', () => {
  let recorded: ApplyOutcome | null;
  let altered: readonly (ApplyOutcome | null)[];

  beforeAll(async () => {
    const alterations = { ...applyVariants, ...applyMutants };
    [recorded = null, ...altered] = await checkApplyTraces([
      events,
      ...names.map((name) => alterations[name]!(events)),
    ]);
  }, 600_000);

  it('is accepted to its end', () => {
    expect(recorded).toMatchObject({
      kind: 'accepted',
      events: events.filter(({ layer }) => layer === 'apply').length,
    });
  });

  it('shows what a group does when its leaders die', () => {
    const shown = recorded?.kind === 'accepted' ? [...recorded.actions.keys()] : [];
    expect(shown).toEqual(
      expect.arrayContaining(['Promote', 'Open', 'CheckPrefix', 'EndCopy', 'Depose', 'Purge', 'Barrier']),
    );
  });

  it('is accepted with what is true told besides', () => {
    const kinds = Object.keys(applyVariants).map((name) => [name, altered[names.indexOf(name)]?.kind]);
    expect(kinds).toEqual(Object.keys(applyVariants).map((name) => [name, 'accepted']));
  });

  it('is rejected with any one place altered', () => {
    const accepted = Object.keys(applyMutants).filter(
      (name) => altered[names.indexOf(name)]?.kind !== 'rejected',
    );
    expect(accepted).toEqual([]);
  });
});

describe('a run of processes that were killed before they had told all', () => {
  it('is accepted with what their directories show', async () => {
    const [outcome] = await checkApplyTraces([kills]);
    expect(outcome?.kind).toBe('accepted');
  }, 600_000);
});
