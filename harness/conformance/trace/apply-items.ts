/**
 * Takes out of a recorded trace what the layer `apply` did, and what it has to know of the consensus layer: who was elected, who leads no more, what is chosen.
 *
 * Responsible for: one order of all replicas. Consensus events are put in order by linearize.ts; the events of `apply` stay between those of their own run. Judges nothing. Pure.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { ballotLabel, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent, ApplyItem } from './apply-event.ts';
import { toldAtPurges } from './apply-purges.ts';
import { linearize } from './linearize.ts';
import { orderTrace, type ConsensusEvent } from './read-trace.ts';
import type { SpecState } from './spec-state.ts';

type Ship = Extract<ApplyEvent, { name: 'Ship' }>;
type Feed = Extract<ApplyEvent, { name: 'Feed' }>;

/** One run of a replica's process. */
interface Run {
  readonly host: ReplicaId;
  readonly begunAtUs: number;
  /** Events of `apply`, the next one first. */
  readonly waiting: ApplyEvent[];
  /** Numbers of the consensus events that are still to come, the next one first. */
  readonly ahead: number[];
  begun: boolean;
  leads: Ballot | null;
}

export function applyItems(events: readonly TraceEvent[]): readonly ApplyItem[] {
  const items: ApplyItem[] = [];
  const runs = runsOf(events);
  const starts = startSlots(events);
  let chosenTo = 0;
  let previous: ConsensusEvent | null = null;

  const choose = (state: SpecState): void => {
    for (const { commitPoint, log } of state.replicas.values()) {
      for (; chosenTo < commitPoint; chosenTo++) {
        const label = log.get(chosenTo + 1)?.label;
        if (label === undefined) break;
        items.push({ kind: 'chosen', slot: chosenTo + 1, label });
      }
    }
  };
  const { state } = linearize(orderTrace(events), ({ event }, _, current) => {
    choose(current);
    if (event === null || event === previous) return;
    previous = event;
    takeUntil(items, runs, event.atUs);
    const run = runs.get(event.run) as Run;
    takeWhile(items, runs, run, ({ seq }) => seq < event.seq);
    run.ahead.shift();
    items.push(...leadershipChange(run, event, starts));
  });
  choose(state);
  takeUntil(items, runs, Number.POSITIVE_INFINITY);
  const purges = toldAtPurges(events);
  return items.map((item): ApplyItem => {
    if (item.kind !== 'event') return item;
    const { replica, event } = item;
    const told = purges.get(event);
    return told === undefined ? item : { kind: 'event', replica, event, told };
  });
}

/** What all replicas did until then, in the order of its time, but for what comes behind a consensus event that is still to come. */
function takeUntil(items: ApplyItem[], runs: ReadonlyMap<string, Run>, atUs: number): void {
  for (;;) {
    let next: Run | null = null;
    for (const run of runs.values()) {
      const [event] = run.waiting;
      if (event === undefined || event.atUs >= atUs || event.seq > (run.ahead[0] ?? Number.POSITIVE_INFINITY))
        continue;
      if (next === null || event.atUs < (next.waiting[0] as ApplyEvent).atUs) next = run;
    }
    if (next === null) return;
    const first = next.waiting[0];
    takeWhile(items, runs, next, (event) => event === first);
  }
}

function takeWhile(
  items: ApplyItem[],
  runs: ReadonlyMap<string, Run>,
  run: Run,
  belongs: (event: ApplyEvent) => boolean,
): void {
  begin(items, runs, run);
  while (run.waiting[0] !== undefined && belongs(run.waiting[0]))
    items.push({ kind: 'event', replica: run.host, event: run.waiting.shift() as ApplyEvent });
}

/** What the process before it did is over. */
function begin(items: ApplyItem[], runs: ReadonlyMap<string, Run>, run: Run): void {
  if (run.begun) return;
  run.begun = true;
  for (const earlier of runs.values())
    if (earlier.host === run.host && earlier.begunAtUs < run.begunAtUs)
      takeWhile(items, runs, earlier, () => true);
  items.push({ kind: 'begins', replica: run.host });
}

function runsOf(events: readonly TraceEvent[]): ReadonlyMap<string, Run> {
  const runs = new Map<string, Run>();
  for (const event of [...events].sort((a, b) => a.atUs - b.atUs || a.seq - b.seq)) {
    const run = runs.get(event.run) ?? {
      host: replicaOf(event.replica),
      begunAtUs: event.atUs,
      waiting: [],
      ahead: [],
      begun: false,
      leads: null,
    };
    runs.set(event.run, run);
    if (event.layer === 'apply') run.waiting.push(event);
    if (event.layer === 'consensus') run.ahead.push(event.seq);
  }
  for (const { waiting, ahead } of runs.values()) {
    waiting.sort((a, b) => a.seq - b.seq);
    ahead.sort((a, b) => a - b);
  }
  addLostShips(runs, events);
  return runs;
}

/**
 * A process that is killed may have sent a range of which its record does not tell any more: that others were fed it says all of it but its transactions. Of these only such matter of which somebody was told later that they are
 * committed, and which are in no range that is told: they are in the first of those. It stands at the end of that record, so a range that is missing from the middle of one is still missing.
 */
function addLostShips(runs: ReadonlyMap<string, Run>, events: readonly TraceEvent[]): void {
  const told = new Set<EntryLabel>();
  const lost = new Map<EntryLabel, Feed>();
  const last = new Map<string, Ship>();
  for (const event of events) {
    if (event.layer !== 'apply' || event.name !== 'Ship') continue;
    told.add(event.label);
    const client = clientOf(event.label);
    if ((last.get(client)?.seq ?? 0) < event.seq) last.set(client, event);
  }
  for (const event of events)
    if (event.layer === 'apply' && event.name === 'Feed' && !told.has(event.label))
      lost.set(event.label, event);
  const unaccounted = committedElsewhere(events);
  for (const feed of [...lost.values()].sort((a, b) => a.start - b.start)) {
    const ship = last.get(clientOf(feed.label));
    const run = ship === undefined ? undefined : runs.get(ship.run);
    if (ship === undefined || run === undefined) continue;
    const before = run.waiting.at(-1) as ApplyEvent;
    const { label, leadership, timeline, start, end } = feed;
    const { seq, atUs } = before;
    const commits = [...(unaccounted.get(ballotLabel(leadership)) ?? [])];
    unaccounted.delete(ballotLabel(leadership));
    run.waiting.push({ ...ship, seq: seq + 1, atUs, label, leadership, timeline, start, end, commits });
  }
}

/** By leadership: of which somebody was told that they are committed, though no range that is told has them. */
function committedElsewhere(events: readonly TraceEvent[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const event of events) {
    if (event.layer !== 'apply' || event.name !== 'TellOutcome' || event.outcome !== 'committed') continue;
    const key = ballotLabel(event.leadership);
    found.set(key, (found.get(key) ?? new Set()).add(event.xid));
  }
  for (const event of events)
    if (event.layer === 'apply' && event.name === 'Ship')
      for (const xid of event.commits) found.get(ballotLabel(event.leadership))?.delete(xid);
  return found;
}

/** A proposal's label begins with the name of the process that made it. */
function clientOf(label: EntryLabel): string {
  return label.slice(0, label.lastIndexOf('/'));
}

/** Where each leader's own first entry stands, by its label. */
function startSlots(events: readonly TraceEvent[]): ReadonlyMap<EntryLabel, number> {
  const starts = new Map<EntryLabel, number>();
  for (const event of events) {
    if (event.layer !== 'consensus') continue;
    for (const [slot, , label] of event.votes ?? []) if (label.startsWith('start:')) starts.set(label, slot);
  }
  return starts;
}

function leadershipChange(
  run: Run,
  event: ConsensusEvent,
  starts: ReadonlyMap<EntryLabel, number>,
): ApplyItem[] {
  const { role, ballot } = event.state;
  const isLeader = role === 'leader';
  if (run.leads !== null && isLeader && sameBallot(run.leads, ballot)) return [];
  const items: ApplyItem[] = [];
  if (run.leads !== null) items.push({ kind: 'resigned', replica: run.host, leadership: run.leads });
  run.leads = isLeader ? ballot : null;
  const startSlot = starts.get(`start:${ballot.round}.${ballot.replica}`);
  if (isLeader && startSlot !== undefined)
    items.push({ kind: 'elected', replica: run.host, leadership: ballot, startSlot });
  return items;
}
