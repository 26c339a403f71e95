/**
 * What of the events that a page holds can be judged: a judge needs the run of each process from its first event on, without a gap.
 *
 * Pure. A page holds the last minutes of a run only, and a busy server leaves events out. So what is behind a gap is left out, of all replicas; and without its beginning a run is not judged at all.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';

export interface WholeRuns {
  readonly events: readonly TraceEvent[];
  /** Why not all of them are there; null: they are. */
  readonly leftOut: string | null;
  /** Why nothing can be judged; null: it can. */
  readonly problem: string | null;
}

export function wholeRuns(told: readonly TraceEvent[]): WholeRuns {
  const runs = new Map<string, Map<number, TraceEvent>>();
  for (const event of told) {
    const run = runs.get(event.run) ?? new Map<number, TraceEvent>();
    runs.set(event.run, run.set(event.seq, event));
  }
  const sorted = [...runs.values()].map((run) => [...run.values()].sort((a, b) => a.seq - b.seq));
  const late = sorted.find(([first]) => first !== undefined && first.seq > 1)?.[0];
  if (late !== undefined) return { events: [], leftOut: null, problem: withoutBeginning(late) };
  const gaps = sorted.flatMap((run) => {
    const at = run.findIndex((event, index) => event.seq !== index + 1);
    return at === -1 ? [] : [run[at]!];
  });
  const [gap] = gaps.sort((a, b) => a.atUs - b.atUs);
  if (gap === undefined) return { events: sorted.flat().sort(inTime), leftOut: null, problem: null };
  const before = sorted.flatMap((run) => {
    const hole = run.findIndex((event, index) => event.seq !== index + 1);
    return run.filter((event, index) => (hole === -1 || index < hole) && event.atUs < gap.atUs);
  });
  const leftOut = `The page was not told of events of ${gap.replica} before its event ${gap.seq}: what came later than that is left out (${told.length - before.length} of ${told.length} events).`;
  return { events: before.sort(inTime), leftOut, problem: null };
}

function inTime(a: TraceEvent, b: TraceEvent): number {
  return a.atUs - b.atUs || (a.run === b.run ? a.seq - b.seq : 0);
}

function withoutBeginning({ replica, seq }: TraceEvent): string {
  return `The page does not hold the beginning of this run: the first event of ${replica} that is kept is its number ${seq}. The specification can say of a state only how it came about. Begin a run anew (a simulated one does at once), or check a recorded trace: npm run conformance -- trace FILE.`;
}
