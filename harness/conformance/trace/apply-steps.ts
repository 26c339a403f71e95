/**
 * Turns what happened in a group into steps of specs/TraceOrderedApply.tla.
 *
 * Responsible for: what no event tells, put in where an event shows that it happened: what a primary wrote and flushed, slots without commands, elections and choices before their consequences, the
 * ends of processes. Judges nothing: TLC does, and it judges what was put in like the rest, so a mistake here can reject a good run, but not accept a bad one. Pure.
 */
import { sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types.ts';
import type { ApplyEvent, ApplyEventItem, ApplyItem } from './apply-event.ts';
import { eventFields, noParameters, type Fields } from './apply-fields.ts';
import { factsOf, type ApplyFacts } from './apply-facts.ts';

export interface ApplyStep {
  readonly action: string;
  readonly fields: Fields;
  /** Null: put in. */
  readonly event: ApplyEventItem | null;
}

export interface ApplySteps {
  readonly steps: readonly ApplyStep[];
  readonly facts: ApplyFacts;
  readonly founder: ReplicaId | null;
}

/** So many steps after one another without forgetting what every directory has. */
const STEPS_BETWEEN_FORGETTING = 200;

/** What is known of a replica. `wal`, `flushed`: where the WAL of a primary ends, and how far it is flushed. */
interface Track {
  isUp: boolean;
  isPrimary: boolean;
  leads: Ballot | null;
  timeline: number;
  folded: number;
  durable: number;
  wal: number;
  flushed: number;
}

interface Conversion {
  readonly items: readonly ApplyItem[];
  readonly facts: ApplyFacts;
  readonly steps: ApplyStep[];
  readonly tracks: Map<ReplicaId, Track>;
  /** Items that are taken already, out of turn. */
  readonly taken: Set<ApplyItem>;
  top: number;
  elected: number;
  forgottenAt: number;
}

export function applySteps(items: readonly ApplyItem[]): ApplySteps {
  const conversion: Conversion = {
    items,
    facts: factsOf(items),
    steps: [],
    tracks: new Map(),
    taken: new Set(),
    top: 0,
    elected: 0,
    forgottenAt: 0,
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

function put(
  { steps }: Conversion,
  action: string,
  fields: Fields,
  event: ApplyEventItem | null = null,
): void {
  steps.push({ action, fields, event });
}

function trackOf({ tracks }: Conversion, replica: ReplicaId): Track {
  const known = tracks.get(replica);
  if (known !== undefined) return known;
  const track: Track = {
    isUp: false,
    isPrimary: false,
    leads: null,
    timeline: 0,
    folded: 0,
    durable: 0,
    wal: 0,
    flushed: 0,
  };
  tracks.set(replica, track);
  return track;
}

function take(conversion: Conversion, item: ApplyItem, index: number): void {
  if (conversion.taken.has(item)) return;
  conversion.taken.add(item);
  switch (item.kind) {
    case 'begins': {
      if (trackOf(conversion, item.replica).isUp) endProcess(conversion, item.replica, index);
      put(conversion, 'Restart', { r: conversion.facts.replicaRank(item.replica), p: 0 });
      const track = trackOf(conversion, item.replica);
      Object.assign(track, { isUp: true, isPrimary: false, leads: null, folded: track.durable });
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

function endProcess(conversion: Conversion, replica: ReplicaId, index: number): void {
  const track = trackOf(conversion, replica);
  if (!track.isUp) return;
  writeWhatIsFoundLater(conversion, replica, index);
  put(conversion, 'CrashNode', { r: conversion.facts.replicaRank(replica) });
  Object.assign(track, { isUp: false, isPrimary: false, leads: null });
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
  const { facts, items, taken } = conversion;
  for (; conversion.top < slot; conversion.top++) {
    const s = conversion.top + 1;
    const label = facts.labelAt(s);
    if (label === undefined) return;
    const proposal = items.find((item) => isProposalOf(item, label));
    if (proposal?.kind === 'event' && !taken.has(proposal)) {
      takeEarlierOf(conversion, proposal);
      take(conversion, proposal, items.indexOf(proposal));
    }
    const start = /^start:(\d+)\.([^/]+)$/.exec(label);
    const b =
      start === null ? 0 : facts.ballotRank({ round: Number(start[1]), replica: start[2] as ReplicaId });
    const k = start !== null ? 'leaderStart' : proposal === undefined ? 'other' : 'wal';
    put(conversion, 'Choose', { s, l: label, k, b });
  }
}

function isProposalOf(item: ApplyItem, label: EntryLabel): boolean {
  if (item.kind !== 'event') return false;
  const { event } = item;
  return (event.name === 'Ship' || event.name === 'ProposeLeadership') && event.label === label;
}

/** Entries that hold no command: nobody records that they are folded in. */
function holdsNoCommand(label: EntryLabel | undefined): boolean {
  return label !== undefined && /^(noop$|start:|members:)/.test(label);
}

/** Folds in what lies below `slot` and has no event of its own; at a leader, its own ranges as well. */
function foldBelow(conversion: Conversion, replica: ReplicaId, slot: number): void {
  const track = trackOf(conversion, replica);
  chooseUpTo(conversion, slot - 1);
  while (track.folded + 1 < slot) {
    const s = track.folded + 1;
    const label = conversion.facts.labelAt(s);
    const r = conversion.facts.replicaRank(replica);
    if (holdsNoCommand(label)) put(conversion, 'Skip', { r, s, l: label ?? '' });
    else if (track.isPrimary && track.leads !== null) put(conversion, 'Release', { r, s, p: 0 });
    else return;
    track.folded = s;
  }
}

/** An event says that everything up to `slot` is folded in. */
function foldUpTo(conversion: Conversion, replica: ReplicaId, slot: number): void {
  if (holdsNoCommand(conversion.facts.labelAt(slot))) foldBelow(conversion, replica, slot + 1);
}

/** What a primary has in its WAL up to `end` it has written, and flushed. */
function writeUpTo(
  conversion: Conversion,
  replica: ReplicaId,
  end: number,
  commits: readonly string[] = [],
): void {
  const { facts } = conversion;
  const track = trackOf(conversion, replica);
  const b = track.leads === null ? 0 : facts.ballotRank(track.leads);
  const ends = facts.unitEnds(track.wal, end);
  const asked = commits
    .filter((xid) => track.leads !== null && facts.isAsked(track.leads, xid))
    .map((xid) => facts.xidRank(xid));
  const units = ends.map((position) => ({
    b,
    w: facts.isWhole(track.timeline, position),
    c: position === end ? asked : [],
  }));
  if (units.length > 0) put(conversion, 'Write', { r: facts.replicaRank(replica), units });
  track.wal = Math.max(track.wal, end);
  if (end <= track.flushed) return;
  put(conversion, 'LocalFlush', { r: facts.replicaRank(replica), p: facts.positionRank(end) });
  track.flushed = end;
}

/** A primary stops. What its directory is found to hold later, it has written before. */
function writeWhatIsFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const track = trackOf(conversion, replica);
  if (!track.isPrimary) return;
  for (const item of conversion.items.slice(index + 1)) {
    if (item.kind !== 'event' || item.replica !== replica) continue;
    const { event } = item;
    if (event.name === 'Resume' || event.name === 'CheckPrefix') {
      if (event.position > track.wal) writeUpTo(conversion, replica, event.position);
      return;
    }
    if (event.name === 'DatabaseUp' || event.name === 'BeginCopy') return;
  }
}

function takeEvent(conversion: Conversion, item: ApplyEventItem, index: number): void {
  const { event, replica } = item;
  const { facts } = conversion;
  if (event.name === 'Depose' && facts.ballotRank(event.leadership) === 0) return;
  prepare(conversion, item, index);
  const r = facts.replicaRank(replica);
  put(conversion, event.name, { ...noParameters, ...eventFields(event, facts), r }, item);
  follow(trackOf(conversion, replica), event);
  if (event.name === 'Resume') writeUpTo(conversion, replica, event.position);
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
  const told = items.findIndex(
    (item) => item.kind === 'event' && item.replica === replica && isDepose(item.event, leadership),
  );
  if (told > index) {
    take(conversion, items[told] as ApplyItem, told);
    return;
  }
  writeWhatIsFoundLater(conversion, replica, index);
  put(conversion, 'Depose', {
    r: facts.replicaRank(replica),
    b: facts.ballotRank(leadership),
    p: 0,
  });
  Object.assign(track, { isPrimary: false, leads: null });
}

function isDepose(event: ApplyEvent, leadership: Ballot): boolean {
  return event.name === 'Depose' && sameBallot(event.leadership, leadership);
}

/** Puts in what must have happened before this event. */
function prepare(conversion: Conversion, { event, replica }: ApplyEventItem, index: number): void {
  const track = trackOf(conversion, replica);
  switch (event.name) {
    case 'Release':
    case 'Feed':
    case 'Skip':
    case 'BeginLeadership':
      foldBelow(conversion, replica, event.slot);
      chooseUpTo(conversion, event.slot);
      return;
    case 'FlushStandby':
    case 'Open':
    case 'DatabaseUp':
      foldUpTo(conversion, replica, event.slot);
      return;
    case 'CheckPrefix':
      chooseUpTo(conversion, event.slot);
      if (event.outcome !== 'standby') foldUpTo(conversion, replica, event.slot);
      return;
    case 'EndCopy':
      chooseUpTo(conversion, event.slot);
      return;
    case 'ProposeLeadership':
      foldOwnStart(conversion, replica);
      if (track.isPrimary && !event.resumes) writeUpTo(conversion, replica, event.fork);
      return;
    case 'Resume':
      foldOwnStart(conversion, replica);
      return;
    case 'Ship':
      writeUpTo(conversion, replica, event.end, event.commits);
      return;
    case 'Depose':
    case 'DatabaseDown':
      writeWhatIsFoundLater(conversion, replica, index);
      return;
    default:
  }
}

/** A new leader has folded in its own first entry: everything up to it has events, or holds no command. */
function foldOwnStart(conversion: Conversion, replica: ReplicaId): void {
  const { leads, folded } = trackOf(conversion, replica);
  const start = conversion.items.find(
    (item) => item.kind === 'elected' && item.replica === replica && item.leadership === leads,
  );
  if (start?.kind === 'elected' && start.startSlot > folded) foldUpTo(conversion, replica, start.startSlot);
}

/** What the event tells of its replica from now on. */
function follow(track: Track, event: ApplyEvent): void {
  if ('timeline' in event) track.timeline = event.timeline;
  if ('slot' in event && event.name !== 'Purge' && event.name !== 'FlushStandby') {
    if (event.name !== 'CheckPrefix' || event.outcome === 'standby') track.folded = event.slot;
  }
  switch (event.name) {
    case 'FlushStandby':
      track.durable = event.slot;
      return;
    case 'CheckPrefix':
    case 'EndCopy':
      if (event.name === 'EndCopy' || event.outcome === 'standby') track.durable = event.slot;
      return;
    case 'Promote':
      Object.assign(track, { isPrimary: true, wal: event.fork, flushed: event.fork });
      return;
    case 'Resume':
      Object.assign(track, { isPrimary: true, flushed: track.wal });
      return;
    case 'DatabaseUp':
      track.isPrimary = event.role === 'founder';
      return;
    case 'Depose':
      Object.assign(track, { isPrimary: false, leads: null });
      return;
    case 'DatabaseDown':
      track.isPrimary = false;
      return;
    default:
  }
}
