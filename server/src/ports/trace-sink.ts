/** Where trace events go: the recorded NDJSON file, the dashboard's stream, the simulator's memory. */
import type { TraceEvent } from '../api/events.ts';

export interface TraceSink {
  /** Never blocks; a sink that cannot keep up drops whole events and counts them in `dropped`. */
  write(event: TraceEvent): void;
  readonly dropped: number;
}
