/**
 * What a process did in its last moments, was killed, and did not tell: its directory tells it when the next one begins.
 *
 * Judges nothing: TLC does, and it judges what was put in like the rest. Pure.
 */
import { sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent } from './apply-event.ts';
import { sendIfToldLater } from './apply-copies.ts';
import { eventFields, noParameters } from './apply-fields.ts';
import { put, resume, trackOf, type Conversion } from './apply-fill.ts';
import { checkedFirst, isStandbyFirst, savedSlot } from './apply-found.ts';
import { foldBelow, foldOwnStart } from './apply-prepare.ts';
import { follow } from './apply-track.ts';

/** Its own leadership was chosen and folded in: its directory, a standby's till then, said that it was to be promoted. One that never was may have its timeline's number taken by the next. */
export function beginIfFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const { facts, items } = conversion;
  const track = trackOf(conversion, replica);
  const { leads } = track;
  if (track.role !== 'standby' || leads === null) return;
  if (checkedFirst(conversion, replica, index, { isSoon: false }) === null) return;
  const proposal = items.find(
    (item) =>
      item.kind === 'event' &&
      item.event.name === 'ProposeLeadership' &&
      sameBallot(item.event.leadership, leads),
  );
  if (proposal?.kind !== 'event' || proposal.event.name !== 'ProposeLeadership') return;
  const { label } = proposal.event;
  const slot = facts.slotOf(label) as Slot;
  if (slot === 0) return;
  const isTold = items.some(
    (item) =>
      item.kind === 'event' &&
      item.replica === replica &&
      item.event.name === 'BeginLeadership' &&
      item.event.label === label,
  );
  if (isTold) return;
  const begin: ApplyEvent = { ...proposal.event, name: 'BeginLeadership', slot, role: 'promoting' };
  foldBelow(conversion, replica, slot);
  conversion.chooseUpTo(slot);
  const r = facts.replicaRank(replica);
  put(conversion, 'BeginLeadership', { ...noParameters, ...eventFields(begin, facts), r });
  follow(track, begin);
}

/** PostgreSQL was promoted: its directory has WAL of the new timeline. */
export function promoteIfFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const { facts } = conversion;
  const track = trackOf(conversion, replica);
  if (track.mode !== 'standby' || track.begun === null) return;
  const { leadership, timeline, fork } = track.begun;
  const found = checkedFirst(conversion, replica, index, { isSoon: false });
  if (found?.timeline !== timeline) return;
  sendIfToldLater(conversion, replica, index);
  const promote: ApplyEvent = { ...track.begun, name: 'Promote', leadership, timeline, fork };
  const r = facts.replicaRank(replica);
  put(conversion, 'Promote', { ...noParameters, ...eventFields(promote, facts), r });
  follow(track, promote);
  markIfFoundLater(conversion, replica, index);
}

/**
 * A leader's PostgreSQL came up as a primary again, and ended, before it was told: its directory has more than was found in it. True: that is so.
 */
export function resumeIfFoundLater(conversion: Conversion, replica: ReplicaId, index: number): boolean {
  const track = trackOf(conversion, replica);
  const { leads, checked, role, timeline } = track;
  if (track.mode !== 'down' || leads === null || checked === null) return false;
  if (role !== 'primary' && role !== 'promoting') return false;
  const found = checkedFirst(conversion, replica, index, { isSoon: false });
  if (
    found === null ||
    found.timeline !== timeline ||
    found.position <= Math.max(track.wal, checked.position)
  )
    return false;
  foldOwnStart(conversion, replica);
  const { position } = checked;
  resume(conversion, replica, { ...found, name: 'Resume', leadership: leads, position });
  return true;
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

/** The directory of a primary, or of one that was to be, was found to hold chosen WAL only, and said `standby`: as one it is started later. */
export function checkIfFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const { facts, items } = conversion;
  const track = trackOf(conversion, replica);
  if (track.mode !== 'down' || (track.role !== 'primary' && track.role !== 'promoting')) return;
  if (!isStandbyFirst(items.slice(index + 1), replica, { isSoon: true })) return;
  const slot = savedSlot(conversion, replica, index, { isSoon: true });
  conversion.chooseUpTo(slot);
  put(conversion, 'Checked', { r: facts.replicaRank(replica), s: slot });
  Object.assign(track, { role: 'standby', durable: slot });
}

/** The directory said that it was so far: there the next process folds on. */
export function saveWhatIsFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const track = trackOf(conversion, replica);
  const slot = savedSlot(conversion, replica, index, { isSoon: true });
  if (slot <= track.durable) return;
  foldBelow(conversion, replica, slot + 1);
  if (slot > track.folded) return;
  put(conversion, 'Save', { r: conversion.facts.replicaRank(replica), s: slot });
  track.durable = slot;
}
