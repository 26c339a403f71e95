/** The moment of a run at which an event is: for a look at what the specification refuses, in the lab. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { RunStore } from '../run/run-store.ts';

/** @returns false: the run tells no times of events, so it stands where it stood */
export function standAtEvent(store: RunStore, { atUs }: Pick<TraceEvent, 'atUs'>): boolean {
  const ms = store.record().clock.msAt(atUs);
  if (ms === null) return false;
  store.standAt(ms);
  return true;
}
