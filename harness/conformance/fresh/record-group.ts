/** What a group of whole replicas in simulated time records in the run of a seed, at all layers, in runs that are short enough for a judge of every event. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { MixName } from '../../groups/mixes.ts';
import type { ScheduleOptions } from '../../groups/group-schedule.ts';
import { recordRun } from '../../groups/record-run.ts';

/** Every so many seeds the group is of five. */
const OF_FIVE_EVERY = 8;
/** A few transactions between faults: those are what counts, and TLC looks at every event. */
const REST_MS = 1000;

/** @throws Error if the run itself breaks what must hold */
export async function recordGroup(
  seed: number,
  mix: MixName = 'default',
  others: Pick<ScheduleOptions, 'only' | 'replicas'> = {},
): Promise<readonly TraceEvent[]> {
  const { events, result } = await recordRun({
    seed,
    mix,
    replicas: seed % OF_FIVE_EVERY === 0 ? 5 : 3,
    rounds: 1,
    restMs: REST_MS,
    ...others,
  });
  const [fault] = result.faults;
  if (fault !== undefined) throw new Error(`the run of seed ${seed} breaks what must hold: ${fault}`);
  return events;
}
