/**
 * What the replicas of a run record, at both layers: what their cores did, and what became of their databases.
 *
 * Responsible for: one time for all replicas, in which events have the order in which they happened. Nothing is lost with a process that is killed, as it is from the files of a real one; crash-recorder.ts tells its end.
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import { CrashRecorder } from './crash-recorder.ts';
import { runSchedule, type ScheduleOptions, type ScheduleResult } from './group-schedule.ts';

export interface RecordedRun {
  readonly events: readonly TraceEvent[];
  readonly result: ScheduleResult;
}

export async function recordRun(
  options: Omit<ScheduleOptions, 'onEvent' | 'watch'>,
  run: typeof runSchedule = runSchedule,
): Promise<RecordedRun> {
  const events: TraceEvent[] = [];
  const crashes = new CrashRecorder();
  const result = await run({
    ...options,
    onEvent: (event) => events.push(...crashes.endBefore(event), event),
    watch: crashes,
  });
  return { events, result };
}
