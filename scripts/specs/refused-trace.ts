/**
 * `npx tsx scripts/specs/refused-trace.ts`: records a group in simulated time into whose core a bug is planted, and keeps the run up to a little behind the event that the specification refuses, for the page to show.
 *
 * Writes specs/refused/forgets-promise.ndjson, a recorded trace as replicas write it. Exit code 1 if the check refuses none of the seeds.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { TraceEvent } from '../../server/src/api/events.ts';
import { checkTrace, type Rejected } from '../../harness/conformance/trace/check-trace.ts';
import { loadMutant } from '../../harness/groups/mutant.ts';
import { forgottenPromise } from '../../harness/groups/planted-acceptors.ts';
import { recordRun } from '../../harness/groups/record-run.ts';
import { SPECS_DIR } from './tlc.ts';

const SEEDS_MAX = 12;
/** Of the run behind the refused event. */
const BEHIND_US = 200_000;

async function refusedRun(): Promise<{
  seed: number;
  events: readonly TraceEvent[];
  refused: Rejected;
} | null> {
  const run = await loadMutant('refused-trace', forgottenPromise);
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    const { events } = await recordRun(
      { seed, rounds: 1, restMs: 300, replicas: 3, only: ['the process dies'] },
      run,
    );
    const outcome = await checkTrace(events);
    console.log(`seed ${seed}: ${events.length} events, ${outcome.kind}`);
    if (outcome.kind === 'rejected') return { seed, events, refused: outcome };
  }
  return null;
}

async function main(): Promise<number> {
  const found = await refusedRun();
  if (found === null) return 1;
  const { events, refused } = found;
  const untilUs = (refused.recorded?.atUs ?? Number.POSITIVE_INFINITY) + BEHIND_US;
  const kept = events.filter(({ atUs }) => atUs <= untilUs);
  const again = await checkTrace(kept);
  if (again.kind !== 'rejected') throw new Error('what is kept of the run is not refused');
  const directory = path.join(SPECS_DIR, 'refused');
  mkdirSync(directory, { recursive: true });
  const file = path.join(directory, 'forgets-promise.ndjson');
  writeFileSync(file, kept.map((event) => `${JSON.stringify(event)}\n`).join(''));
  console.log(`${kept.length} events, refused at event ${again.event}, ${again.step}: ${again.reason}`);
  return 0;
}

process.exitCode = await main();
