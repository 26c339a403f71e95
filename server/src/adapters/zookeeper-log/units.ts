/**
 * Cuts what is to be appended into units that fit one request each. Pure.
 *
 * ZooKeeper takes requests of up to 1 MiB (its jute.maxbuffer, unless configured). What is larger goes there in pieces first: nodes that mean
 * nothing until the vote that names them is written, all votes of the append at once.
 */
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { Ballot, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import { higherBallot } from '../../multipaxos/ballot.ts';
import { entryBytes, jsonBytes, writeEntry } from '../segment-log/entry-codec.ts';
import { NO_CHANGE } from './contents.ts';
import { entryChecksum } from './layout.ts';

/** Half of what a request may have: names and access lists come on top. */
export const REQUEST_BYTES_MAX = 512 * 1024;
/** What one vote takes of a request, with its entry's node. */
const VOTE_BYTES = 512;
const VOTES_MAX = REQUEST_BYTES_MAX / VOTE_BYTES;
/** In a unit that is too large, entries above this size go in pieces. */
const IN_PIECES_FROM_BYTES = 256;
const CONFIGURATION_BYTES_MAX = 128 * 1024;

/** The port's records, and how far to purge. */
export type StoredRecord = LogRecord | { readonly kind: 'purged'; readonly slot: Slot };

export interface UnitEntry {
  readonly ballot: Ballot | null;
  readonly data: Uint8Array;
  readonly checksum: number;
  readonly inPieces: boolean;
}

/** What one request can hold: of all votes of a slot the last, of all else the highest. */
export interface Unit {
  readonly promise: Ballot;
  readonly commitPoint: Slot;
  readonly base: Slot;
  readonly configuration: Configuration | null;
  readonly slotPromises: ReadonlyMap<Slot, Ballot>;
  readonly entries: ReadonlyMap<Slot, UnitEntry>;
  /** What it takes of the request. */
  readonly bytes: number;
  /** Not the first of its append: if it fails, some of the append is there. */
  readonly isContinued: boolean;
  /** A purge: it needs no space, and goes into a group of its own so as not to fail with others that do. */
  readonly isPurge: boolean;
}

/** @throws RangeError if a record can never be stored */
export function unitsOf(records: readonly StoredRecord[]): Unit[] {
  const units: Unit[] = [];
  for (let from = 0; from === 0 || from < records.length; from += VOTES_MAX) {
    units.push(unitOf(records.slice(from, from + VOTES_MAX), from > 0));
  }
  return units;
}

function unitOf(records: readonly StoredRecord[], isContinued: boolean): Unit {
  let { promise, commitPoint, base } = NO_CHANGE;
  let configuration: Configuration | null = null;
  let bytes = 4 * VOTE_BYTES;
  const slotPromises = new Map<Slot, Ballot>();
  const last = new Map<Slot, { readonly ballot: Ballot | null; readonly entry: Entry }>();
  for (const record of records) {
    if ('slot' in record) checkSlot(record.slot);
    if (record.kind === 'slotPromise') {
      const before = slotPromises.get(record.slot) ?? record.ballot;
      slotPromises.set(record.slot, higherBallot(before, record.ballot));
    } else if ('ballot' in record) promise = higherBallot(promise, record.ballot);
    if ('configuration' in record && (configuration?.version ?? 0) <= record.configuration.version)
      configuration = record.configuration;
    if (record.kind === 'commitPoint') commitPoint = higher(commitPoint, record.slot);
    else if (record.kind === 'base' || record.kind === 'purged') base = higher(base, record.slot);
    else if (record.kind === 'vote') last.set(record.slot, record);
    else if (record.kind === 'chosen') last.set(record.slot, { ballot: null, entry: record.entry });
  }
  if (configuration !== null) {
    const size = jsonBytes(configuration);
    if (size > CONFIGURATION_BYTES_MAX) throw new RangeError(`a configuration of ${size} bytes is too large`);
    bytes += size;
  }
  bytes += slotPromises.size * VOTE_BYTES;
  const encoded = [...last].map(([slot, { ballot, entry }]) => ({ slot, ballot, data: encodeEntry(entry) }));
  const entryBytesSum = encoded.reduce((sum, { data }) => sum + data.length, 0);
  const tooLarge = bytes + entryBytesSum + encoded.length * VOTE_BYTES > REQUEST_BYTES_MAX;
  const entries = new Map<Slot, UnitEntry>();
  for (const { slot, ballot, data } of encoded) {
    const inPieces = tooLarge && data.length > IN_PIECES_FROM_BYTES;
    entries.set(slot, { ballot, data, checksum: entryChecksum(slot, data), inPieces });
    bytes += VOTE_BYTES + (inPieces ? pieceCount(data) * 128 : data.length);
  }
  const isPurge = records[0]?.kind === 'purged';
  return { promise, commitPoint, base, configuration, slotPromises, entries, bytes, isContinued, isPurge };
}

export function pieceCount(data: Uint8Array): number {
  return Math.ceil(data.length / REQUEST_BYTES_MAX);
}

/** A copy: the caller may go on using its buffers. */
function encodeEntry(entry: Entry): Uint8Array {
  const bytes = Buffer.alloc(entryBytes(entry));
  writeEntry(bytes, 0, entry);
  return bytes;
}

function checkSlot(slot: Slot): void {
  if (!Number.isSafeInteger(slot) || slot < 0) throw new RangeError(`${slot} is not a slot`);
}

function higher(a: Slot, b: Slot): Slot {
  return a > b ? a : b;
}
