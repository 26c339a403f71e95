/**
 * In what the events of one run at the layer `apply` must agree with those before them, and specs/TraceOrderedApply.tla has no word for: incarnations of replicas, leaderships that nothing came of, and
 * transactions, which it knows only where somebody asks for them.
 *
 * Responsible for: which transactions a report releases, who a copy comes from, whose leadership has ended, and that no record is smaller than its header. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { ballotLabel } from '../../../server/src/multipaxos/ballot.ts';
import { segmentBytes } from '../../../server/src/wal/lsn.ts';
import type { ApplyEvent } from './apply-event.ts';

type Named<Name extends ApplyEvent['name']> = Extract<ApplyEvent, { readonly name: Name }>;

/** What a run has told so far. */
interface Run {
  /** Leaderships of its replica that have not been told as ended. */
  readonly led: Set<string>;
  /** Of the newest leadership, ranges whose transactions are not released. */
  shipped: readonly Named<'Ship'>[];
  source: string | null;
}

/** The first event that disagrees, and why; null: there is none. */
export function disagreementIn(
  events: readonly TraceEvent[],
): { readonly event: ApplyEvent; readonly reason: string } | null {
  const runs = new Map<string, Run>();
  const ordered = [...events].sort((a, b) => a.seq - b.seq);
  for (const event of ordered) {
    const run = runs.get(event.run) ?? { led: new Set(), shipped: [], source: null };
    runs.set(event.run, run);
    if (event.layer === 'consensus' && event.state.role === 'leader')
      run.led.add(ballotLabel(event.state.ballot));
    if (event.layer !== 'apply') continue;
    const reason = disagrees(run, event);
    if (reason !== null) return { event, reason };
  }
  return endsTooNear(ordered);
}

/** No record of WAL is shorter. */
const recordBytesMin = 24;

/**
 * All standbys replay the same records, whole ones: so where they stand, and where they are left, is as far apart as records are. But one that comes up with WAL is given it once more, and
 * what it reports counts up to where that has come, wherever this is, until it has what it came up with.
 */
function endsTooNear(ordered: readonly TraceEvent[]): ReturnType<typeof disagreementIn> {
  const ends = new Map<number, ApplyEvent>();
  const cameUpWith = new Map<string, number>();
  for (const event of ordered) {
    if (event.layer !== 'apply') continue;
    if (event.name === 'DatabaseUp') cameUpWith.set(event.run, event.position);
    const end = recordEndIn(event);
    if (end === null || (event.name === 'Replay' && end <= (cameUpWith.get(event.run) ?? 0))) continue;
    // A switch of segments ends with its segment.
    if (end % segmentBytes !== 0 && !ends.has(end)) ends.set(end, event);
  }
  const sorted = [...ends].sort(([a], [b]) => a - b);
  for (const [index, [end, event]] of sorted.entries()) {
    const [before] = sorted[index - 1] ?? [Number.NEGATIVE_INFINITY];
    if (end - before < recordBytesMin)
      return { event, reason: `a record would end at ${end}, and one at ${before}` };
  }
  return null;
}

function recordEndIn(event: ApplyEvent): number | null {
  if (event.name === 'Replay') return event.replayed;
  return event.name === 'BeginLeadership' && !event.resumes ? event.fork : null;
}

function disagrees(run: Run, event: ApplyEvent): string | null {
  if (event.name === 'Ship') {
    const isNew = run.shipped.some(
      ({ leadership }) => ballotLabel(leadership) !== ballotLabel(event.leadership),
    );
    run.shipped = [...(isNew ? [] : run.shipped), event];
  }
  if (event.name === 'Release') return disagreesOnCommits(run, event);
  if (event.name === 'BeginCopy') run.source = event.source;
  const endsCopy = event.name === 'GiveUpCopy' || event.name === 'EndCopy';
  if (endsCopy && event.source !== run.source)
    return `a copy from ${event.source} ends, and one from ${run.source ?? 'nobody'} has begun`;
  if (event.name === 'Depose' && !run.led.delete(ballotLabel(event.leadership)))
    return `its replica was no leader in ${ballotLabel(event.leadership)}, or is told once more to be none`;
  return null;
}

function disagreesOnCommits(run: Run, { position, commits }: Named<'Release'>): string | null {
  const released = run.shipped.filter(({ end }) => end <= position);
  run.shipped = run.shipped.slice(released.length);
  const shipped = released.flatMap((ship) => ship.commits);
  return shipped.join() === commits.join()
    ? null
    : `it releases [${commits.join()}], and what was shipped up to there commits [${shipped.join()}]`;
}
