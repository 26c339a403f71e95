/**
 * What a group of whole replicas in simulated time records in the run of a seed, at three layers: what its cores did, what became of its databases, and what its leases rest on.
 *
 * Responsible for: one time for all replicas, the simulated one, in which no two events are at once and all have the order in which they happened. Nothing is lost with a process that is killed, as it is from the files of a real one.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { runSchedule } from '../../groups/group-schedule.ts';

/** Every so many seeds the group is of five. */
const OF_FIVE_EVERY = 8;
/** A few transactions between faults: those are what counts, and TLC looks at every event. */
const REST_MS = 1000;

/** @throws Error if the run itself breaks what must hold */
export async function recordGroup(seed: number): Promise<readonly TraceEvent[]> {
  const events: TraceEvent[] = [];
  let atUs = 0;
  const { faults } = await runSchedule({
    seed,
    replicas: seed % OF_FIVE_EVERY === 0 ? 5 : 3,
    rounds: 1,
    restMs: REST_MS,
    onEvent: (event, atMs) => {
      atUs = Math.max(atUs + 1, Math.round(atMs * 1000));
      events.push({ ...event, atUs });
    },
  });
  if (faults.length > 0) throw new Error(`the run of seed ${seed} breaks what must hold: ${faults[0]}`);
  return events;
}
