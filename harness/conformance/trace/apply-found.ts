/**
 * What is told of a directory behind the end of a process: what it says, when that did not tell it.
 *
 * Judges nothing. Pure.
 */
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ApplyEvent, ApplyItem } from './apply-event.ts';
import type { ApplyFacts } from './apply-facts.ts';
import { holdsNoCommand, type Conversion } from './apply-fill.ts';

/** Events that say nothing of the directory as it was found. */
const saysNothingOfIt: ReadonlySet<ApplyEvent['name']> = new Set([
  'Purge',
  'DatabaseDown',
  'AskOutcome',
  'TellOutcome',
]);

/** What is told first of the directory behind the end of its PostgreSQL, or of the process of its replica, at `index`; null: nothing. */
export function foundFirst(
  { items }: Conversion,
  replica: ReplicaId,
  index: number,
  { isSoon }: { readonly isSoon: boolean },
): ApplyEvent | null {
  for (const item of items.slice(index + 1)) {
    if (item.kind === 'chosen' || item.replica !== replica) continue;
    if (item.kind === 'begins' && isSoon) return null;
    if (item.kind === 'event' && !saysNothingOfIt.has(item.event.name)) return item.event;
  }
  return null;
}

/** What its process finds first when it looks at the WAL of a primary's directory, whatever it has folded in before; null: it does not look, or ends before: where that does not matter, look for what any later one finds. */
export function checkedFirst(
  { items }: Conversion,
  replica: ReplicaId,
  index: number,
  { isSoon }: { readonly isSoon: boolean },
): Extract<ApplyEvent, { name: 'CheckPrefix' }> | null {
  for (const item of items.slice(index + 1)) {
    if (item.kind === 'chosen' || item.replica !== replica) continue;
    if (item.kind === 'begins' && isSoon) return null;
    if (item.kind !== 'event') continue;
    const { event } = item;
    if (event.name === 'CheckPrefix') return event;
    if (event.name === 'DatabaseUp' || event.name === 'BeginCopy' || event.name === 'EndCopy') return null;
  }
  return null;
}

const saysOtherwise: ReadonlySet<ApplyEvent['name']> = new Set([
  'CheckPrefix',
  'Resume',
  'BeginCopy',
  'EndCopy',
]);

/** What is told first of the directory's role, by its next process if it is to be soon. */
export function isStandbyFirst(
  later: readonly ApplyItem[],
  replica: ReplicaId,
  { isSoon }: { readonly isSoon: boolean },
): boolean {
  for (const item of later) {
    if (item.kind === 'chosen' || item.replica !== replica) continue;
    if (item.kind === 'begins' && isSoon) return false;
    if (item.kind !== 'event') continue;
    const { event } = item;
    if (saysOtherwise.has(event.name)) return false;
    if (event.name === 'DatabaseUp' || event.name === 'BeginLeadership') return event.role === 'standby';
  }
  return false;
}

/**
 * The slot that the directory said: that from which its log was folded on, but for slots that hold no command, of which nobody tells that they are folded in. A position that is saved later, or what is replayed first, tells how many of those it said.
 * 0: nothing shows it.
 */
export function savedSlot(
  conversion: Conversion,
  replica: ReplicaId,
  index: number,
  { isSoon }: { readonly isSoon: boolean },
): number {
  const most = foldedOnFrom(foundFirst(conversion, replica, index, { isSoon }));
  const least = heldSlot(conversion.facts, most);
  const said = saidLater(conversion, replica, index, { isSoon }) ?? least;
  // More had been replayed by then: that says nothing of where it began.
  return said < least || said > most ? least : said;
}

/** Null: nothing tells. */
function saidLater(
  { items }: Conversion,
  replica: ReplicaId,
  index: number,
  { isSoon }: { readonly isSoon: boolean },
): number | null {
  let applied: number | null = null;
  let isOver = isSoon;
  let isLater = false;
  for (const item of items.slice(index + 1)) {
    if (item.kind === 'chosen' || item.replica !== replica) continue;
    if (item.kind === 'begins') isLater ||= isOver;
    if (item.kind !== 'event') continue;
    isOver = true;
    const { event } = item;
    if (saysOtherwise.has(event.name)) break;
    // A directory never goes back: one that a later process finds has what this one found.
    if (event.name === 'FlushStandby') {
      if (!isLater) return event.from;
      return applied === null ? null : Math.min(applied, event.from);
    }
    if (event.name === 'Replay' && !isLater) applied ??= event.applied;
  }
  return applied;
}

/** The last slot up to this one with a command: what lies between leaves no trace in a directory. */
function heldSlot({ labelAt }: ApplyFacts, upTo: number): number {
  let slot = upTo;
  while (holdsNoCommand(labelAt(slot))) slot -= 1;
  return slot;
}

/** The slot from which its log was folded on then. 0: it does not show it. */
function foldedOnFrom(first: ApplyEvent | null): number {
  if (first === null) return 0;
  if (first.name === 'Feed' || first.name === 'Skip' || first.name === 'BeginLeadership')
    return first.slot - 1;
  return first.name === 'CheckPrefix' || first.name === 'DatabaseUp' ? first.slot : 0;
}
