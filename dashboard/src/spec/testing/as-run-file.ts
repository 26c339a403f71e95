/** For tests: a recorded trace as the run of a file, as the page would have exported it. */
import type { TraceEvent } from '../../../../server/src/api/events.ts';
import { clusterOf, replica } from '../../model/testing.ts';
import type { Frame } from '../../model/frames.ts';
import type { RunFile } from '../../run/run-file.ts';

const FLUSH_US = 50_000;

/** A moment for each flush of a page that hears of it. */
export function asRunFile(events: readonly TraceEvent[]): RunFile {
  const inTime = events.toSorted((a, b) => a.atUs - b.atUs || a.seq - b.seq);
  const flushes = new Map<number, TraceEvent[]>();
  for (const event of inTime) {
    const flush = Math.ceil(event.atUs / FLUSH_US);
    flushes.set(flush, [...(flushes.get(flush) ?? []), event]);
  }
  const ids = [...new Set(inTime.map((event) => event.replica))].sort();
  const cluster: Frame = { type: 'cluster', cluster: clusterOf(...ids.map((id) => replica(id))) };
  return {
    group: 'recorded',
    source: 'a recorded trace',
    moments: [...flushes].map(([flush, own]) => ({
      atMs: (flush * FLUSH_US) / 1_000,
      frames: [{ type: 'events', events: own }, cluster],
    })),
  };
}
