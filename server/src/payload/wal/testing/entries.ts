/** Entries of a log of WAL for tests: ranges of bytes that tell where they belong, beginnings of leaders and leaderships. */
import type { Entry, SlotEntry } from '../../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../../multipaxos/types/names.ts';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import { encodeLeadership, encodeRange, encodeVerify, type LeadershipEntry } from '../wal-entry.ts';

const group = 'g' as GroupId;
let request = 0;

export function ballot(round: number, replica = 'r1'): Ballot {
  return { round, replica: replica as ReplicaId };
}

export function lsn(value: number): Lsn {
  return value as Lsn;
}

function command(payload: Uint8Array): Entry {
  request += 1;
  return { kind: 'command', group, proposal: { client: 'test', request }, payload };
}

export function start(of: Ballot): Entry {
  return { kind: 'leaderStart', group, ballot: of };
}

export const noop: Entry = { kind: 'noop', group };

/** The byte at position n is n modulo 251. */
export function walBytes(from: number, bytes: number): Buffer {
  return Buffer.from(Array.from({ length: bytes }, (_, index) => (from + index) % 251));
}

export function range(leadership: Ballot, timeline: number, from: number, bytes: number): Entry {
  const place = { leadership, timeline: timeline as Timeline, start: lsn(from) };
  return command(encodeRange(place, [walBytes(from, bytes)]));
}

export function leadership(
  of: Ballot,
  timeline: number,
  fork: number,
  rest: Partial<Pick<LeadershipEntry, 'nextXid' | 'resumes' | 'system'>> = {},
): Entry {
  const { nextXid = 1000n, resumes = false, system = 7n } = rest;
  const entry = { leadership: of, timeline: timeline as Timeline, fork: lsn(fork), nextXid, resumes, system };
  return command(encodeLeadership(entry));
}

export function verify(of: Ballot, check: string): Entry {
  return command(encodeVerify(of, check));
}

/** Slots from `first` on. */
export function slots(entries: readonly Entry[], first = 1): SlotEntry[] {
  return entries.map((entry, index) => ({ slot: (first + index) as Slot, entry }));
}
