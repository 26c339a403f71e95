/** Runs of whole replicas under faults are behaviours of OrderedApply.tla; with any one place altered they are not. Needs Java (TLC). */
import { beforeAll, describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { recordGroup } from '../fresh/record-group.ts';
import { applyMutants, applyVariants } from './apply-mutants.ts';
import { rejectedAlterations } from './apply-trace.ts';
import { NothingToAlterError } from './nothing-to-alter.ts';

/** What happens in a run changes with the code; in some of so many there is something for every alteration. */
const SEEDS = [8, 9, 10, 11, 12, 13, 14, 15, 16, 17];

type Alterations = typeof applyMutants;

/** The names of those that were accepted, that were rejected, and that no run has anything for. */
interface Judged {
  readonly accepted: readonly string[];
  readonly rejected: readonly string[];
  readonly unused: readonly string[];
}

function applied(alter: Alterations[string], events: readonly TraceEvent[]): readonly TraceEvent[] | null {
  try {
    return alter(events);
  } catch (error) {
    if (error instanceof NothingToAlterError) return null;
    throw error;
  }
}

/** Each in the first run that has something to alter. */
async function judge(runs: readonly (readonly TraceEvent[])[], alterations: Alterations): Promise<Judged> {
  const judged = { accepted: [] as string[], rejected: [] as string[], unused: Object.keys(alterations) };
  for (const run of runs) {
    const altered = judged.unused.flatMap((name) => {
      const events = applied(alterations[name]!, run);
      return events === null ? [] : [{ name, events }];
    });
    if (altered.length === 0) continue;
    const isRejected = await rejectedAlterations(
      run,
      altered.map(({ events }) => events),
    );
    for (const [index, { name }] of altered.entries())
      (isRejected[index] === true ? judged.rejected : judged.accepted).push(name);
    judged.unused = judged.unused.filter((name) => altered.every((one) => one.name !== name));
  }
  return judged;
}

describe('what is told of the databases of groups under faults', () => {
  let judged: Judged;

  beforeAll(async () => {
    const runs: (readonly TraceEvent[])[] = [];
    for (const seed of SEEDS) runs.push(await recordGroup(seed));
    judged = await judge(runs, { ...applyVariants, ...applyMutants });
  });

  it('is rejected with any one place altered', () => {
    expect([...judged.rejected].sort()).toEqual(Object.keys(applyMutants).sort());
  });

  it('is accepted with what is true told besides', () => {
    expect([...judged.accepted].sort()).toEqual(Object.keys(applyVariants).sort());
  });
});
