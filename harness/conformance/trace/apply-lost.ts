/**
 * What a process did in its last moments, was killed, and did not tell: its directory tells it when the next one begins.
 *
 * Judges nothing: TLC does, and it judges what was put in like the rest. Pure.
 */
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent } from './apply-event.ts';
import { eventFields, noParameters } from './apply-fields.ts';
import { holdsNoCommand, put, trackOf, type Conversion } from './apply-fill.ts';
import { follow } from './apply-track.ts';

/** PostgreSQL was promoted: its directory has WAL of the new timeline. */
export function promoteIfFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const { facts } = conversion;
  const track = trackOf(conversion, replica);
  const found = foundFirst(conversion, replica, index);
  if (track.mode !== 'standby' || track.begun === null || found?.name !== 'CheckPrefix') return;
  const { leadership, timeline, fork } = track.begun;
  if (found.timeline !== timeline) return;
  const promote: ApplyEvent = { ...track.begun, name: 'Promote', leadership, timeline, fork };
  const r = facts.replicaRank(replica);
  put(conversion, 'Promote', { ...noParameters, ...eventFields(promote, facts), r });
  follow(track, promote);
}

/** The directory said that it was so far: there the next process folds on. */
export function saveWhatIsFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const track = trackOf(conversion, replica);
  let slot = foldedOnFrom(foundFirst(conversion, replica, index));
  while (holdsNoCommand(conversion.facts.labelAt(slot))) slot -= 1;
  if (slot <= track.durable || slot > track.folded) return;
  put(conversion, 'Save', { r: conversion.facts.replicaRank(replica), s: slot });
  track.durable = slot;
}

/** What is told first of the directory behind the end of its PostgreSQL, or of the process of its replica, at `index`; null: nothing. */
export function foundFirst({ items }: Conversion, replica: ReplicaId, index: number): ApplyEvent | null {
  for (const item of items.slice(index + 1)) {
    if (item.kind === 'chosen' || item.replica !== replica) continue;
    if (item.kind === 'begins') return null;
    if (item.kind === 'event' && item.event.name !== 'Purge' && item.event.name !== 'DatabaseDown')
      return item.event;
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
