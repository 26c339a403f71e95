/**
 * What a run of the layer `apply` says as a whole: its positions, transaction ids and leaderships in order, and what is chosen in each slot.
 *
 * Pure. TLC's numbers are small, and only order and equality matter to specs/TraceOrderedApply.tla, so each is replaced by its rank among those that the run mentions.
 */
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { segmentBytes, type Lsn } from '../../../server/src/wal/lsn.ts';
import { segmentEnd } from '../../../server/src/wal/record/places.ts';
import type { ApplyEvent, ApplyItem } from './apply-event.ts';

/** Of a run that tells of no leadership. */
const FIRST_TIMELINE = 1;

export interface ApplyFacts {
  /** Of a position of WAL: how many units lie below it. */
  readonly positionRank: (position: number) => number;
  /** The positions of the units behind `from` up to `to`. */
  readonly unitEnds: (from: number, to: number) => readonly number[];
  /** The next position that is mentioned; null: none is. */
  readonly nextEnd: (position: number) => number | null;
  readonly xidRank: (xid: string) => number;
  /** Replicas are numbered in the order of their names. */
  readonly replicas: readonly ReplicaId[];
  readonly replicaRank: (replica: ReplicaId) => number;
  /** 0: nobody was elected in it, or only after a newer leader. */
  readonly ballotRank: (ballot: Ballot) => number;
  readonly leaderships: number;
  /** A record is known to end there: somebody replayed it, forked behind it, or found it to be the last in a directory. */
  readonly isWhole: (timeline: number, position: number) => boolean;
  /** It lies in the empty rest of a segment, of which less was chosen when the next timeline began at its end. */
  readonly isRest: (timeline: number, position: number) => boolean;
  /** Where the rest that ends there begins, as far as it was not chosen; the position itself where none ends. */
  readonly filledEnd: (position: number) => number;
  readonly labelAt: (slot: number) => EntryLabel | undefined;
  /** 0: in none. */
  readonly slotOf: (label: EntryLabel) => number;
  /** Somebody asked what became of this transaction. */
  readonly isAsked: (leadership: Ballot, xid: string) => boolean;
  /** The timeline on which the founder's database begins. */
  readonly firstTimeline: number;
}

export function factsOf(items: readonly ApplyItem[]): ApplyFacts {
  const events = items.flatMap((item) => (item.kind === 'event' ? [item.event] : []));
  const positions = ranked(events.flatMap(positionsOf), (a, b) => a - b);
  const xids = ranked(events.flatMap(xidsOf), compareXids);
  const labels = new Map<number, EntryLabel>();
  for (const item of items) if (item.kind === 'chosen') labels.set(item.slot, item.label);
  const slots = new Map([...labels].map(([slot, label]) => [label, slot] as const));
  const ballots = electedInOrder(items);
  const whole = wholeEnds(items);
  const rests = restsOf(items);
  const named = items.flatMap((item) => (item.kind === 'chosen' ? [] : [item.replica]));
  const replicas = [...new Set(named)].sort();
  const asked = new Set(
    events.flatMap((event) =>
      event.name === 'AskOutcome' ? [transactionName(event.leadership, event.xid)] : [],
    ),
  );
  return {
    positionRank: (position) => positions.rank.get(position) ?? 0,
    unitEnds: (from, to) =>
      positions.values.slice(positions.rank.get(from) ?? 0, positions.rank.get(to) ?? 0),
    nextEnd: (position) => positions.values[positions.rank.get(position) ?? 0] ?? null,
    replicas,
    replicaRank: (replica) => replicas.indexOf(replicaOf(replica)) + 1,
    xidRank: (xid) => xids.rank.get(xid) ?? 0,
    ballotRank: (ballot) => ballots.findIndex((one) => sameBallot(one, ballot)) + 1,
    leaderships: ballots.length,
    isWhole: (timeline, position) => whole.has(`${timeline}/${position}`),
    isRest: (timeline, position) =>
      rests.some((rest) => rest.timeline === timeline && rest.from < position && position <= rest.to),
    filledEnd: (position) =>
      Math.min(position, ...rests.flatMap(({ from, to }) => (to === position ? [from] : []))),
    labelAt: (slot) => labels.get(slot),
    slotOf: (label) => slots.get(label) ?? 0,
    isAsked: (leadership, xid) => asked.has(transactionName(leadership, xid)),
    firstTimeline: forksOf(items).first,
  };
}

function transactionName({ round, replica }: Ballot, xid: string): string {
  return `${round}.${replica}/${xid}`;
}

function ranked<T>(
  values: readonly T[],
  compare: (a: T, b: T) => number,
): { readonly values: readonly T[]; readonly rank: ReadonlyMap<T, number> } {
  const sorted = [...new Set(values)].sort(compare);
  return { values: sorted, rank: new Map(sorted.map((value, i) => [value, i + 1])) };
}

function compareXids(a: string, b: string): number {
  const [left, right] = [BigInt(a), BigInt(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** 0 is no position. */
function positionsOf(event: ApplyEvent): number[] {
  const found: number[] = [];
  for (const name of ['start', 'end', 'fork', 'position', 'flushed', 'replayed'] as const) {
    const value = (event as Readonly<Record<string, unknown>>)[name];
    if (typeof value === 'number' && value > 0) found.push(value);
  }
  return found;
}

function xidsOf(event: ApplyEvent): readonly string[] {
  if (event.name === 'Ship' || event.name === 'Release') return event.commits;
  if (event.name === 'TellOutcome' || event.name === 'AskOutcome') return [event.xid];
  return event.name === 'ProposeLeadership' || event.name === 'BeginLeadership' ? [event.nextXid] : [];
}

/** Leaves out who was elected only after a newer leader was: it can get nothing chosen. */
function electedInOrder(items: readonly ApplyItem[]): Ballot[] {
  const ballots: Ballot[] = [];
  for (const item of items) {
    const newest = ballots.at(-1);
    if (item.kind === 'elected' && (newest === undefined || compareBallots(item.leadership, newest) > 0))
      ballots.push(item.leadership);
  }
  return ballots;
}

/** Where timelines left those before them, but for the founder's, which is `first`. */
function forksOf(items: readonly ApplyItem[]): {
  readonly first: number;
  readonly at: ReadonlyMap<number, number>;
} {
  const at = new Map<number, number>();
  for (const item of items) {
    if (item.kind !== 'event' || item.event.name !== 'BeginLeadership' || item.event.resumes) continue;
    at.set(item.event.timeline, item.event.fork);
  }
  const first = at.size === 0 ? FIRST_TIMELINE : Math.min(...at.keys());
  at.delete(first);
  return { first, at };
}

/** Only behind a switch of segments a timeline begins above what is chosen. */
function isRestBetween(chosenEnd: number, fork: Lsn): boolean {
  return chosenEnd > 0 && fork > chosenEnd && fork === segmentEnd(chosenEnd);
}

function chosenEndIn(event: ApplyEvent): number | null {
  if (event.name === 'DatabaseUp') return event.position;
  if (event.name === 'Feed') return event.end;
  return event.name === 'BeginLeadership' ? event.fork : null;
}

interface Rest {
  /** Of the WAL before the fork. */
  readonly timeline: number;
  readonly from: number;
  readonly to: number;
}

/** A standby that has replayed a switch leads from the end of the segment on, whatever of its rest is chosen. A range that commits something is no rest. */
function restsOf(items: readonly ApplyItem[]): readonly Rest[] {
  const rests: Rest[] = [];
  const chosenEnds = new Map<string, number>();
  for (const item of items) {
    if (item.kind !== 'event') continue;
    const { event, replica } = item;
    const from = chosenEnds.get(replica) ?? 0;
    if (event.name === 'ProposeLeadership' && !event.resumes && isRestBetween(from, event.fork))
      rests.push({ timeline: event.timeline - 1, from, to: event.fork });
    chosenEnds.set(replica, chosenEndIn(event) ?? from);
  }
  const ships = items.flatMap((item) =>
    item.kind === 'event' && item.event.name === 'Ship' && item.event.commits.length > 0 ? [item.event] : [],
  );
  return rests.filter(({ timeline, from, to }) =>
    ships.every((ship) => ship.timeline !== timeline || ship.end <= from || to <= ship.start),
  );
}

/** Named by timeline and position. */
function wholeEnds(items: readonly ApplyItem[]): ReadonlySet<string> {
  const whole = new Set<string>();
  const forks = forksOf(items);
  const known = new Map<string, number>();
  /** Of each replica, where the chosen WAL ends that it knows of. */
  const chosenEnds = new Map<string, number>();
  const add = (newest: number, position: number): void => {
    if (position === 0) return;
    let timeline = newest;
    while (position <= (forks.at.get(timeline) ?? 0)) timeline--;
    whole.add(`${timeline}/${position}`);
  };
  for (const item of items) {
    if (item.kind !== 'event') continue;
    const { event, replica } = item;
    if ('timeline' in event) known.set(replica, event.timeline);
    const chosenEnd = chosenEndIn(event);
    if (chosenEnd !== null) chosenEnds.set(replica, chosenEnd);
    if (event.name === 'Replay') {
      const timeline = known.get(replica) ?? 0;
      add(timeline, event.replayed);
      // Behind a switch of segments: what is chosen of the empty rest is no part of a record.
      const end = chosenEnds.get(replica) ?? 0;
      if (event.replayed % segmentBytes === 0 && end < event.replayed) add(timeline, end);
    } else if (event.name === 'CheckPrefix') add(known.get(replica) ?? 0, event.position);
    else if ((event.name === 'ProposeLeadership' || event.name === 'BeginLeadership') && !event.resumes)
      add(event.timeline === forks.first ? event.timeline : event.timeline - 1, event.fork);
  }
  return whole;
}
