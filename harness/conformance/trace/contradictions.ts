/**
 * What of a trace cannot be true whatever the specification says: an event that no action tells, or that another event denies.
 *
 * Responsible for: fields that the specification has no word for, such as learners, the commit point of a vote or to whom a message went. TLC judges the rest.
 * Of every event its own shape is asserted (event-form.ts), what it says of configurations (told-configurations.ts), what it sends (sent-messages.ts), what
 * it heard (heard-messages.ts), and how far that takes it (followed-commit-points.ts). A message that the trace does not record where it is sent is asserted to be one that its sender could send.
 */
import type { ConsensusEvent, RecordedTrace } from './read-trace.ts';
import { malformed } from './event-form.ts';
import { overtaking } from './followed-commit-points.ts';
import { misheard } from './heard-messages.ts';
import { missent } from './sent-messages.ts';
import { mistold } from './told-configurations.ts';
import { inTime, lastRuns, runsOf, type Run } from './trace-place.ts';

export interface Contradiction {
  readonly event: ConsensusEvent;
  /** Counts from 1, in time. */
  readonly number: number;
  readonly reason: string;
}

/** What is found: an event, and what is wrong with it. */
export type Fault = readonly [event: ConsensusEvent, reason: string];

/** The first one in time; null: there is none. */
export function contradictionIn(trace: RecordedTrace): Contradiction | null {
  const events = inTime(trace);
  const unshaped = events.flatMap((event): Fault[] => {
    const reason = malformed(event);
    return reason === null ? [] : [[event, reason]];
  });
  // The others rely on the shape.
  const faults = unshaped.length > 0 ? unshaped : faultsOf(trace);
  const numbers = new Map(events.map((event, index) => [event, index + 1]));
  const found = faults.map(([event, reason]) => ({ event, number: numbers.get(event)!, reason }));
  return found.sort((a, b) => a.number - b.number)[0] ?? null;
}

function faultsOf(trace: RecordedTrace): Fault[] {
  const runs = runsOf(trace);
  return [
    ...unended(runs),
    ...mistold(trace, runs),
    ...missent(trace, runs),
    ...misheard(trace),
    ...overtaking(runs),
  ];
}

/** A simulator tells every crash, of a process only its end does: in one trace either all are told or none. */
function unended(runs: readonly Run[]): Fault[] {
  const hasCrash = (run: Run): boolean => run.at(-1)?.name === 'Crash';
  if (!runs.some(hasCrash)) return [];
  const last = lastRuns(runs);
  return runs.flatMap((run): Fault[] => {
    const end = run.at(-1);
    if (end === undefined || last.has(run) || hasCrash(run)) return [];
    return [[end, 'its run does not end in a crash, as others do']];
  });
}
