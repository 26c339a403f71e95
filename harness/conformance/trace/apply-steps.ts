/**
 * Turns what happened in a group into steps of specs/TraceOrderedApply.tla.
 *
 * Responsible for: what no event tells, put in where an event shows that it happened: what a primary wrote and flushed, slots without commands, elections and choices before their consequences, the
 * ends of processes. Judges nothing: TLC does, and it judges what was put in like the rest, so a mistake here can reject a good run, but not accept a bad one. Pure.
 */
import { sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { segmentBytes, type Lsn } from '../../../server/src/wal/lsn.ts';
import type { ApplyEvent, ApplyEventItem, ApplyItem } from './apply-event.ts';
import { eventFields, noParameters, type Fields } from './apply-fields.ts';
import { factsOf, type ApplyFacts } from './apply-facts.ts';
import {
  addWhatIsFoundLater,
  put,
  resume,
  trackOf,
  writeUpTo,
  type ApplyStep,
  type Conversion,
} from './apply-fill.ts';
import { copyIfFoundLater, foundInCopy, sendIfToldLater } from './apply-copies.ts';
import { checkedFirst } from './apply-found.ts';
import {
  beginIfFoundLater,
  checkIfFoundLater,
  markIfFoundLater,
  promoteIfFoundLater,
  resumeIfFoundLater,
  saveWhatIsFoundLater,
} from './apply-lost.ts';
import { prepare } from './apply-prepare.ts';
import { follow, type Track } from './apply-track.ts';

export interface ApplySteps {
  readonly steps: readonly ApplyStep[];
  readonly facts: ApplyFacts;
  readonly founder: ReplicaId | null;
}

/** So many steps after one another without forgetting what every directory has. */
const STEPS_BETWEEN_FORGETTING = 200;

export function applySteps(items: readonly ApplyItem[]): ApplySteps {
  const conversion: Conversion = {
    items,
    facts: factsOf(items),
    steps: [],
    tracks: new Map(),
    taken: new Set(),
    proposals: proposalsIn(items),
    top: 0,
    elected: 0,
    forgottenAt: 0,
    chooseUpTo: (slot) => chooseUpTo(conversion, slot),
  };
  items.forEach((item, index) => {
    take(conversion, item, index);
    if (conversion.steps.length - conversion.forgottenAt < STEPS_BETWEEN_FORGETTING) return;
    put(conversion, 'Forget', {});
    conversion.forgottenAt = conversion.steps.length;
  });
  const founder = items.find(
    (item) => item.kind === 'event' && item.event.name === 'DatabaseUp' && item.event.role === 'founder',
  );
  return {
    steps: conversion.steps,
    facts: conversion.facts,
    founder: founder?.kind === 'event' ? founder.replica : null,
  };
}

function proposalsIn(items: readonly ApplyItem[]): ReadonlyMap<EntryLabel, number> {
  const found = new Map<EntryLabel, number>();
  items.forEach((item, index) => {
    if (item.kind !== 'event') return;
    const { event } = item;
    if (event.name === 'Ship' || event.name === 'ProposeLeadership') found.set(event.label, index);
  });
  return found;
}

function take(conversion: Conversion, item: ApplyItem, index: number): void {
  if (conversion.taken.has(item)) return;
  conversion.taken.add(item);
  switch (item.kind) {
    case 'begins': {
      if (trackOf(conversion, item.replica).isUp) endProcess(conversion, item.replica, index);
      putRestart(conversion, item.replica, index);
      const track = trackOf(conversion, item.replica);
      Object.assign(track, { isUp: true, mode: 'down', leads: null, begun: null, folded: track.durable });
      return;
    }
    case 'elected':
      elect(conversion, conversion.facts.ballotRank(item.leadership));
      return;
    case 'resigned':
      depose(conversion, item, index);
      return;
    case 'chosen':
      chooseUpTo(conversion, item.slot);
      return;
    case 'event':
      takeEvent(conversion, item, index);
      return;
    default:
      return item satisfies never;
  }
}

/** With the machine went what was written and not flushed: not all may be there of what was found before. Part of a record at the end, which no look at a directory counts, may be there all the same. */
function putRestart(conversion: Conversion, replica: ReplicaId, index: number): void {
  const { facts } = conversion;
  const track = trackOf(conversion, replica);
  const found = checkedFirst(conversion, replica, index, { isSoon: true });
  const whole = track.checked?.of === track.wal ? track.checked.position : track.wal;
  const isLess =
    found !== null &&
    found.position < whole &&
    facts.unitEnds(found.position, whole).some((end) => facts.isWhole(track.timeline, end));
  put(conversion, 'Restart', {
    r: facts.replicaRank(replica),
    p: isLess ? facts.positionRank(found.position) : 0,
  });
  if (isLess) track.wal = found.position;
}

function endProcess(conversion: Conversion, replica: ReplicaId, index: number): void {
  const track = trackOf(conversion, replica);
  if (!track.isUp) return;
  beginIfFoundLater(conversion, replica, index);
  promoteIfFoundLater(conversion, replica, index);
  resumeIfFoundLater(conversion, replica, index);
  sendIfToldLater(conversion, replica, index);
  addWhatIsFoundLater(conversion, replica, index);
  checkIfFoundLater(conversion, replica, index);
  copyIfFoundLater(conversion, replica, index);
  saveWhatIsFoundLater(conversion, replica, index);
  put(conversion, 'CrashNode', { r: conversion.facts.replicaRank(replica) });
  Object.assign(track, { isUp: false, mode: 'down', leads: null });
}

/** Elections up to this one, in the order of their ballots. */
function elect(conversion: Conversion, rank: number): void {
  const { facts, items } = conversion;
  while (conversion.elected < rank) {
    const next = conversion.elected + 1;
    conversion.elected = next;
    const item = items.find((one) => one.kind === 'elected' && facts.ballotRank(one.leadership) === next);
    if (item?.kind !== 'elected') return;
    takeEarlierOf(conversion, item);
    conversion.taken.add(item);
    put(conversion, 'Elect', { r: facts.replicaRank(item.replica), s: item.startSlot, b: next });
    trackOf(conversion, item.replica).leads = item.leadership;
  }
}

/** What the replica did before this item, if that is not taken yet. */
function takeEarlierOf(conversion: Conversion, item: Exclude<ApplyItem, { kind: 'chosen' }>): void {
  const { items, taken } = conversion;
  const index = items.indexOf(item);
  for (let i = 0; i < index; i++) {
    const earlier = items[i] as ApplyItem;
    if (earlier.kind !== 'chosen' && earlier.replica === item.replica && !taken.has(earlier))
      take(conversion, earlier, i);
  }
}

/** What stands in this slot and below is chosen: an event shows it, or the consensus layer does. */
function chooseUpTo(conversion: Conversion, slot: number): void {
  const { facts, items, taken, proposals } = conversion;
  for (; conversion.top < slot; conversion.top++) {
    const s = conversion.top + 1;
    const label = facts.labelAt(s);
    if (label === undefined) return;
    const index = proposals.get(label);
    const proposal = index === undefined ? undefined : items[index];
    if (index !== undefined && proposal?.kind === 'event' && !taken.has(proposal)) {
      takeEarlierOf(conversion, proposal);
      take(conversion, proposal, index);
    }
    const start = /^start:(\d+)\.([^/]+)$/.exec(label);
    const b =
      start === null ? 0 : facts.ballotRank({ round: Number(start[1]), replica: start[2] as ReplicaId });
    const k = start !== null ? 'leaderStart' : proposal === undefined ? 'other' : 'wal';
    put(conversion, 'Choose', { s, l: label, k, b });
  }
}

/**
 * Replaying a switch of segments leads to the segment's end at once, though the empty rest of it may not be chosen yet: there is nothing in it, so it counts as far as it is.
 */
function withoutEmptyRest(event: ApplyEvent, { chosenEnd }: Track): ApplyEvent {
  if (event.name !== 'Replay') return event;
  const within = (position: Lsn): Lsn =>
    (position % segmentBytes === 0 ? Math.min(position, chosenEnd) : position) as Lsn;
  return { ...event, flushed: within(event.flushed), replayed: within(event.replayed) };
}

function takeEvent(conversion: Conversion, item: ApplyEventItem, index: number): void {
  const { replica } = item;
  const { facts } = conversion;
  const track = trackOf(conversion, replica);
  const event = withoutEmptyRest(item.event, track);
  if (item.event.name === 'Replay')
    track.restTo = Math.max(track.restTo, item.event.replayed % segmentBytes === 0 ? item.event.replayed : 0);
  if (event.name === 'Depose' && facts.ballotRank(event.leadership) === 0) return;
  prepare(conversion, item, index);
  if (event.name === 'Resume') {
    resume(conversion, replica, event, item);
    writeUpTo(conversion, replica, event.position);
    return;
  }
  const r = facts.replicaRank(replica);
  const more: Fields =
    event.name === 'EndCopy'
      ? { n: foundInCopy(conversion, replica, index) }
      : event.name === 'ProposeLeadership'
        ? { rest: track.mode === 'standby' && facts.isRest(event.timeline - 1, event.fork) }
        : item.event.name === 'Replay'
          ? {
              saidFlushed: facts.positionRank(item.event.flushed),
              saidReplayed: facts.positionRank(item.event.replayed),
            }
          : event.name === 'Depose'
            ? { told: true }
            : event.name === 'Purge'
              ? {
                  members: new Set((item.told?.members ?? facts.replicas).map(facts.replicaRank)),
                  base: item.told?.base ?? 0,
                }
              : {};
  put(conversion, event.name, { ...noParameters, ...eventFields(event, facts), ...more, r }, item);
  follow(trackOf(conversion, replica), event);
  if (event.name === 'Promote' || (event.name === 'CheckPrefix' && event.outcome === 'undecided'))
    markIfFoundLater(conversion, replica, index);
}

/** Leads no more from the moment on in which its core says so, though its PostgreSQL is told to have ended a little later; what never had a primary tells nothing. */
function depose(
  conversion: Conversion,
  { replica, leadership }: Extract<ApplyItem, { kind: 'resigned' }>,
  index: number,
): void {
  const { facts, items } = conversion;
  const track = trackOf(conversion, replica);
  if (track.leads === null || !sameBallot(track.leads, leadership)) return;
  beginIfToldLater(conversion, replica, index);
  // A copy may be told as whole between this word and the one of its end.
  if (track.mode === 'primary' || track.begun !== null) sendIfToldLater(conversion, replica, index);
  const told = items.findIndex(
    (item) => item.kind === 'event' && item.replica === replica && isDepose(item.event, leadership),
  );
  if (told > index) {
    take(conversion, items[told] as ApplyItem, told);
    return;
  }
  beginIfFoundLater(conversion, replica, index);
  promoteIfFoundLater(conversion, replica, index);
  const wasResumed = resumeIfFoundLater(conversion, replica, index);
  addWhatIsFoundLater(conversion, replica, index);
  put(conversion, 'Depose', {
    r: facts.replicaRank(replica),
    b: facts.ballotRank(leadership),
    p: 0,
    // Of a primary of which nothing was told it is not told either that it has ended.
    told: wasResumed,
  });
  if (track.mode === 'primary' || track.begun !== null) track.mode = 'down';
  Object.assign(track, { leads: null, begun: null });
}

/** Its directory was being marked when the core resigned: the life of the database hears of that when it is. Told then, with what the directory says. */
function beginIfToldLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const { items } = conversion;
  const { leads, role } = trackOf(conversion, replica);
  if (leads === null || role !== 'standby') return;
  const begins = (item: ApplyItem): boolean =>
    item.kind === 'event' &&
    item.event.name === 'BeginLeadership' &&
    sameBallot(item.event.leadership, leads) &&
    item.event.role !== 'standby';
  const later = items.findIndex(
    (item, at) =>
      at > index &&
      (item.kind === 'begins' || item.kind === 'event') &&
      item.replica === replica &&
      (item.kind === 'begins' || begins(item)),
  );
  const found = items[later];
  if (found !== undefined && begins(found)) take(conversion, found, later);
}

function isDepose(event: ApplyEvent, leadership: Ballot): boolean {
  return event.name === 'Depose' && sameBallot(event.leadership, leadership);
}
