/**
 * Copies of which a process did not tell that they were whole: its directory tells it later, and their sources what was sent before they ended.
 *
 * Judges nothing: TLC does, and it judges what was put in like the rest. Pure.
 */
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent } from './apply-event.ts';
import { eventFields, noParameters, type Fields } from './apply-fields.ts';
import { put, trackOf, type Conversion } from './apply-fill.ts';
import { foundFirst, isStandbyFirst, savedSlot } from './apply-found.ts';

interface CopyEnd {
  readonly source: ReplicaId;
  readonly slot: number;
  readonly fields: Fields;
}

/** All of a copy was sent before its source was promoted or ended: it is told as whole later, or found to be. */
export function sendIfToldLater(conversion: Conversion, source: ReplicaId, index: number): void {
  for (const [copying, track] of conversion.tracks) {
    if (track.copies !== source || track.isSent) continue;
    const end = endOfCopy(conversion, copying, index);
    if (end?.source !== source) continue;
    conversion.chooseUpTo(end.slot);
    put(conversion, 'SendCopy', end.fields);
    track.isSent = true;
  }
}

/** Its process was killed when all was there, and the directory said so: as a standby's it is started later. */
export function copyIfFoundLater(conversion: Conversion, replica: ReplicaId, index: number): void {
  const track = trackOf(conversion, replica);
  const end = foundCopy(conversion, replica, index);
  if (end !== null) {
    conversion.chooseUpTo(end.slot);
    put(conversion, 'Copied', end.fields);
    Object.assign(track, { role: 'standby', durable: end.slot });
  }
  track.copies = null;
}

/** Null: the copy that is under way is neither told as whole nor found to be. */
function endOfCopy(conversion: Conversion, replica: ReplicaId, index: number): CopyEnd | null {
  const { facts, items } = conversion;
  for (let i = index + 1; i < items.length; i++) {
    const item = items[i]!;
    if (item.kind === 'chosen' || item.replica !== replica) continue;
    if (item.kind === 'begins') return foundCopy(conversion, replica, i);
    if (item.kind !== 'event') continue;
    const { event } = item;
    if (event.name === 'BeginCopy') return null;
    if (event.name !== 'EndCopy') continue;
    const more = { n: foundInCopy(conversion, replica, i), r: facts.replicaRank(replica) };
    const fields = { ...noParameters, ...eventFields(event, facts), ...more };
    return { source: replicaOf(event.source), slot: event.slot, fields };
  }
  return null;
}

/** `index`: where its process ends. */
function foundCopy(conversion: Conversion, replica: ReplicaId, index: number): CopyEnd | null {
  const { facts, items } = conversion;
  const { role, copies } = trackOf(conversion, replica);
  if (role !== 'copying' || copies === null) return null;
  if (!isStandbyFirst(items.slice(index + 1), replica, { isSoon: false })) return null;
  const first = foundFirst(conversion, replica, index, { isSoon: false });
  const slot = savedSlot(conversion, replica, index, { isSoon: false });
  const fields = {
    q: facts.replicaRank(copies),
    s: slot,
    p: facts.positionRank(placeOf(first)),
    n: foundInCopy(conversion, replica, index),
    r: facts.replicaRank(replica),
  };
  return { source: copies, slot, fields };
}

/** Where the chosen WAL ended at the slot from which the log was folded on. 0: it is not told. */
function placeOf(first: ApplyEvent | null): number {
  if (first?.name === 'Feed') return first.start;
  if (first?.name === 'DatabaseUp') return first.position;
  return first?.name === 'BeginLeadership' ? first.fork : 0;
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
