/**
 * Puts in what must have happened before an event: slots that are chosen and folded in, WAL that is written or received.
 *
 * Judges nothing: TLC does, and it judges what was put in like the rest. Pure.
 */
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEventItem } from './apply-event.ts';
import { sendIfToldLater } from './apply-copies.ts';
import {
  addWhatIsFoundLater,
  holdsNoCommand,
  put,
  receive,
  trackOf,
  writeUpTo,
  type Conversion,
} from './apply-fill.ts';

/** Puts in what must have happened before this event. */
export function prepare(conversion: Conversion, { event, replica }: ApplyEventItem, index: number): void {
  const track = trackOf(conversion, replica);
  switch (event.name) {
    case 'Release':
      foldUpTo(conversion, replica, event.slot);
      if (track.folded === event.slot) return;
      foldBelow(conversion, replica, event.slot);
      conversion.chooseUpTo(event.slot);
      return;
    case 'Feed':
    case 'Skip':
    case 'BeginLeadership':
      foldAnew(conversion, replica, event.slot);
      foldBelow(conversion, replica, event.slot);
      conversion.chooseUpTo(event.slot);
      return;
    case 'FlushStandby':
      foldUpTo(conversion, replica, event.slot);
      if (track.mode === 'standby') {
        const { filledEnd } = conversion.facts;
        receive(conversion, replica, Math.min(track.restTo, filledEnd(track.chosenEnd)));
      }
      return;
    case 'Open':
      foldUpTo(conversion, replica, event.slot);
      return;
    case 'Barrier':
      foldUpTo(conversion, replica, event.slot);
      foldBelow(conversion, replica, event.slot + 1);
      return;
    case 'Replay':
      foldUpTo(conversion, replica, Math.max(event.durable, event.applied));
      return;
    case 'DatabaseUp':
      if (event.slot < track.folded) foldAnew(conversion, replica, event.slot);
      foldUpTo(conversion, replica, event.slot);
      return;
    case 'CheckPrefix':
      conversion.chooseUpTo(event.slot);
      if (event.outcome === 'standby') return;
      if (event.slot < track.folded) foldAnew(conversion, replica, event.slot);
      foldUpTo(conversion, replica, event.slot);
      return;
    case 'EndCopy':
      conversion.chooseUpTo(event.slot);
      return;
    case 'ProposeLeadership':
      foldOwnStart(conversion, replica);
      if (track.mode === 'primary' && !event.resumes) writeUpTo(conversion, replica, event.fork);
      return;
    case 'Resume':
      foldOwnStart(conversion, replica);
      return;
    case 'Ship':
      writeUpTo(conversion, replica, event.end, event.commits);
      return;
    case 'Depose':
    case 'DatabaseDown':
      if (track.mode !== 'standby' || track.begun !== null || event.name === 'DatabaseDown')
        sendIfToldLater(conversion, replica, index);
      addWhatIsFoundLater(conversion, replica, index);
      return;
    case 'Promote':
      sendIfToldLater(conversion, replica, index);
      return;
    case 'BeginCopy':
    case 'GiveUpCopy':
    case 'EndWait':
    case 'AskOutcome':
    case 'TellOutcome':
    case 'Purge':
      return;
    default:
      event satisfies never;
  }
}

/** A new leader has folded in its own first entry: everything up to it has events, or holds no command. */
export function foldOwnStart(conversion: Conversion, replica: ReplicaId): void {
  const { leads, folded } = trackOf(conversion, replica);
  const start = conversion.items.find(
    (item) => item.kind === 'elected' && item.replica === replica && item.leadership === leads,
  );
  if (start?.kind === 'elected' && start.startSlot > folded) foldUpTo(conversion, replica, start.startSlot);
}

/** Folds in what lies below `slot` and has no event of its own; at a leader, its own ranges as well. */
export function foldBelow(conversion: Conversion, replica: ReplicaId, slot: number): void {
  const track = trackOf(conversion, replica);
  conversion.chooseUpTo(slot - 1);
  while (track.folded + 1 < slot) {
    const s = track.folded + 1;
    const label = conversion.facts.labelAt(s);
    const r = conversion.facts.replicaRank(replica);
    if (holdsNoCommand(label)) put(conversion, 'Skip', { r, s, l: label ?? '' });
    else if (track.mode === 'primary' && track.leads !== null) put(conversion, 'Release', { r, s, p: 0 });
    else return;
    track.folded = s;
  }
}

/** A slot is folded in once more: its Node has looked at the directory again. */
function foldAnew(conversion: Conversion, replica: ReplicaId, slot: number): void {
  const track = trackOf(conversion, replica);
  if (slot > track.folded || track.mode !== 'down') return;
  put(conversion, 'FoldAnew', { r: conversion.facts.replicaRank(replica) });
  track.folded = track.durable;
}

/** An event says that everything up to `slot` is folded in. */
function foldUpTo(conversion: Conversion, replica: ReplicaId, slot: number): void {
  if (holdsNoCommand(conversion.facts.labelAt(slot))) foldBelow(conversion, replica, slot + 1);
}
