/**
 * What the chosen log comes to, as far as WAL is concerned: which ranges have effect, where timelines begin, where the chosen WAL ends.
 *
 * Pure, and a function of the log alone: every replica that has folded the log up to a slot has the same position. Spec: OrderedApply.tla.
 *
 * Rules:
 * - A range has effect if its leadership is the newest that has begun, nobody else's `leaderStart` stands in between, and it begins exactly where the chosen WAL ends.
 * - A leadership begins if no newer leader's `leaderStart` stands below it, and its timeline is one above the newest that the log knows, or, where it resumes, the same: then its replica led
 *   last, and it goes on at the end.
 * - A new timeline begins where the chosen WAL ends or below, or above it at the end of the segment: what lies between is the empty rest behind a switch, and zeros.
 * - Everything else is nobody's: it changes nothing, on any replica.
 */
import { compareBallots, sameBallot } from '../../multipaxos/ballot.ts';
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { Ballot } from '../../multipaxos/types/names.ts';
import { formatLsn, type Lsn } from '../../wal/lsn.ts';
import { forksKept, type WalPosition } from '../../wal/position.ts';
import { segmentEnd } from '../../wal/record/places.ts';
import { decodeWalEntry, type LeadershipEntry, type VerifyEntry, type WalRange } from './wal-entry.ts';

/** What an entry does. `nothing`: it holds no WAL. `nobodys`: it has no effect; `why` is for people. */
export type WalEffect =
  | { readonly kind: 'range'; readonly range: WalRange }
  | { readonly kind: 'leadership'; readonly entry: LeadershipEntry }
  | { readonly kind: 'verify'; readonly entry: VerifyEntry }
  | { readonly kind: 'nobodys'; readonly why: string }
  | { readonly kind: 'nothing' };

/** @throws WalEntryError if it is a command of another payload; Error if a slot was left out */
export function foldEntry(
  position: WalPosition,
  { slot, entry }: SlotEntry,
): { readonly position: WalPosition; readonly effect: WalEffect } {
  if (slot !== position.slot + 1) throw new Error(`slot ${slot} was folded in after slot ${position.slot}`);
  const next = { ...position, slot };
  if (entry.kind === 'leaderStart') {
    const newestStart = newer(position.newestStart, entry.ballot);
    return { position: { ...next, newestStart }, effect: { kind: 'nothing' } };
  }
  if (entry.kind !== 'command') return { position: next, effect: { kind: 'nothing' } };
  const command = decodeWalEntry(entry.payload);
  switch (command.kind) {
    case 'range': {
      const why = whyNobodysRange(position, command);
      if (why !== null) return { position: next, effect: { kind: 'nobodys', why } };
      const end = (position.end + command.data.byteLength) as Lsn;
      return { position: { ...next, end }, effect: { kind: 'range', range: command } };
    }
    case 'leadership': {
      const why = whyNoLeadership(position, command);
      if (why !== null) return { position: next, effect: { kind: 'nobodys', why } };
      return { position: begin(next, command), effect: { kind: 'leadership', entry: command } };
    }
    case 'verify': {
      const current =
        sameBallot(command.leadership, position.leadership) && isCurrent(position, command.leadership);
      const why = 'its leadership is over';
      return {
        position: next,
        effect: current ? { kind: 'verify', entry: command } : { kind: 'nobodys', why },
      };
    }
    default:
      return command satisfies never;
  }
}

function newer(a: Ballot, b: Ballot): Ballot {
  return compareBallots(a, b) >= 0 ? a : b;
}

function isCurrent({ newestStart }: WalPosition, leadership: Ballot): boolean {
  return compareBallots(leadership, newestStart) >= 0;
}

function whyNobodysRange(position: WalPosition, range: WalRange): string | null {
  if (!isCurrent(position, range.leadership)) return 'a newer leader began below it';
  if (!sameBallot(range.leadership, position.leadership)) return 'its leadership has not begun';
  if (range.timeline !== position.timeline)
    return `it is of timeline ${range.timeline}, not ${position.timeline}`;
  if (range.start !== position.end) {
    return `it begins at ${formatLsn(range.start)}, and the chosen WAL ends at ${formatLsn(position.end)}`;
  }
  return null;
}

function whyNoLeadership(position: WalPosition, entry: LeadershipEntry): string | null {
  if (!isCurrent(position, entry.leadership)) return 'a newer leader began below it';
  if (compareBallots(entry.leadership, position.leadership) <= 0) return 'it has begun already';
  // The first of a group: whatever its founder's database has.
  if (position.timeline === 0) return null;
  if (entry.system !== position.system) return 'it is of another database';
  if (entry.resumes) {
    const same = entry.leadership.replica === position.leadership.replica;
    if (!same) return 'another replica led last';
    return entry.timeline === position.timeline && entry.fork === position.end
      ? null
      : 'it does not go on at the end';
  }
  if (entry.timeline !== position.timeline + 1) return `timeline ${position.timeline + 1} is the next`;
  // PostgreSQL counts the empty rest of a segment to the record that switched to the next one, and nobody misses that rest. Spec: MayForkAt.
  const mayFork = entry.fork <= position.end || entry.fork === segmentEnd(position.end);
  return mayFork ? null : 'it forks above what is chosen';
}

function begin(position: WalPosition, entry: LeadershipEntry): WalPosition {
  const { leadership, timeline, fork, nextXid, system } = entry;
  const isFork = position.timeline !== 0 && !entry.resumes;
  const forks = isFork ? [...position.forks, { timeline, at: fork }].slice(-forksKept) : position.forks;
  return { ...position, leadership, timeline, end: fork, nextXid, system, forks };
}
