/**
 * What a process did in its last moments, was killed, and did not tell: its directory tells it when the next one begins.
 *
 * Judges nothing: TLC does, and it judges what was put in like the rest. Pure.
 */
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { ApplyEvent, ApplyEventItem, ApplyItem } from './apply-event.ts';
import type { ApplyFacts } from './apply-facts.ts';
import { eventFields, noParameters } from './apply-fields.ts';
import { holdsNoCommand, put, trackOf, type Conversion } from './apply-fill.ts';
import { follow } from './apply-track.ts';

/** Events that say nothing of the directory as it was found. */
const saysNothingOfIt: ReadonlySet<ApplyEvent['name']> = new Set([
  'Purge',
  'DatabaseDown',
  'AskOutcome',
  'TellOutcome',
]);

type ToldEnd = ApplyEventItem & { readonly event: Extract<ApplyEvent, { name: 'EndCopy' }> };

/** PostgreSQL was promoted: its directory has WAL of the new timeline. */
export function promoteIfFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const { facts } = conversion;
  const track = trackOf(conversion, replica);
  const found = foundFirst(conversion, replica, index);
  if (track.mode !== 'standby' || track.begun === null || found?.name !== 'CheckPrefix') return;
  const { leadership, timeline, fork } = track.begun;
  if (found.timeline !== timeline) return;
  sendIfToldLater(conversion, replica, index);
  const promote: ApplyEvent = { ...track.begun, name: 'Promote', leadership, timeline, fork };
  const r = facts.replicaRank(replica);
  put(conversion, 'Promote', { ...noParameters, ...eventFields(promote, facts), r });
  follow(track, promote);
  markIfFoundLater(conversion, replica, index);
}

/** The directory said `primary` in place of `promoting`, as it does when PostgreSQL has been promoted: before clients are let in, or when it looks whether to go on as one. */
export function markIfFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const track = trackOf(conversion, replica);
  if (track.role !== 'promoting') return;
  for (const item of conversion.items.slice(index + 1)) {
    if (item.kind !== 'event' || item.replica !== replica) continue;
    const { event } = item;
    if (event.name === 'Open' || event.name === 'Resume' || event.name === 'BeginCopy') return;
    if (event.name === 'CheckPrefix' && event.outcome === 'standby') return;
    if (event.name !== 'BeginLeadership') continue;
    if (event.role !== 'primary') return;
    put(conversion, 'MarkPrimary', { r: conversion.facts.replicaRank(replica) });
    track.role = 'primary';
    return;
  }
}

/** All of a copy was sent before its source was promoted or ended: it is told as whole later. */
export function sendIfToldLater(conversion: Conversion, source: ReplicaId, index: number): void {
  for (const [copying, track] of conversion.tracks) {
    if (track.copies !== source) continue;
    const told = endOfCopy(conversion, copying, index);
    if (told === null || replicaOf(told.event.source) !== source) continue;
    conversion.chooseUpTo(told.event.slot);
    const { facts, items } = conversion;
    const fields = {
      ...eventFields(told.event, facts),
      n: foundInCopy(conversion, copying, items.indexOf(told)),
    };
    put(conversion, 'SendCopy', { ...noParameters, ...fields, r: facts.replicaRank(copying) });
    track.copies = null;
  }
}

/** Null: the copy that is under way is not told as whole. */
function endOfCopy({ items }: Conversion, replica: ReplicaId, index: number): ToldEnd | null {
  for (const item of items.slice(index + 1)) {
    if (item.kind === 'chosen' || item.replica !== replica) continue;
    if (item.kind === 'begins') return null;
    if (item.kind !== 'event') continue;
    if (item.event.name === 'BeginCopy') return null;
    if (item.event.name === 'EndCopy') return item as ToldEnd;
  }
  return null;
}

/** Where the WAL of a copied directory ends, by what its standby says first; 0: it does not say. */
export function foundInCopy({ items, facts }: Conversion, replica: ReplicaId, index: number): number {
  for (const item of items.slice(index + 1)) {
    if (item.kind !== 'event' || item.replica !== replica) continue;
    const { event } = item;
    if (event.name === 'BeginCopy') return 0;
    if (event.name === 'Replay') return facts.positionRank(Math.max(event.flushed, event.replayed));
  }
  return 0;
}

/** The directory of a primary, or of one that was to be, was found to hold chosen WAL only, and said `standby`: as one it is started later. */
export function checkIfFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const { facts, items } = conversion;
  const track = trackOf(conversion, replica);
  if (track.mode !== 'down' || (track.role !== 'primary' && track.role !== 'promoting')) return;
  if (!isStandbyFirst(items.slice(index + 1), replica)) return;
  const slot = heldSlot(facts, foldedOnFrom(foundFirst(conversion, replica, index)));
  conversion.chooseUpTo(slot);
  put(conversion, 'Checked', { r: facts.replicaRank(replica), s: slot });
  Object.assign(track, { role: 'standby', durable: slot });
}

/** What is told first of the directory's role. */
function isStandbyFirst(later: readonly ApplyItem[], replica: ReplicaId): boolean {
  for (const item of later) {
    if (item.kind === 'chosen' || item.replica !== replica) continue;
    if (item.kind === 'begins') return false;
    if (item.kind !== 'event') continue;
    const { event } = item;
    if (event.name === 'CheckPrefix' || event.name === 'Resume' || event.name === 'BeginCopy') return false;
    if (event.name === 'DatabaseUp' || event.name === 'BeginLeadership') return event.role === 'standby';
  }
  return false;
}

/** The directory said that it was so far: there the next process folds on. */
export function saveWhatIsFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const track = trackOf(conversion, replica);
  const slot = heldSlot(conversion.facts, foldedOnFrom(foundFirst(conversion, replica, index)));
  if (slot <= track.durable || slot > track.folded) return;
  put(conversion, 'Save', { r: conversion.facts.replicaRank(replica), s: slot });
  track.durable = slot;
}

/** The last slot up to this one with a command: what lies between leaves no trace in a directory. */
function heldSlot({ labelAt }: ApplyFacts, upTo: number): number {
  let slot = upTo;
  while (holdsNoCommand(labelAt(slot))) slot -= 1;
  return slot;
}

/** What is told first of the directory behind the end of its PostgreSQL, or of the process of its replica, at `index`; null: nothing. */
export function foundFirst({ items }: Conversion, replica: ReplicaId, index: number): ApplyEvent | null {
  for (const item of items.slice(index + 1)) {
    if (item.kind === 'chosen' || item.replica !== replica) continue;
    if (item.kind === 'begins') return null;
    if (item.kind === 'event' && !saysNothingOfIt.has(item.event.name)) return item.event;
  }
  return null;
}

/** What its process finds first when it looks at the WAL of a primary's directory, whatever it has folded in before; null: it does not look, or ends before. */
export function checkedFirst(
  { items }: Conversion,
  replica: ReplicaId,
  index: number,
): Extract<ApplyEvent, { name: 'CheckPrefix' }> | null {
  for (const item of items.slice(index + 1)) {
    if (item.kind === 'chosen' || item.replica !== replica) continue;
    if (item.kind === 'begins') return null;
    if (item.kind !== 'event') continue;
    const { event } = item;
    if (event.name === 'CheckPrefix') return event;
    if (event.name === 'DatabaseUp' || event.name === 'BeginCopy' || event.name === 'EndCopy') return null;
  }
  return null;
}

/** 0: it does not show it. */
function foldedOnFrom(first: ApplyEvent | null): number {
  if (first === null) return 0;
  if (first.name === 'Feed' || first.name === 'Skip' || first.name === 'BeginLeadership')
    return first.slot - 1;
  return first.name === 'CheckPrefix' || first.name === 'DatabaseUp' ? first.slot : 0;
}
